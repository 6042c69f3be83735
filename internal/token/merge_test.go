package token

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMergeShortAndLong: the scan and the heap merge alike.
func TestMergeShortAndLong(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	lex := newLexicon(0)
	for _, c := range "abc" {
		lex.add(string(c), int32(len(lex.tokens)))
	}
	var pairs [][]string
	for len(lex.tokens) < 60 {
		a, b := lex.tokens[r.IntN(len(lex.tokens))], lex.tokens[r.IntN(len(lex.tokens))]
		if _, ok := lex.ids[a+b]; !ok {
			lex.add(a+b, int32(len(lex.tokens)))
			pairs = append(pairs, []string{a, b})
		}
	}
	m := &bpe{lex: lex, unk: none}
	if err := m.setMerges(pairs); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		var short, long scratch
		for range 1 + r.IntN(60) {
			short.syms = append(short.syms, symbol{id: r.Int32N(3), size: 1})
		}
		long.syms = slices.Clone(short.syms)
		m.mergeShort(&short)
		m.mergeLong(&long)
		long.syms = slices.DeleteFunc(long.syms, func(s symbol) bool { return s.size == 0 })
		same := func(a, b symbol) bool { return a.id == b.id && a.size == b.size }
		if !slices.EqualFunc(short.syms, long.syms, same) {
			t.Fatalf("%v with a scan, %v with a heap", short.syms, long.syms)
		}
	}
}
