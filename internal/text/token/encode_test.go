package token

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"atenia/internal/golden"
	"atenia/internal/machine/cpu"
)

// TestLongWord: a single long word must not take quadratic time. Processor time is
// measured, which other programs do not lengthen by waiting.
func TestLongWord(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	for _, kind := range []string{"gpt2", "o200k", "deepseek3", "falcon", "llama2", "t5", "bert", "clip"} {
		t.Run(kind, func(t *testing.T) {
			tok := goldenLoad(t, dir, kind)
			took := func(unit string, bytes int) time.Duration {
				text := strings.Repeat(unit, bytes/len(unit))
				start := cpu.Time()
				tok.Encode(text, false)
				return cpu.Time() - start
			}
			for _, unit := range []string{"ab", " ", "é"} {
				// Sixteen times the text takes sixteen times as long, or 256. A quadratic
				// one of 10 kB takes longer than least, which bounds how coarse clocks may be.
				const least = time.Millisecond
				short, long := time.Hour, time.Hour
				for n := 0; n < 3 && (n == 0 || long >= 128*short); n++ {
					short, long = max(min(short, took(unit, 10_000)), least), min(long, took(unit, 160_000))
				}
				if long >= 128*short {
					t.Errorf("10 kB of %q took %v, 160 kB %v", unit, short, long)
				}
			}
		})
	}
}

// TestConcurrent runs one tokenizer from many goroutines; the race detector
// does the rest.
func TestConcurrent(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	text := plainText(t, 1<<12)
	for _, kind := range []string{"gpt2", "llama2", "bert", "t5"} {
		tok := goldenLoad(t, dir, kind)
		want := tok.Encode(text, true)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 3 {
					if !slices.Equal(tok.Encode(text, true), want) {
						t.Errorf("%s: different ids in parallel", kind)
					}
					tok.Decode(want, true)
				}
			})
		}
		wg.Wait()
	}
}

// TestInvalidUTF8 reads bytes that are no text as U+FFFD.
func TestInvalidUTF8(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	for _, kind := range goldenKinds(t, dir) {
		tok := goldenLoad(t, dir, kind)
		for _, s := range []string{"\xff", "a\xe2\x82b", "\xf0\x9f\x98", "\xed\xa0\x80x"} {
			clean := toValidUTF8([]byte(s))
			ids, off := tok.EncodeWithOffsets(s, true)
			if want := tok.Encode(clean, true); !slices.Equal(ids, want) || len(off) != len(ids) {
				t.Errorf("%s: %q: got %v %v, want %v", kind, s, ids, off, want)
			}
		}
	}
}

// TestStreamGoesOn: if bytes already emitted turn out to belong to an invalid run,
// the stream continues.
func TestStreamGoesOn(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	tok := goldenLoad(t, dir, "llama2")
	at := func(s string) int32 {
		id, ok := tok.ID(s)
		if !ok {
			t.Fatalf("no %s", s)
		}
		return id
	}
	s := tok.NewStream(false)
	var said string
	for _, id := range []int32{at("<0xC3>"), at("<0xA9>"), at("<0xC3>"), at("▁a"), at("b"), at("<0xE2>")} {
		part := s.Next(id)
		if !utf8.ValidString(part) {
			t.Errorf("%q is not UTF-8", part)
		}
		said += part
	}
	if said += s.Flush(); said != "é\uFFFD ab\uFFFD" {
		t.Errorf("got %q", said)
	}
	// A window never grows without bound.
	s = tok.NewStream(false)
	for range 5 * heldTokens {
		s.Next(at("<0xFF>"))
		if len(s.ids) > 2*heldTokens {
			t.Fatalf("the stream holds %d tokens", len(s.ids))
		}
	}
}
