package exec

import (
	"errors"
	"fmt"
	"sync/atomic"

	"atenia/internal/memory/ring"
	"atenia/internal/plan"
)

// A Run is one sequence's share of a step: rows [First, First+Len) of the
// batch, at positions Pos, Pos+1, … of that sequence.
type Run struct {
	First, Len, Pos int
	// Span is the length for which the sequence was admitted, prompt and answer
	// together. Rope scalings that depend on length use it, so that all cached
	// keys of a sequence have the same rotation.
	Span int
	// Pages holds, for every state of the plan in order, the pages of this
	// sequence; page p covers positions p·PageTokens onwards. The pages of
	// positions Pos … Pos+Len−1 must exist and be writable; pages entirely
	// behind a window may be nil. A state of fixed size is one page, which a
	// step reads at Pos, zero at 0, and leaves as it is after Pos+Len: after a
	// step that failed it is of no use.
	Pages [][][]byte
	// Source is the rows of an encoder for a model that attends to them, in the run
	// that begins at position 0: keys and values of them are kept in a state.
	Source []float32

	// Spans are the images of the sequence, by position. All that precede the end
	// of the run must be there, even if the model keeps their rows cached: they
	// determine the positions of what follows.
	Spans []Span

	// LowRank is the adapter of the sequence, nil = none; Strength multiplies its
	// scales. Keys and values on the pages must be of the same adapter and strength.
	LowRank  *LowRank
	Strength float32

	flat int // first row in the memory of attention without a cache
}

// A Step is one pass of a batch through the model. The caller owns it and may
// change its fields between calls.
type Step struct {
	Runs      []Run
	Tokens    []int32 // one per row
	Types     []int32 // token type of each row; nil = 0
	Requested []int32 // rows whose logits are requested, ascending
	Counters  *Counters
	// Trace, if set, receives every instruction's outputs: the values of output
	// j of the instruction at a place of the program, rows × cols.
	Trace func(at int, ins *plan.Instruction, j int, values []float32, cols int)
	// Stop, when set to true, makes a step return [ErrStopped] before the next
	// instruction or streamed unit; [Executor.Wake] interrupts a wait. The step may
	// be run again.
	Stop *atomic.Bool
	// Early computes the first layers alone, with the head after them: a guess of what all
	// say. Runs have one row, whose logits are requested. The states of these layers are
	// as after a whole step, those of the others are of no use at these positions.
	Early bool
	// Threads bounds the workers of this step; 0 = all of [Config.Threads]. Results
	// are the same bits.
	Threads int

	rows, requested int
	rowRun          []int32 // row → run
	imageRows       []imageRow
	images          int        // rows of images
	places          [][3]int32 // row → time, row and column, if the model turns by them

	// Of a tower's step.
	patches   *Patches
	merged    int     // rows of blocks of patches
	order     []int32 // row → patch
	windows   []Run
	rowWindow []int32 // row → window
	x         *Executor

	adapted, asked []adaptedRows // rows of adapters: of the batch, and of the requested ones
}

// stopped reports whether the step is to end now.
func (s *Step) stopped() bool { return s.Stop != nil && s.Stop.Load() }

// ErrStopped is returned by a step that [Step.Stop] ended.
var ErrStopped = ring.ErrStopped

// ErrStep matches errors about the form of a [Step].
var ErrStep = errors.New("invalid step")

func stepErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrStep, fmt.Sprintf(format, args...))
}

// check verifies all that kernels assume without checking.
func (s *Step) check(x *Executor) error {
	s.rows = len(s.Tokens)
	if s.rows == 0 || s.rows > x.cfg.MaxTokens {
		return stepErrorf("%d rows, want 1 to %d", s.rows, x.cfg.MaxTokens)
	}
	next := 0
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.First != next || r.Len < 1 || r.First+r.Len > s.rows {
			return stepErrorf("run %d covers rows %d to %d of %d", i, r.First, r.First+r.Len, s.rows)
		}
		next += r.Len
		if want := x.crossRows * x.crossCols; r.Pos == 0 && len(r.Source) != want {
			return stepErrorf("run %d begins with %d values of an encoder, the model attends to %d rows of %d", i, len(r.Source), x.crossRows, x.crossCols)
		}
		if x.flat && r.Pos != 0 {
			return stepErrorf("run %d begins at position %d: a sequence that attends in both directions runs whole", i, r.Pos)
		}
		if r.Pos < 0 || r.Pos+r.Len > x.cfg.Context {
			return stepErrorf("run %d ends at position %d, the context holds %d", i, r.Pos+r.Len, x.cfg.Context)
		}
		if err := x.checkPages(i, r); err != nil {
			return err
		}
		if err := x.checkLowRank(i, r); err != nil {
			return err
		}
	}
	if next != s.rows {
		return stepErrorf("runs cover %d of %d rows", next, s.rows)
	}
	if x.flat {
		if err := s.layRuns(x); err != nil {
			return err
		}
	}
	if err := s.layImages(x); err != nil {
		return err
	}
	for i, t := range s.Tokens {
		if t < 0 || int(t) >= x.tokens {
			return stepErrorf("token %d of row %d is outside the vocabulary of %d", t, i, x.tokens)
		}
	}
	if s.Types != nil && len(s.Types) != s.rows {
		return stepErrorf("%d token types for %d rows", len(s.Types), s.rows)
	}
	for i, t := range s.Types {
		if t < 0 || int(t) >= max(x.types, 1) {
			return stepErrorf("token type %d of row %d is outside the table of %d", t, i, x.types)
		}
	}
	if len(s.Requested) > x.cfg.MaxLogits {
		return stepErrorf("logits of %d rows requested, at most %d", len(s.Requested), x.cfg.MaxLogits)
	}
	if s.Early && (x.early == nil || len(s.Runs) != s.rows || len(s.Requested) != s.rows) {
		return stepErrorf("%d runs of %d rows, %d requested, through the first layers: want one row each, in a model with such a program", len(s.Runs), s.rows, len(s.Requested))
	}
	last := int32(-1)
	for _, r := range s.Requested {
		if r <= last || int(r) >= s.rows {
			return stepErrorf("requested rows must ascend within %d rows, got %d after %d", s.rows, r, last)
		}
		last = r
	}
	return nil
}

// checkPages verifies that a run has the pages it reads and writes.
func (x *Executor) checkPages(i int, r *Run) error {
	if len(r.Pages) != len(x.states) {
		return stepErrorf("run %d has %d states, the plan %d", i, len(r.Pages), len(x.states))
	}
	for g := range x.states {
		d := &x.states[g]
		if d.PageTokens == 0 { // one block, whatever the position
			if len(r.Pages[g]) != 1 || uint64(len(r.Pages[g][0])) < d.SizeBytes {
				return stepErrorf("run %d: state %d needs one block of %d bytes", i, g, d.SizeBytes)
			}
			continue
		}
		first := 0
		if d.Window > 0 {
			first = max(0, r.Pos-int(d.Window)+1) / int(d.PageTokens)
		}
		last := (r.Pos + r.Len - 1) / int(d.PageTokens)
		if last >= len(r.Pages[g]) {
			return stepErrorf("run %d: state %d needs page %d, got %d pages", i, g, last, len(r.Pages[g]))
		}
		for p := first; p <= last; p++ {
			if uint64(len(r.Pages[g][p])) < d.SizeBytes {
				return stepErrorf("run %d: page %d of state %d has %d bytes, want %d", i, p, g, len(r.Pages[g][p]), d.SizeBytes)
			}
		}
	}
	return nil
}
