package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// TestCutBeforeRead: the tokens of a long text that is cut are those of the whole text,
// with every kind of tokenizer, though not all of it is read.
func TestCutBeforeRead(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	var texts []string
	golden.JSON(t, dir+"/texts.json", &texts)
	for _, kind := range goldenKinds(t, dir) {
		t.Run(kind, func(t *testing.T) {
			tok, rng, early := goldenLoad(t, dir, kind), rand.New(rand.NewPCG(1, 2)), 0
			for range 4 {
				long := longText(rng, texts)
				whole := tok.encode(long, 0, false)
				for _, most := range []int{1, 7, 100, 512} {
					e, read, err := tok.begin(t.Context(), most, long, 0)
					if n := min(most, len(whole.ids)); err != nil || !slices.Equal(e.ids[:min(most, len(e.ids))], whole.ids[:n]) {
						t.Fatalf("%d tokens of %d bytes, of which %d were read: %v: other tokens than of all, %.300q", most, len(long), read, err, long)
					}
					if read == len(long) {
						continue
					}
					// The end of a word is a place where even the last tokens are those of the
					// whole text; the rest is spare.
					if early++; len(e.ids) < 2*most || !slices.Equal(e.ids, whole.ids[:len(e.ids)]) {
						t.Fatalf("%d tokens of %d bytes, of which %d were read: %d tokens, the last others than of all: …%q", most, len(long), read, len(e.ids), long[read-40:read+40])
					}
				}
			}
			t.Logf("%d of 16 cut early", early)
			if early == 0 {
				t.Error("no text was cut early")
			}
		})
	}
}

// TestSpansAreRead: a tokenizer without words, a token of which goes on behind a space,
// reads all of a text: where a word ends may change the tokens before.
func TestSpansAreRead(t *testing.T) {
	const head, tail = `{"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","vocab":{"a":0," ":1`, `}}`
	long := strings.Repeat("aa a ", 20000)
	for _, c := range []struct {
		model string
		whole bool
	}{{`,"a a":2,"a ":3},"merges":[["a"," "],["a ","a"]]`, true}, {`,"aa":2},"merges":[["a","a"]]`, false}} {
		k, err := Load([]byte(head + c.model + tail))
		if err != nil {
			t.Fatal(err)
		}
		if _, read, err := k.begin(t.Context(), 10, long, 0); err != nil || (read == len(long)) != c.whole {
			t.Errorf("%s: %d of %d bytes, %v", c.model, read, len(long), err)
		}
	}
}

// longText returns about 60 KiB of texts, words and runs of one character.
func longText(rng *rand.Rand, texts []string) string {
	const letters = "aaeiostn.,'-<>|_0189\u00e9\u00df\u4e2d\u3042\u0301\u0130"
	runes := []rune(letters)
	var b strings.Builder
	words := rng.IntN(3) > 0
	for b.Len() < 60<<10 {
		switch k := rng.IntN(10); {
		case k == 0:
			b.WriteString(texts[rng.IntN(len(texts))])
		case k == 1:
			b.WriteString(strings.Repeat(string(runes[rng.IntN(len(runes))]), rng.IntN(60)))
		case k == 2:
			b.WriteString(strings.Repeat([]string{" ", "\n", "\t", "\u3000"}[rng.IntN(4)], 1+rng.IntN(40)))
		case k == 3 && words:
			b.WriteString(strings.Repeat("a ", rng.IntN(300)))
		default:
			for range 1 + rng.IntN(12) {
				b.WriteRune(runes[rng.IntN(len(runes))])
			}
		}
		b.WriteByte(" \n"[rng.IntN(8)/7])
	}
	return b.String()
}
