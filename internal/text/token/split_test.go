package token

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"unicode/utf8"
)

// TestSplit compares the words of pre-tokenizers and expressions with those of
// the reference library: testdata/split.py made them.
func TestSplit(t *testing.T) {
	data, err := os.ReadFile("testdata/split.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Texts         []string
		Names, Syntax map[string][][]int // for each text the ends of the words, in characters
	}
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.Texts) == 0 || len(ref.Names) < 20 || len(ref.Syntax) == 0 {
		t.Fatal("no cases")
	}
	check := func(name string, ps preTokenizers, want [][]int) {
		for i, text := range ref.Texts {
			if text == "" {
				continue
			}
			points := codePoints(text)
			var got []int
			ps.Chain(func(p Piece) {
				got = append(got, int(toPoints(points, Span{p.At[0].A, p.At[len(p.At)-1].B}).B))
			})(newPiece(text, true))
			if !slices.Equal(got, want[i]) {
				t.Errorf("%s: %q: words of %d characters end at\n got %v\nwant %v", name, text, utf8.RuneCountInString(text), got, want[i])
			}
		}
	}
	for name, want := range ref.Names {
		p, ok := preOf(name)
		if !ok {
			t.Errorf("no pre-tokenizer %q", name)
			continue
		}
		check(name, p.cut(), want)
	}
	for expr, want := range ref.Syntax {
		_, all, err := matcherOf(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		check(expr, preTokenizers{&splitter{Name: expr, Match: scanners[expr], All: all, How: isolatedMatch}}, want)
	}
}
