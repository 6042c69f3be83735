package bench

import (
	"context"

	"atenia/internal/exec"
	"atenia/internal/plan"
	"atenia/internal/sched"
)

// Counters are the executor's counts for one prompt and for one token after it.
// A part that the benchmark leaves out has no tokens.
type Counters struct {
	Prefill, Decode StepCounts
}

// StepCounts are the executor's counts for a number of tokens of a sequence.
type StepCounts struct {
	Tokens       int
	Instructions uint64
	// Launches is how often work was handed to the workers. It does not depend
	// on the number of rows in a step.
	Launches uint64
	// Evaluations is how many graphs of recorded instructions ran, with a backend that
	// records.
	Evaluations uint64
	Experts     uint64    // of mixtures that were computed: those that some row chose
	Ops         []OpCount // by opcode number, those that ran
}

// An OpCount is how often instructions of one opcode ran.
type OpCount struct {
	Op    string
	Count uint64
}

// count runs a prompt of random tokens, and a token after it if decode is set,
// with counters on. A prompt of no tokens is left out.
func (m *model) count(ctx context.Context, prompt int, decode bool) (*Counters, error) {
	var r Counters
	var c exec.Counters
	n := max(prompt, 1)
	if decode {
		n = min(n, m.engine.Plan.Context()-1) // room for one more
	}
	ids := m.randomTokens(n + 1)
	req := sched.Request{Prompt: ids[:n], Counters: &c}
	if decode {
		req.Forced = ids[n:]
	}
	// The logits of the prompt come when the prompt's steps are done and the
	// token after it is not begun.
	req.OnLogits = func(row int, _ []float32) {
		switch {
		case row == n:
			r.Decode = countsOf(&c, 1)
		case prompt > 0:
			r.Prefill = countsOf(&c, n)
		}
		c.Reset()
	}
	st, err := m.engine.Sched.Submit(ctx, req)
	if err != nil {
		return nil, err
	}
	st.Next()
	return &r, st.Err()
}

func countsOf(c *exec.Counters, tokens int) StepCounts {
	s := StepCounts{Tokens: tokens, Instructions: c.Total(), Launches: c.Launches(), Experts: c.Experts(), Evaluations: c.Evaluations()}
	for i := range 256 {
		if op := plan.Opcode(i); c.Op(op) > 0 {
			s.Ops = append(s.Ops, OpCount{op.String(), c.Op(op)})
		}
	}
	return s
}
