package sched

import (
	"fmt"
	"slices"
	"testing"

	"atenia/internal/exec"
)

// Models with full attention, with windows in some layers, and in all.
var kinds = []string{"llama3", "gemma3", "mistral_window"}

// What a slot served before does not show in what it serves now.
func TestSlotRecycleNoLeak(t *testing.T) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			a := m.tokens(1, 60)
			for what, b := range map[string][]int32{
				"unrelated": m.tokens(2, 45),
				"shorter":   a[:30],
				"the same":  a,
				"longer":    m.tokens(1, 90),
				"forked":    join(a[:40], m.tokens(3, 20)),
				"one token": m.tokens(4, 1),
			} {
				for _, all := range []bool{false, true} {
					r := Request{Prompt: b, MaxTokens: 12, All: all}
					want := m.alone(r)
					s := m.still(small, Config{Slots: 1})
					turns(t, s, nil, submit(t, s, Request{Prompt: a, MaxTokens: 20}))
					second := submit(t, s, r)
					turns(t, s, nil, second)
					same(t, fmt.Sprintf("%s, all %t", what, all), second, want)
				}
			}
		})
	}
}

// A second turn of a conversation computes only what is new, also where
// windows have slid, and also when other requests came in between.
func TestPrefixReuse(t *testing.T) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			s := m.still(small, Config{Slots: 3})
			prompt := m.tokens(1, 50)
			first := submit(t, s, Request{Prompt: prompt, MaxTokens: 20})
			if n := turns(t, s, nil, first); n != 50+19 {
				t.Fatalf("%d rows for 50 tokens of prompt and 19 of the answer that are fed back", n)
			}
			other := submit(t, s, Request{Prompt: join(prompt[:1], m.tokens(5, 30)), MaxTokens: 5})
			turns(t, s, nil, other)
			r := Request{Prompt: join(prompt, first.tokens, m.tokens(2, 7)), MaxTokens: 10}
			want := m.alone(r)
			second := submit(t, s, r)
			if n := turns(t, s, nil, second); n != 1+7+9 {
				t.Errorf("the second turn computed %d rows, want 1 + 7 of the prompt and 9 of the answer", n)
			}
			same(t, "second turn", second, want)
			if held := lengths(s); !slices.Equal(held, []int{0, 35, 86}) {
				t.Errorf("slots hold %v tokens, want the conversation once and the other request", held)
			}
		})
	}
}

// Requests that begin alike share pages while they run, and none sees what
// the others write.
func TestPrefixSharedWhileRunning(t *testing.T) {
	m := open(t, "llama3")
	system := m.tokens(1, 70) // ends inside a page
	var requests []Request
	var want []*answer
	for i := range 4 {
		r := Request{Prompt: join(system, m.tokens(uint64(10+i), 3+5*i)), MaxTokens: 25}
		requests, want = append(requests, r), append(want, m.alone(r))
	}
	s := m.still(small, Config{Slots: 4})
	answers := []*answer{submit(t, s, requests[0])}
	for len(s.admission.slots[3].tokens) < 75 { // until it decodes
		s.turn()
	}
	for _, r := range requests[1:] {
		answers = append(answers, submit(t, s, r))
	}
	rest := 0
	for _, r := range requests[1:] {
		rest += len(r.Prompt) - len(system) + r.MaxTokens - 1
	}
	shared := 0
	rows := turns(t, s, func() { shared = max(shared, s.storage.pools[0].Cache().Stats().Shared) }, answers...)
	if most := rest + requests[0].MaxTokens; rows > most {
		t.Errorf("%d rows, want at most %d: the common beginning was computed again", rows, most)
	}
	if shared < len(system)/16 {
		t.Errorf("%d pages shared, want at least %d", shared, len(system)/16)
	}
	for i := range answers {
		same(t, fmt.Sprint("request ", i), answers[i], want[i])
	}
}

