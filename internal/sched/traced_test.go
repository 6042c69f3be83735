package sched

import (
	"testing"

	"atenia/internal/plan"
)

// TestTracedAlone: a request that is traced has steps of its own beside others that decode and
// read prompts: every output has its rows alone, all of its tokens once, and all say what they
// say without each other.
func TestTracedAlone(t *testing.T) {
	m := open(t, mixed[0])
	s := m.still(small, Config{Slots: 3})
	plain := Request{Prompt: m.tokens(3, 21), MaxTokens: 9}
	r := Request{Prompt: m.tokens(6, 37), MaxTokens: 6}
	wantPlain, want := m.alone(plain), m.alone(r)
	next, step, embedded := 0, -1, 0
	r.Trace = func(x Traced) {
		if x.Op == plan.OpEmbedding && x.Instruction == 0 {
			n := len(x.Values) / x.Cols
			if x.First != next || x.Step != step+1 {
				t.Errorf("step %d begins at token %d, want step %d at %d", x.Step, x.First, step+1, next)
			}
			next, step, embedded = next+n, x.Step, embedded+1
		}
		if x.Step != step || len(x.Values)%x.Cols != 0 {
			t.Errorf("%v of step %d in step %d, %d values in rows of %d", x.Op, x.Step, step, len(x.Values), x.Cols)
		}
	}
	a, b, c := submit(t, s, plain), submit(t, s, r), submit(t, s, plain)
	turns(t, s, nil, a, b, c)
	same(t, "before", a, wantPlain)
	same(t, "traced", b, want)
	same(t, "after", c, wantPlain)
	if fed := len(r.Prompt) + r.MaxTokens - 1; next != fed || embedded < r.MaxTokens {
		t.Errorf("%d tokens in %d steps, want %d", next, embedded, fed)
	}
}
