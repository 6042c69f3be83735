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
		lex.Add(string(c), int32(len(lex.Tokens)))
	}
	var pairs [][]string
	for len(lex.Tokens) < 60 {
		a, b := lex.Tokens[r.IntN(len(lex.Tokens))], lex.Tokens[r.IntN(len(lex.Tokens))]
		if _, ok := lex.IDs[a+b]; !ok {
			lex.Add(a+b, int32(len(lex.Tokens)))
			pairs = append(pairs, []string{a, b})
		}
	}
	m := &bpe{Lex: lex, Unk: none}
	if err := m.SetMerges(pairs); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		var short, long Scratch
		for range 1 + r.IntN(60) {
			short.syms = append(short.syms, symbol{id: r.Int32N(3), size: 1})
		}
		long.syms = slices.Clone(short.syms)
		m.mergeShort(&short)
		m.mergeLong(&long)
		long.syms = slices.DeleteFunc(long.syms, func(s symbol) bool { return s.size == gone })
		same := func(a, b symbol) bool { return a.id == b.id && a.size == b.size }
		if !slices.EqualFunc(short.syms, long.syms, same) {
			t.Fatalf("%v with a scan, %v with a heap", short.syms, long.syms)
		}
	}
}