// Keys that were rotated for another length are not used, those of the same
// length are.
func TestPrefixReuseByLength(t *testing.T) {
	for _, name := range []string{"llama_dynamic_rope", "phi3_longrope_long"} {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			prompt := m.tokens(1, 10)
			s := m.still(small, Config{Slots: 1})
			ask := func(span, reused int) {
				t.Helper()
				r := Request{Prompt: prompt, MaxTokens: span - len(prompt)}
				want := m.alone(r)
				a := submit(t, s, r)
				rows := turns(t, s, nil, a)
				same(t, fmt.Sprint("span ", span), a, want)
				if got := span - 1 - rows; got != reused {
					t.Errorf("span %d: %d tokens reused, want %d", span, got, reused)
				}
			}
			ask(12, 0) // within the length the model was made for
			ask(12, 9)
			ask(90, 0)
			ask(90, 9)
			if name == "llama_dynamic_rope" {
				ask(91, 0) // every length has its own rotation
			} else {
				ask(91, 9)
			}
			ask(13, 0)
		})
	}
}

// A conversation is not given up for a beginning that is hardly shared while
// there is a slot with less to lose.
func TestPlaceLosesLeast(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 3})
	long, short := m.tokens(1, 80), m.tokens(2, 20)
	for _, p := range [][]int32{long, short} {
		turns(t, s, nil, submit(t, s, Request{Prompt: p, MaxTokens: 1}))
	}
	turns(t, s, nil, submit(t, s, Request{Prompt: join(long[:8], m.tokens(3, 4)), MaxTokens: 1}))
	if held := lengths(s); !slices.Equal(held, []int{12, 20, 80}) {
		t.Errorf("slots hold %v tokens, want all three sequences", held)
	}
	// No slot is empty now. Cutting 4 tokens from the second loses least.
	turns(t, s, nil, submit(t, s, Request{Prompt: join(short[:16], m.tokens(4, 8)), MaxTokens: 1}))
	if held := lengths(s); !slices.Equal(held, []int{12, 24, 80}) {
		t.Errorf("slots hold %v tokens, want 12, 24 and 80", held)
	}
}

// lengths returns how many computed tokens the slots hold, ascending.
func lengths(s *Scheduler) []int {
	var n []int
	for _, sl := range s.admission.slots {
		n = append(n, sl.done)
	}
	slices.Sort(n)
	return n
}

// Forced tokens give the logits that a prefill of the same tokens gives.
func TestForcedEqualsPrefill(t *testing.T) {
	for _, name := range append([]string{"llama_dynamic_rope", "phi3_longrope_long"}, kinds...) {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			tokens := m.tokens(1, 70)
			want := m.alone(Request{Prompt: tokens, All: true})
			s := m.start(small, Config{})
			for _, cut := range []int{1, 16, 33, 69} {
				got := submit(t, s, Request{Prompt: tokens[:cut], Forced: tokens[cut:], All: true}).collect()
				same(t, fmt.Sprint("forced from ", cut), got, want)
				last := submit(t, s, Request{Prompt: tokens[:cut], Forced: tokens[cut:], MaxTokens: 9}).collect()
				if len(last.tokens) > 0 {
					t.Errorf("%d tokens made beside the forced ones", len(last.tokens))
				}
				for i, row := range last.rows {
					if row != cut-1+i || !slices.Equal(last.logits[i], want.logits[row]) {
						t.Fatalf("forced from %d: row %d differs", cut, row)
					}
				}
				if len(last.rows) != len(tokens)-cut+1 {
					t.Errorf("forced from %d: %d rows", cut, len(last.rows))
				}
			}
		})
	}
}

// All rows of a prompt come once each and in order, whatever the number of
// rows of logits in a step, and others go on meanwhile.
func TestAllRowsChunked(t *testing.T) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			r := Request{Prompt: m.tokens(1, 61), All: true}
			want := m.alone(r)
			for _, rows := range []int{3, 4, 16} {
				cfg := exec.Config{Threads: 1, MaxTokens: 16, MaxLogits: rows, Context: 256}
				s := m.still(cfg, Config{Slots: 3})
				other := Request{Prompt: m.tokens(2, 30), MaxTokens: 40}
				a, b, c := submit(t, s, other), submit(t, s, r), submit(t, s, r)
				turns(t, s, nil, a, b, c)
				same(t, fmt.Sprint(rows, " rows"), b, want)
				same(t, fmt.Sprint(rows, " rows, second"), c, want)
				if len(a.tokens) != 40 {
					t.Errorf("the other request made %d tokens", len(a.tokens))
				}
			}
		})
	}
}
