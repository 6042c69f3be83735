package nested

import (
	"cmp"
	"fmt"
	"math"

	"atenia/grad"
	"atenia/nested/rule"
)

// A Runner computes passes over a model. It has a tape and the scratch memory
// of one goroutine. [Model.NewRunner] makes one. After the first passes of each shape it allocates nothing.
type Runner[F Float] struct {
	model *Model[F]
	tape  *grad.Tape[F]
	block *rule.Block[F]

	refs   []grad.Ref // of slots in this pass; 0 while not on the tape
	levels []grad.Ref // of flat parameters of levels
	attn   attentionAux[F]
	trace  Trace
	grads  []F // where gradients of this pass are accumulated, or nil
	ctx    *Context[F]
	pulse  Pulse
	tokens int

	core coreScratch[F]
	ones []F // scratch
	one  [1]F
	err  error // the first error that is not the tape's
}

// A Trace names the buffers of a pass on its runner's tape.
type Trace struct {
	Logits grad.Ref // [tokens, vocabulary]
	Loss   grad.Ref // mean cross-entropy; 0 without targets
	Layers []LayerTrace
}

// A LayerTrace names the results of a layer.
type LayerTrace struct {
	Attention grad.Ref   // [tokens, width]
	Gate      grad.Ref   // [tokens, width]; 0 in [MAL]
	Levels    []grad.Ref // output of each level
	Active    []bool     // which levels wrote
	Schedule  grad.Ref   // the logits [1, levels] of a learned schedule, or 0
	Masks     []grad.Ref // of a learned schedule, 0 at level 0
}

// NewRunner returns a runner. With record it can compute gradients, see
// [Runner.Backward]; the values of a pass are the same bits without. The pool,
// which may be nil, provides threads for matrix products.
func (m *Model[F]) NewRunner(record bool, p *grad.Threads, options ...grad.Option) (*Runner[F], error) {
	b, err := rule.New[F](m.cfg.Rule, m.cfg.Width, m.cfg.Memory)
	if err != nil {
		return nil, err
	}
	r := &Runner[F]{model: m, block: b}
	r.tape = grad.New(&m.reg, append([]grad.Option{grad.Recording(record), grad.WithThreads(p)}, options...)...)
	r.refs = make([]grad.Ref, len(m.plan.slots))
	n := m.cfg.Layers * len(m.cfg.Periods)
	r.levels = make([]grad.Ref, n)
	r.trace.Layers = make([]LayerTrace, m.cfg.Layers)
	for i := range r.trace.Layers {
		t := &r.trace.Layers[i]
		t.Levels, t.Masks = make([]grad.Ref, len(m.cfg.Periods)), make([]grad.Ref, len(m.cfg.Periods))
		t.Active = make([]bool, len(m.cfg.Periods))
	}
	return r, nil
}

// Tape returns the tape of the last pass.
func (r *Runner[F]) Tape() *grad.Tape[F] { return r.tape }

// Forward computes one chunk of ids with the memory c and the pulse of the
// step. Targets, the ids to predict, may be nil; those outside the vocabulary
// are ignored. The new state of memory takes effect with [Runner.Commit].
// [Runner.Backward] adds the gradients of the parameters to grads, a flat vector
// in the order of [Model.Params]; if it is nil they stay on the tape.
//
// The trace is valid until the next pass.
func (r *Runner[F]) Forward(p Pulse, c *Context[F], ids, targets []int32, grads []F) (*Trace, error) {
	m := r.model
	switch {
	case len(ids) == 0:
		return nil, fmt.Errorf("%w: a chunk without tokens", ErrInput)
	case targets != nil && len(targets) != len(ids):
		return nil, fmt.Errorf("%w: %d tokens with %d targets", ErrInput, len(ids), len(targets))
	case c.model != m:
		return nil, fmt.Errorf("%w: the context is of another model", ErrInput)
	case p.Levels() != len(m.cfg.Periods):
		return nil, fmt.Errorf("%w: a pulse of %d levels for a model of %d", ErrInput, p.Levels(), len(m.cfg.Periods))
	}
	r.tape.Reset()
	clear(r.refs)
	clear(r.levels)
	r.err = nil
	clear(c.written)
	r.grads, r.ctx, r.pulse, r.tokens = grads, c, p, len(ids)
	x := r.tape.Embed(r.param(m.plan.embed), ids)
	for i := range m.cfg.Layers {
		x = r.layer(i, x)
	}
	if m.cfg.Norm {
		x = r.norm(x)
	}
	r.trace.Logits = r.tape.MatMulT(x, r.param(m.plan.unembed))
	r.trace.Loss = 0
	if targets != nil {
		r.trace.Loss = r.tape.CrossEntropy(r.trace.Logits, targets)
	}
	if err := cmp.Or(r.err, r.tape.Err()); err != nil {
		return nil, err
	}
	return &r.trace, nil
}

// Backward computes the gradients of share times the loss of the last pass.
func (r *Runner[F]) Backward(share float64) error {
	r.one[0] = F(share)
	return r.tape.BackwardFrom(r.trace.Loss, r.one[:])
}

// Commit makes the memory state computed by the last pass that of its context.
func (r *Runner[F]) Commit() { r.ctx.commit() }

// Loss returns the loss of the last pass.
func (r *Runner[F]) Loss() float64 {
	if v := r.tape.Value(r.trace.Loss); len(v) == 1 {
		return float64(v[0])
	}
	return math.NaN()
}

// param puts a parameter on the tape, once per pass.
func (r *Runner[F]) param(i int) grad.Ref {
	if r.refs[i] == 0 {
		s := &r.model.plan.slots[i]
		r.refs[i] = r.borrow(s.at, s.n, s.shape...)
	}
	return r.refs[i]
}

// borrow puts n elements of the parameters on the tape.
func (r *Runner[F]) borrow(at, n int, shape ...int) grad.Ref {
	ref := r.tape.Borrow(r.model.values[at:at+n], shape...)
	if r.grads != nil && r.tape.Recording() {
		r.tape.GradInto(ref, r.grads[at:at+n])
	}
	return ref
}

// norm scales every row to a mean square of 1.
func (r *Runner[F]) norm(x grad.Ref) grad.Ref {
	return r.tape.Scale(r.tape.SphereProject(x), F(math.Sqrt(float64(r.model.cfg.Width))))
}
