package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"

	"atenia"
)

// A loss is the sum of a model's surprise over the texts of a kind.
type loss struct {
	kind                 string
	nats                 float64
	texts, tokens, bytes int
}

// endOfText follows every text; a model without it is measured without it.
const endOfText = "<|endoftext|>"

// heldOut computes the loss on a file of texts: each alone, every token after
// its first one, and the end of text after its last. Bytes are those of the
// text without its first token, so that models with other tokens compare.
func heldOut(ctx context.Context, m *atenia.Model, path string) ([]loss, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end, err := m.Tokenize(endOfText)
	if err != nil {
		return nil, err
	}
	if len(end) != 1 {
		end = nil
	}
	all := []loss{{kind: "all"}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var d struct{ Kind, Text string }
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		nats, tokens, bytes, err := surprise(ctx, m, d.Text, end)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		i := slices.IndexFunc(all, func(l loss) bool { return l.kind == d.Kind })
		if i < 0 {
			i = len(all)
			all = append(all, loss{kind: d.Kind})
		}
		for _, l := range []*loss{&all[0], &all[i]} {
			l.nats, l.tokens, l.bytes, l.texts = l.nats+nats, l.tokens+tokens, l.bytes+bytes, l.texts+1
		}
	}
	return all, lines.Err()
}

// surprise is the loss on one text.
func surprise(ctx context.Context, m *atenia.Model, text string, end []int32) (nats float64, tokens, bytes int, err error) {
	ids, err := m.Tokenize(text)
	if err != nil || len(ids) == 0 {
		return 0, 0, 0, err
	}
	first, err := m.Detokenize(ids[:1])
	if err != nil {
		return 0, 0, 0, err
	}
	next := slices.Concat(ids[1:], end)
	err = m.EachLogits(ctx, ids, atenia.LogitsOptions{All: true}, func(row int, logits []float32) {
		if row >= len(next) {
			return
		}
		best, sum := float64(slices.Max(logits)), 0.0
		for _, x := range logits {
			sum += math.Exp(float64(x) - best)
		}
		nats += best + math.Log(sum) - float64(logits[next[row]])
	})
	return nats, len(next), len(text) - len(first), err
}
