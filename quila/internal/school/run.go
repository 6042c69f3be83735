package school

import (
	"context"
	"fmt"
	"math"

	"atenia/grad"
)

// A Stream is a pupil that reads texts side by side and carries its state.
type Stream interface {
	// Window reads codes [batch, T+1], each of which predicts the next. A stream
	// that learns adds the gradient of its loss to the weights'. nll, unless nil,
	// receives the cross-entropy of every prediction in nats, [batch, T].
	Window(codes []int32, nll []float32) (ce float32, err error)
	// State is what is carried on; SetState takes one of the same shape.
	State() [][]float32
	SetState([][]float32) error
	Reset()
}

// A Pupil is a model that learns.
type Pupil struct {
	Name   string
	Params []*grad.Param[float32]
	Open   func(batch int, learn bool) Stream
	// Begin, unless nil, is called before every step.
	Begin func(ctx context.Context, r *Run, s Stream) error
	// Stepped, unless nil, is called after the weights have changed.
	Stepped func(ctx context.Context, s Stream) error
	// Made is what it was made from, such as its seed, by names: a run is resumed with
	// the same.
	Made map[string]string
	// Extra are values besides the weights that a checkpoint has to have: what
	// changes without a gradient, and what the seed chose once.
	Extra [][]float32
	// Loaded, unless nil, is called after a checkpoint has replaced the values.
	Loaded func()
}

// Size is how many weights are trained.
func (p *Pupil) Size() int {
	n := 0
	for _, w := range p.Params {
		n += len(w.Value)
	}
	return n
}

// A Run is a pupil in training. It may be used by one goroutine at a time.
type Run struct {
	Pupil  Pupil
	Recipe Recipe
	Marks  []Mark // the curve so far

	text   []byte
	rows   int // length of a row
	stream Stream
	params []*grad.Param[float32] // as the optimizer sees them
	opt    *grad.Optimizer[float32]
	norm   *grad.Norm[float32]
	codes  []int32

	step    int
	saved   int // step of the newest checkpoint
	at      int // place in the rows
	recent  []float64
	seconds float64 // spent in steps
	gate    *Gate
}

// A NormError says that a gradient is not a number. The weights are as they were
// before the step.
type NormError struct {
	Step int
	Norm float64
}

func (e *NormError) Error() string {
	return fmt.Sprintf("school: step %d: the gradient's norm is %v", e.Step, e.Norm)
}

// NewRun prepares the training of a pupil on a text.
func NewRun(p Pupil, r Recipe, text []byte, threads *grad.Threads) (*Run, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	run := &Run{Pupil: p, Recipe: r, text: text, rows: len(text) / r.Batch, norm: grad.NewNorm[float32](threads), gate: NewGate(r.Steps, unigram(text))}
	if run.rows < r.Window+1 {
		return nil, fmt.Errorf("school: %w: %d characters in %d rows are less than a window of %d", errRecipe, len(text), r.Batch, r.Window)
	}
	// Vectors decay like matrices in the recipe's runs, so all are rows here.
	for _, w := range p.Params {
		q := *w
		q.Shape = []int{1, len(w.Value)}
		run.params = append(run.params, &q)
	}
	var err error
	if run.opt, err = grad.NewOptimizer[float32](r.rule(), run.params, threads); err != nil {
		return nil, err
	}
	run.stream = p.Open(r.Batch, true)
	run.codes = make([]int32, r.Batch*(r.Window+1))
	return run, nil
}

// Done is how many steps have been taken.
func (r *Run) Done() int { return r.step }

// Tokens is how many codes have been read.
func (r *Run) Tokens() int { return r.step * r.Recipe.Tokens() }

// Gate tells whether the library may be written to.
func (r *Run) Gate() *Gate { return r.gate }

// A Taken is what a step did.
type Taken struct {
	Step int
	Loss float64 // mean cross-entropy, nats
	Norm float64 // of the gradient, before it was clipped
	Rate float64
}

// Bits is the loss in bits.
func (t Taken) Bits() float64 { return t.Loss / math.Ln2 }

// Step takes a step.
func (r *Run) Step(ctx context.Context) (Taken, error) {
	w := r.Recipe.Window
	if r.Pupil.Begin != nil {
		if err := r.Pupil.Begin(ctx, r, r.stream); err != nil {
			return Taken{}, err
		}
	}
	if r.at+w >= r.rows {
		r.stream.Reset()
		r.at = 0
	}
	for b := range r.Recipe.Batch {
		window(r.codes[b*(w+1):(b+1)*(w+1)], r.text[b*r.rows+r.at:])
	}
	for _, p := range r.params {
		clear(p.Grad)
	}
	ce, err := r.stream.Window(r.codes, nil)
	if err != nil {
		return Taken{}, err
	}
	t := Taken{Step: r.step + 1, Loss: float64(ce), Norm: r.norm.Of(r.params), Rate: r.Recipe.rate(r.step + 1)}
	if math.IsNaN(t.Norm) || math.IsInf(t.Norm, 0) {
		return t, &NormError{t.Step, t.Norm}
	}
	r.opt.Step(t.Rate, grad.ClipFactor(t.Norm, r.Recipe.Clip))
	if r.Pupil.Stepped != nil {
		if err := r.Pupil.Stepped(ctx, r.stream); err != nil {
			return t, err
		}
	}
	r.gate.Observe(t.Loss, t.Norm)
	r.step++
	r.at += w
	const kept = 10
	r.recent = append(r.recent, t.Loss)
	if len(r.recent) > kept {
		r.recent = append(r.recent[:0], r.recent[1:]...)
	}
	return t, nil
}

// window copies the first codes of a text.
func window(dst []int32, text []byte) {
	for i := range dst {
		dst[i] = int32(text[i])
	}
}

// Moments are those of the optimizer, S7, of all weights one after another.
func (r *Run) Moments() []float32 {
	var out []float32
	for i := range r.params {
		for _, s := range r.opt.State(i) {
			out = append(out, s...)
		}
	}
	return out
}

// State are the moments of weight i of the pupil.
func (r *Run) State(i int) [][]float32 { return r.opt.State(i) }

// Text is what the run learns from.
func (r *Run) Text() []byte { return r.text }
