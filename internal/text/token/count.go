package token

// Counting distinct words. Texts are split once; all later steps work on
// distinct words with their counts.

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"
)

// counts holds how often each distinct word occurs.
type counts struct {
	n     map[string]int64
	bytes int64 // of the distinct words
	most  int64 // limit in bytes above which the rarest words are dropped
}

// count splits texts into words, or into characters, and counts them.
func (c *VocabularyConfig) count(texts TrainTexts) (*counts, error) {
	w := &counts{n: map[string]int64{}, most: c.MaxBytes}
	split := &splitter{Match: scanners[expressions[c.Pattern]], How: isolatedMatch}
	word := func(p Piece) { w.add(p.S) }
	part := func(s string) { split.Cut(Piece{S: s}, word) }
	if c.Characters {
		part = func(s string) {
			for len(s) > 0 {
				_, n := decodeRune(s)
				w.add(s[:n])
				s = s[n:]
			}
		}
	}
	for text, err := range texts {
		if err != nil {
			return nil, err
		}
		if !utf8.ValidString(text) { // as the tokenizer will read it
			text = toValidUTF8([]byte(text))
		}
		c.parts(text, part)
	}
	return w, nil
}

// add counts an occurrence of a word.
func (w *counts) add(s string) {
	if n, ok := w.n[s]; ok {
		w.n[s] = n + 1
		return
	}
	w.n[string([]byte(s))] = 1 // copied, so that the word does not keep the text in memory
	w.bytes += int64(len(s))
	for least := int64(1); w.bytes > w.most; least *= 2 {
		w.prune(least)
	}
}

// prune drops the words seen at most least times.
func (w *counts) prune(least int64) {
	maps.DeleteFunc(w.n, func(s string, n int64) bool {
		if n > least {
			return false
		}
		w.bytes -= int64(len(s))
		return true
	})
}

// total returns the bytes of all words and their number.
func (w *counts) total() (bytes, words int64) {
	for s, n := range w.n {
		bytes += int64(len(s)) * n
		words += n
	}
	return bytes, words
}

// sorted returns the words in order.
func (w *counts) sorted() []string { return slices.Sorted(maps.Keys(w.n)) }

// mostFrequent returns the n most frequent words, in alphabetical order.
func (w *counts) mostFrequent(n int) []string {
	list := w.sorted()
	if len(list) > n {
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(w.n[b], w.n[a]) })
		list = list[:n]
		slices.Sort(list)
	}
	return list
}
