package grammar

import (
	"atenia/internal/golden/await"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// TestAllocs: once its states are made, following an answer allocates nothing,
// near its end too.
func TestAllocs(t *testing.T) {
	g, err := FromSchema(nil, []byte(benchSchema))
	if err != nil {
		t.Fatal(err)
	}
	var text [][]byte
	text = append(text, oneByte()...)
	for _, s := range []string{`","`, `": "`, "ab", "abab", `"}`, `{"`} {
		text = append(text, []byte(s))
	}
	a, err := NewVocabulary(append(text, nil), []int32{int32(len(text))}, true).Compile(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	m := a.Start()
	pcg := rand.NewPCG(1, 2)
	r := rand.New(pcg)
	answer := func() {
		pcg.Seed(1, 2)
		*m = Matcher{a: a, at: a.begin, bits: m.bits}
		for left := 200; !m.Done(); left-- {
			bits, err := m.Allowed(left)
			if err != nil || left == 0 {
				t.Fatal(left, err)
			}
			if err := m.Accept(anyBit(r, bits)); err != nil {
				t.Fatal(err)
			}
		}
	}
	answer()
	if n := await.Allocs(5, answer); n != 0 {
		t.Errorf("%v allocations an answer", n)
	}
}

// TestTrims: of a vocabulary whose first space is not shown, the first token may
// begin with one.
func TestTrims(t *testing.T) {
	g, err := Parse(nil, `root ::= "a a"`)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewVocabulary([][]byte{[]byte("a"), []byte(" a"), []byte(" ")}, nil, true).Compile(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ids []int32
		ok  bool
	}{{[]int32{1, 1}, true}, {[]int32{0, 1}, true}, {[]int32{2, 0, 1}, true}, {[]int32{2, 1}, false}, {[]int32{1, 0}, false}} {
		m, ok := a.Start(), true
		for k, id := range c.ids {
			bits, err := m.Allowed(10 - k)
			if err != nil {
				t.Fatal(err)
			}
			allowed := bits[0]>>id&1 == 1
			if accepted := m.Accept(id) == nil; accepted != allowed {
				t.Fatalf("%v: token %d is allowed %v and accepted %v", c.ids, k, allowed, accepted)
			} else if !accepted {
				ok = false
				break
			}
		}
		if ok = ok && m.Done(); ok != c.ok {
			t.Errorf("%v: %v, want %v", c.ids, ok, c.ok)
		}
	}
}

// TestForgetting: an answer is the same when the states are forgotten during it.
func TestForgetting(t *testing.T) {
	if _, err := FromSchema(nil, []byte(`{"type":"array","items":{"$ref":"#"},"minItems":1,"maxItems":3}`)); err == nil {
		t.Fatal("a schema without an end is accepted")
	}
	g, err := FromSchema(nil, []byte(`{"type":["array","integer"],"items":{"$ref":"#"},"maxItems":3}`))
	if err != nil {
		t.Fatal(err)
	}
	v := NewVocabulary(append(oneByte(), []byte("[["), []byte("],["), []byte("]]")), nil, false)
	keep, err := v.Compile(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	lose, _ := v.Compile(nil, g)
	r := rand.New(rand.NewPCG(3, 4))
	m, n := keep.Start(), lose.Start()
	for left := 300; !m.Done(); left-- {
		lose.mu.Lock()
		if err := lose.reset(); err != nil {
			t.Fatal(err)
		}
		lose.mu.Unlock()
		x, err1 := m.Allowed(left)
		y, err2 := n.Allowed(left)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for i := range x {
			if x[i] != y[i] {
				t.Fatalf("word %d of the mask with %d left: %x and %x", i, left, x[i], y[i])
			}
		}
		id := anyBit(r, x)
		if m.Accept(id) != nil || n.Accept(id) != nil {
			t.Fatal("an allowed token is not accepted")
		}
	}
}

// TestFollows: what could follow is what Accept takes one after another, and asking
// does not move the matcher.
func TestFollows(t *testing.T) {
	g, err := Parse(nil, `root ::= ("ab" | [c-e]+ "!"){2,5}`)
	if err != nil {
		t.Fatal(err)
	}
	a := bytewise(t, g)
	r := rand.New(rand.NewPCG(2, 5))
	longest := 0
	for range 3000 {
		m, twin := a.Start(), a.Start()
		ids := make([]int32, 1+r.IntN(9))
		for i := range ids {
			ids[i] = int32("abcde!"[r.IntN(6)])
		}
		before := r.IntN(len(ids))
		for i, id := range ids[:before] {
			if m.Accept(id) != nil {
				before = i
				break
			}
			_ = twin.Accept(id)
		}
		want := 0
		for want < len(ids)-before && twin.Accept(ids[before+want]) == nil {
			want++
		}
		for range 2 {
			if got := m.Follows(ids[before:]); got != want {
				t.Fatalf("%q after %q: %d, want %d", ids[before:], ids[:before], got, want)
			}
		}
		longest = max(longest, want)
	}
	if longest < 4 {
		t.Errorf("at most %d followed", longest)
	}
}

// TestMatchersBeside: matchers of one automaton used at a time, one looking for masks
// while others move, allow what each would alone.
func TestMatchersBeside(t *testing.T) {
	v := bigVocabulary()
	g, err := FromSchema(nil, []byte(benchSchema))
	if err != nil {
		t.Fatal(err)
	}
	const answers, length = 4, 40
	answer := func(a *Automaton, seed uint64, beside bool) (sums []uint64) {
		r, m := rand.New(rand.NewPCG(seed, 2)), a.Start()
		for left := length; !m.Done() && left > 0; left-- {
			var ready chan struct{}
			if beside { // as drafts are looked at
				ready = make(chan struct{})
				go func() { m.Follows([]int32{'{', '"'}); close(ready) }()
			}
			bits, err := m.Allowed(left + 30)
			if err != nil {
				t.Error(err)
				return nil
			}
			sum := uint64(0)
			for _, b := range bits {
				sum = mix(sum ^ b)
			}
			sums = append(sums, sum)
			id := anyBit(r, bits)
			if beside {
				<-ready
			}
			if err := m.Accept(id); err != nil {
				t.Error(err)
				return nil
			}
		}
		return sums
	}
	shared, err := v.Compile(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	got := make([][]uint64, answers)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { got[i] = answer(shared, uint64(i), true) })
	}
	all.Wait()
	own, err := v.Compile(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if want := answer(own, uint64(i), false); !slices.Equal(got[i], want) {
			t.Errorf("answer %d differs beside others", i)
		}
	}
}
