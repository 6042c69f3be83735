package grammar

import (
	"math/rand/v2"
	"testing"
)

// TestCounts: the masks of what is counted are those of its states, near its bounds and
// far from them, and a text of each length is accepted or not as the bounds say.
func TestCounts(t *testing.T) {
	defer func(n int) { fewCopies = n }(fewCopies)
	fewCopies = 0
	var tokens [][]byte
	for _, s := range texts(3)[1:] {
		tokens = append(tokens, []byte(s))
	}
	tokens = append(tokens, nil)
	v := NewVocabulary(tokens, []int32{int32(len(tokens) - 1)}, false)
	for _, source := range []string{
		`root ::= "c" [ab]{1,14} "c"`, `root ::= [abé]{3,12}`, `root ::= ([ab]{0,9} "c"){2,11}`, `root ::= x{4,} "b"` + "\nx ::= \"a\" [ac]{0,9} | \"b\"", `root ::= "a" ([a-c]{5}){2,3}`,
	} {
		g, err := Parse(nil, source)
		if err != nil {
			t.Fatal(err)
		}
		a, err := v.Compile(nil, g)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 2))
			m := a.Start()
			for range 12 {
				bits, err := m.Allowed(1000)
				if err != nil {
					t.Fatal(err)
				}
				var allowed []int32
				for id, text := range tokens {
					s, want := m.at, text == nil && m.at.popped
					if text != nil {
						for _, c := range text {
							s, _ = a.step(s, c)
						}
						want = s.need < never
					}
					if got := bits[id>>6]>>(id&63)&1 == 1; got != want {
						t.Fatalf("%s: token %q: allowed %v, want %v", source, text, got, want)
					}
					if want && text != nil {
						allowed = append(allowed, int32(id))
					}
				}
				if len(allowed) == 0 {
					break
				}
				if err := m.Accept(allowed[r.IntN(len(allowed))]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range texts(6) {
			if ok, err := a.Accepts(s); ok != g.matches(s) || err != nil {
				t.Fatalf("%s: %q: accepted %v, %v", source, s, ok, err)
			}
		}
	}
}
