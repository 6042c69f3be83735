package school

import (
	"context"
	"fmt"
	"math"
)

// Rows and steps of a window in an evaluation.
const (
	evalBatch  = 32
	evalWindow = 48
	// Glance is how many characters of every row an evaluation reads during a
	// run. It reads .01 to .03 bits lower than the whole text.
	Glance = 480
)

// A Score is what a pupil makes of a text, in bits a character.
type Score struct {
	Bits   float64            `json:"bits"`
	Kinds  [KindCount]float64 `json:"kinds"` // by kind of line
	Tokens int                `json:"tokens"`
}

// Evaluate reads a text in 32 rows from an empty state, the first limit
// characters of every row, or all if limit is 0.
func Evaluate(ctx context.Context, p *Pupil, text []byte, limit int) (Score, error) {
	rows := len(text) / evalBatch
	if rows < 2 {
		return Score{}, fmt.Errorf("school: %w: a text of %d characters is too short for %d rows", errRecipe, len(text), evalBatch)
	}
	end := rows - 1
	if limit > 0 {
		end = min(end, limit)
	}
	kinds := toyKinds(text)
	s := p.Open(evalBatch, false)
	codes, nll := make([]int32, evalBatch*(evalWindow+1)), make([]float32, evalBatch*evalWindow)
	var sum, count [KindCount]float64
	for i := 0; i < end; i += evalWindow {
		if err := ctx.Err(); err != nil {
			return Score{}, err
		}
		w := min(evalWindow, end-i)
		for b := range evalBatch {
			window(codes[b*(w+1):(b+1)*(w+1)], text[b*rows+i:])
		}
		if _, err := s.Window(codes[:evalBatch*(w+1)], nll[:evalBatch*w]); err != nil {
			return Score{}, err
		}
		for b := range evalBatch {
			for k, x := range nll[b*w : (b+1)*w] {
				kind := kinds[b*rows+i+1+k]
				sum[kind] += float64(x)
				count[kind]++
			}
		}
	}
	return total(sum, count), nil
}

// total makes a score of sums in nats.
func total(sum, count [KindCount]float64) Score {
	var s Score
	var all, n float64
	for k := range sum {
		if count[k] > 0 {
			s.Kinds[k] = sum[k] / count[k] / math.Ln2
		}
		all, n = all+sum[k], n+count[k]
	}
	if n > 0 {
		s.Bits = all / n / math.Ln2
	}
	s.Tokens = int(n)
	return s
}

// unigram is the entropy of a text's characters on their own, in nats.
func unigram(text []byte) float64 {
	var h float64
	for _, n := range Usage(text) {
		if n > 0 {
			p := float64(n) / float64(len(text))
			h -= p * math.Log(p)
		}
	}
	return h
}

// Usage counts the bytes of a text.
func Usage(text []byte) [256]int {
	var n [256]int
	for _, c := range text {
		n[c]++
	}
	return n
}

// scoreOf makes a score of bits that are given character by character.
func scoreOf(text []byte, run func(each func(i int, bits float64))) Score {
	kinds := toyKinds(text)
	var sum, count [KindCount]float64
	run(func(i int, bits float64) {
		sum[kinds[i]] += bits * math.Ln2
		count[kinds[i]]++
	})
	return total(sum, count)
}
