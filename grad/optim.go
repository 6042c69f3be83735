package grad

import (
	"errors"
	"fmt"

	"atenia/internal/machine/pool"
)

// ErrOptimizer matches errors about a rule's settings, a schedule or parameters.
var ErrOptimizer = errors.New("bad optimizer")

// A Param is one tensor to optimize: Value is updated in place from Grad. Both
// slices must stay the same as long as an [Optimizer] has the parameter.
type Param[F Float] struct {
	Name  string
	Shape []int // outermost axis first
	Value []F
	// Grad is the gradient accumulated since the last step. Its owner zeroes
	// it; Step does not.
	Grad []F
	// NoDecay exempts a tensor of two axes or more from weight decay; those of
	// fewer axes never decay.
	NoDecay bool
	// Table marks a matrix whose rows are looked up or compared one by one,
	// such as an embedding or an output head. Muon leaves it to AdamW.
	Table bool
	// Hold excludes the parameter from [Optimizer.Step] and [Norm.Of] as
	// long as it is set.
	Hold bool
}

func (p *Param[F]) decays() bool { return len(p.Shape) >= 2 && !p.NoDecay }

// An UpdateRule is an update rule: [AdamW], [SGD], [Lion] or [Muon].
type UpdateRule interface {
	// check returns what is wrong with the rule's settings.
	check() error
}

// An Optimizer is a rule with its state for a set of parameters. It and its
// threads may be used by one goroutine at a time.
//
//	opt, err := grad.NewOptimizer(grad.AdamW{}, params, nil)
//	…
//	opt.Step(schedule.Share(step)*rate, grad.ClipFactor(norm, 1))
type Optimizer[F Float] struct {
	params []*Param[F]
	pool   *pool.Pool
	slots  [][][]F // [parameter][slot][element]
	steps  []uint64
	rules  []update[F] // of each parameter
}

// An update is the arithmetic of a rule.
type update[F Float] interface {
	// slots returns the number of state arrays per parameter.
	slots() int
	// step performs step t, counted from 1, for one parameter.
	step(p *pool.Pool, w *Param[F], slots [][]F, t uint64, lr, scale float64)
}

// NewOptimizer returns an optimizer with zeroed state that computes with the given
// threads. Errors match [ErrOptimizer].
func NewOptimizer[F Float](r UpdateRule, params []*Param[F], t *Threads) (*Optimizer[F], error) {
	if r == nil {
		return nil, fmt.Errorf("%w: no rule given", ErrOptimizer)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	p := t.innerOrOne()
	o := &Optimizer[F]{params: params, pool: p, steps: make([]uint64, len(params))}
	matrices, others, err := bind(r, params, p)
	if err != nil {
		return nil, err
	}
	for _, w := range params {
		n := 1
		for _, d := range w.Shape {
			n *= d
		}
		if n != len(w.Value) || n != len(w.Grad) {
			return nil, fmt.Errorf("%w: parameter %q of shape %v has %d values and %d of a gradient, want %d", ErrOptimizer, w.Name, w.Shape, len(w.Value), len(w.Grad), n)
		}
		u := others
		if isMatrix(w) {
			u = matrices
		}
		slots := make([][]F, u.slots())
		for i := range slots {
			slots[i] = make([]F, n)
		}
		o.rules, o.slots = append(o.rules, u), append(o.slots, slots)
	}
	return o, nil
}

// isMatrix reports whether Muon orthogonalises a parameter's steps.
func isMatrix[F Float](p *Param[F]) bool { return len(p.Shape) == 2 && !p.Table }

// bind returns the arithmetic of a rule for matrices and for other parameters.
func bind[F Float](r UpdateRule, params []*Param[F], p *pool.Pool) (matrices, others update[F], err error) {
	switch r := r.(type) {
	case AdamW:
		u := newAdamW[F](r)
		return u, u, nil
	case SGD:
		u := &sgd[F]{rule: r}
		return u, u, nil
	case Lion:
		u := newLion[F](r)
		return u, u, nil
	case Muon:
		return newMuon(r, params, p), newAdamW[F](r.Rest), nil
	}
	return nil, nil, fmt.Errorf("%w: unknown rule %T", ErrOptimizer, r)
}

// Step updates every parameter that is not held, with the gradients multiplied
// by scale: see [ClipFactor].
func (o *Optimizer[F]) Step(lr, scale float64) {
	for i, w := range o.params {
		if w.Hold {
			continue
		}
		o.steps[i]++
		o.rules[i].step(o.pool, w, o.slots[i], o.steps[i], lr, scale)
	}
}

// State returns the arrays that the rule keeps for parameter i, each as long as
// its value, for checkpoints. Writing to them changes the state.
func (o *Optimizer[F]) State(i int) [][]F { return o.slots[i] }

// Steps returns the number of steps taken for parameter i.
func (o *Optimizer[F]) Steps(i int) uint64 { return o.steps[i] }

// SetSteps sets the number of steps taken for parameter i, when a run resumes.
func (o *Optimizer[F]) SetSteps(i int, n uint64) { o.steps[i] = n }

// grain is the number of elements that a thread processes at a time.
const grain = 1 << 13

// power returns x^n by squaring, which gives the same result on every
// processor; math.Pow does not promise that.
func power(x float64, n uint64) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

// A faults collects errors about a rule.
type faults struct{ errs []error }

func (f *faults) need(ok bool, format string, args ...any) {
	if !ok {
		f.errs = append(f.errs, fmt.Errorf("%w: "+format, append([]any{ErrOptimizer}, args...)...))
	}
}

// rate checks that x is in [0, 1).
func (f *faults) rate(name string, x float64) {
	f.need(x >= 0 && x < 1, "%s is %v, want at least 0 and less than 1", name, x)
}

// size checks that x is not negative.
func (f *faults) size(name string, x float64) {
	f.need(x >= 0 && x <= 1e9, "%s is %v, want a number that is not negative", name, x)
}

func (f *faults) err() error { return errors.Join(f.errs...) }

// or returns x, or usual if x is zero.
func or(x, usual float64) float64 {
	if x == 0 {
		return usual
	}
	return x
}
