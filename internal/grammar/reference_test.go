package grammar

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"atenia/internal/golden/await"
)

// A reading is the plain meaning of a grammar on one text, against which the
// automaton is tested.
type reading struct {
	g    *Grammar
	s    string
	seen map[[2]int][]int // where a rule can end, by rule and start
}

// ends returns where e can end when it begins at one of from.
func (g *reading) ends(e *expr, from map[int]bool) map[int]bool {
	s := g.s
	out := map[int]bool{}
	switch e.op {
	case opText:
		for i := range from {
			if strings.HasPrefix(s[i:], e.text) {
				out[i+len(e.text)] = true
			}
		}
	case opClass:
		for i := range from {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n <= 1 {
				continue
			}
			for _, c := range e.class {
				if r >= c.lo && r <= c.hi {
					out[i+n] = true
				}
			}
		}
	case opSeq:
		out = from
		for _, x := range e.subs {
			out = g.ends(x, out)
		}
	case opAlt:
		for _, x := range e.subs {
			for i := range g.ends(x, from) {
				out[i] = true
			}
		}
	case opRepeat:
		at := from
		for n := 0; len(at) > 0 && n <= e.most; n++ {
			if n >= e.least {
				grew := false
				for i := range at {
					grew = grew || !out[i]
					out[i] = true
				}
				if !grew && n > e.least {
					break
				}
			}
			if n == e.most {
				break
			}
			at = g.ends(e.subs[0], at)
		}
	case opRef:
		for i := range from {
			at := [2]int{e.rule, i}
			list, ok := g.seen[at]
			if !ok {
				for j := range g.ends(g.g.rules[e.rule].body, map[int]bool{i: true}) {
					list = append(list, j)
				}
				g.seen[at] = list
			}
			for _, j := range list {
				out[j] = true
			}
		}
	}
	return out
}

func (g *Grammar) matches(s string) bool {
	r := reading{g, s, map[[2]int][]int{}}
	return r.ends(g.rules[0].body, map[int]bool{0: true})[len(s)]
}

// randomExpr returns an expression over a small alphabet. Rules at or below
// guard are used only behind a text, so that few grammars are left-recursive.
func randomExpr(r *rand.Rand, rules, depth int) *expr {
	if depth == 0 {
		return text([]string{"a", "b", "ab", "é", ""}[r.IntN(5)])
	}
	sub := func() *expr { return randomExpr(r, rules, depth-1) }
	switch r.IntN(8) {
	case 0:
		return class([]rune("abbcaéab")[2*r.IntN(2) : 4]...)
	case 1, 2:
		return seq(sub(), sub())
	case 3:
		return alt(sub(), sub())
	case 4:
		least := r.IntN(3)
		if fewCopies == 0 && r.IntN(3) == 0 { // further than a token reaches
			return repeat(sub(), least, least+r.IntN(16))
		}
		return repeat(sub(), least, least+r.IntN(3))
	case 5:
		return repeat(sub(), r.IntN(2), unbounded)
	case 6:
		return seq(text("a"), ref(r.IntN(rules)))
	}
	return ref(r.IntN(rules))
}

// texts returns all texts of up to n pieces.
func texts(n int) []string {
	list := []string{""}
	for from := 0; n > 0; n-- {
		last := len(list)
		for _, s := range list[from:last] {
			for _, p := range []string{"a", "b", "c", "é"} {
				list = append(list, s+p)
			}
		}
		from = last
	}
	return list
}

// TestReference compares the automaton, and masks of a vocabulary of all short
// texts, with the plain meaning of random grammars on all short texts.
func TestReference(t *testing.T) {
	t.Run("copied", compareWithMeaning)
	defer func(n int) { fewCopies = n }(fewCopies)
	fewCopies = 0
	t.Run("counted", compareWithMeaning)
}

func compareWithMeaning(t *testing.T) {
	all := texts(4)
	var tokens [][]byte
	for _, s := range texts(3)[1:] {
		tokens = append(tokens, []byte(s))
	}
	tokens = append(tokens, []byte("é")[:1], []byte("é")[1:], nil) // the last ends
	v := NewVocabulary(tokens, []int32{int32(len(tokens) - 1)}, false)
	seeds := uint64(800)
	if await.Long() {
		seeds = 4000
	}
	tried, recursive := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		g := &Grammar{}
		for i := range 3 {
			g.rules = append(g.rules, rule{name: fmt.Sprintf("r%d", i), body: randomExpr(r, 3, 3)})
		}
		if err := g.build(nil); err != nil {
			recursive++
			continue
		}
		back, err := Parse(nil, g.String())
		if err != nil {
			t.Fatalf("seed %d: does not read back: %v\n%s", seed, err, g)
		}
		a, err := v.Compile(nil, back)
		if _, ok := errors.AsType[*LimitError](err); ok { // as ambiguous as a grammar can be
			recursive++
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, g)
		}
		tried++
		language := map[string]bool{}
		for _, s := range all {
			language[s] = g.matches(s)
		}
		for _, s := range all {
			ok, err := a.Accepts(s)
			if tooMany(err) {
				continue
			}
			if ok != language[s] || err != nil {
				t.Fatalf("seed %d: %q: accepted %v, want %v (%v)\n%s", seed, s, ok, language[s], err, g)
			}
		}
		checkMasks(t, a, g, tokens, r)
	}
	if tried < int(seeds/2) {
		t.Fatalf("%d grammars tried, %d rejected", tried, recursive)
	}
}

// tooMany reports whether there were too many ways to read a text where each is counted:
// counts of counts tell more of them apart than copies do.
func tooMany(err error) bool {
	_, limit := errors.AsType[*LimitError](err)
	return limit && fewCopies == 0
}

// checkMasks follows random answers and compares each mask with the states that
// its tokens lead to byte by byte; near the end of an answer every allowed token
// must leave a way to end.
func checkMasks(t *testing.T, a *Automaton, g *Grammar, tokens [][]byte, r *rand.Rand) {
	t.Helper()
	budget := int(a.begin.need) + 1 + r.IntN(6)
	m := a.Start()
	for left := budget; !m.Done(); left-- {
		if left == 0 {
			t.Fatalf("an answer of %d tokens did not end\n%s", budget, g)
		}
		bits, err := m.Allowed(left)
		if tooMany(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var allowed []int32
		for id := range tokens {
			s := m.at
			for _, c := range tokens[id] {
				s, _ = a.step(s, c)
			}
			need := int(s.need)
			if !s.terminal() {
				need++
			}
			want := tokens[id] != nil && need <= left-1 || tokens[id] == nil && m.at.popped
			if got := bits[id>>6]>>(id&63)&1 == 1; got != want {
				t.Fatalf("token %q with %d left: allowed %v, want %v\n%s", tokens[id], left, got, want, g)
			}
			if want {
				allowed = append(allowed, int32(id))
			}
		}
		if len(allowed) == 0 {
			t.Fatalf("no token is allowed with %d left\n%s", left, g)
		}
		if err := m.Accept(allowed[r.IntN(len(allowed))]); err != nil {
			t.Fatal(err)
		}
	}
}
