package speech

import (
	"context"
	"fmt"

	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/sched"
)

// A Borrower runs a function with an executor while nothing else uses it: a
// scheduler, between two of its steps.
type Borrower interface {
	Borrow(f func(*exec.Executor) error) error
}

// A Runner decodes with an executor that others use between its steps. It holds
// the states of its sequences. One goroutine at a time may use it.
type Runner struct {
	from  Borrower
	tower *exec.Tower
	pools []*sched.StatePool
	step  exec.Step
	rows  [][]float32
	most  int // rows of a step whose logits may be requested
	width int // rows of a step
}

// newRunner returns a runner with states within an account. Close does not close
// the encoder.
func newRunner(from Borrower, encoder *exec.Tower, account *ledger.Account) (*Runner, error) {
	r := &Runner{from: from, tower: encoder}
	err := from.Borrow(func(x *exec.Executor) error {
		r.most, r.width = x.Config().MaxLogits, x.Config().MaxTokens
		for _, d := range x.States() {
			p, err := sched.NewStatePool(d, sched.StateStorage(&d, account))
			if err != nil {
				return err
			}
			r.pools = append(r.pools, p)
		}
		return nil
	})
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close frees the states. All lines must be closed.
func (r *Runner) Close() {
	for _, p := range r.pools {
		p.Close()
	}
}

// Encode runs the encoder over the features of a window, [frames, mels], and
// returns its rows, valid until the next call.
func (r *Runner) Encode(ctx context.Context, features []float32) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.tower.EncodeSound(features)
}

// A Line is one sequence of tokens over one window.
type Line struct {
	r      *Runner
	source []float32 // until the first step
	states []*sched.State
	pages  [][][]byte
	done   int
}

// Open begins a sequence over the encoder's rows of a window.
func (r *Runner) Open(source []float32) *Line {
	l := &Line{r: r, source: source, pages: make([][][]byte, len(r.pools))}
	for _, p := range r.pools {
		l.states = append(l.states, p.Unbound())
	}
	return l
}

// Close frees the states of the sequence.
func (l *Line) Close() {
	for _, s := range l.states {
		_ = s.Deinit() // allowed in every lifecycle
	}
}

// Fork returns a sequence with the same tokens, which shares what is computed.
func (l *Line) Fork() (*Line, error) {
	f := &Line{r: l.r, source: l.source, pages: make([][][]byte, len(l.pages)), done: l.done}
	for i, s := range l.states {
		if !s.Bound() {
			f.states = append(f.states, l.r.pools[i].Unbound())
			continue
		}
		c, err := s.Fork()
		if err != nil {
			f.Close()
			return nil, err
		}
		f.states = append(f.states, c)
	}
	return f, nil
}

// add puts the next tokens of a line into the step.
func (r *Runner) add(l *Line, tokens []int32) error {
	for i, s := range l.states {
		end := 1
		if r.pools[i].Persistent() {
			end = l.done + len(tokens)
		}
		if err := s.Extend(end); err != nil {
			return err
		}
		l.pages[i] = s.Pages()
	}
	run := exec.Run{First: len(r.step.Tokens), Len: len(tokens), Pos: l.done, Span: l.done + len(tokens), Pages: l.pages}
	if l.done == 0 {
		run.Source = l.source
	}
	r.step.Runs, r.step.Tokens = append(r.step.Runs, run), append(r.step.Tokens, tokens...)
	return nil
}

func (r *Runner) begin() {
	r.step.Runs, r.step.Tokens, r.step.Requested = r.step.Runs[:0], r.step.Tokens[:0], r.step.Requested[:0]
	r.rows = r.rows[:0]
}

// run computes the step and returns the requested rows of logits, copied: another
// user of the executor overwrites its own.
func (r *Runner) run(ctx context.Context) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err := r.from.Borrow(func(x *exec.Executor) error {
		if err := x.Step(&r.step); err != nil {
			return err
		}
		for i := range r.step.Requested {
			r.rows = append(r.rows, append([]float32(nil), x.Logits(&r.step, i)...))
		}
		return nil
	})
	return r.rows, err
}

// Feed gives a new line its first tokens and returns the logits after token at
// and after the last.
func (r *Runner) Feed(ctx context.Context, l *Line, tokens []int32, at int) ([][]float32, error) {
	if len(tokens) > r.width {
		return nil, fmt.Errorf("a beginning of %d tokens, a step takes %d", len(tokens), r.width)
	}
	r.begin()
	if err := r.add(l, tokens); err != nil {
		return nil, err
	}
	r.step.Requested = append(r.step.Requested, int32(at))
	if last := len(tokens) - 1; at != last {
		r.step.Requested = append(r.step.Requested, int32(last))
	}
	rows, err := r.run(ctx)
	if err != nil {
		return nil, err
	}
	l.done, l.source = len(tokens), nil
	return rows, nil
}

// Step gives each line one token and returns the logits after them.
func (r *Runner) Step(ctx context.Context, lines []*Line, tokens []int32) ([][]float32, error) {
	var all [][]float32
	for len(lines) > 0 {
		n := min(len(lines), r.most)
		r.begin()
		for i, l := range lines[:n] {
			if err := r.add(l, tokens[i:i+1]); err != nil {
				return nil, err
			}
			r.step.Requested = append(r.step.Requested, int32(i))
		}
		rows, err := r.run(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range lines[:n] {
			l.done++
		}
		all = append(all, rows...)
		lines, tokens = lines[n:], tokens[n:]
	}
	return all, nil
}
