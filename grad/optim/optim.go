package optim

import (
	"errors"
	"fmt"

	"atenia/internal/pool"
)

// A Float is what parameters are made of.
type Float interface{ float32 | float64 }

// ErrConfig says that a rule's numbers, a schedule or parameters cannot be.
var ErrConfig = errors.New("bad optimizer")

// A Param is one tensor that is stepped: Value in place, from Grad. The slices
// stay where they are for as long as an [Optimizer] has the parameter.
type Param[F Float] struct {
	Name  string
	Shape []int // outermost axis first
	Value []F
	// Grad is the gradient since the last step, which adds to it; nobody but
	// its owner sets it to zero.
	Grad []F
	// NoDecay keeps weight decay away from a tensor of two axes or more;
	// from one of fewer it stays away anyway.
	NoDecay bool
	// Table marks a matrix whose rows are looked up or compared with one by
	// one, as those of embeddings and of a head are. Muon leaves it to AdamW.
	Table bool
	// Hold leaves the parameter out of [Optimizer.Step] and [Norm] for as long
	// as it is set.
	Hold bool
}

func (p *Param[F]) decays() bool { return len(p.Shape) >= 2 && !p.NoDecay }

// A Rule says how parameters are stepped: [AdamW], [SGD], [Lion] or [Muon].
type Rule interface {
	// check returns what is wrong with the rule's numbers.
	check() error
}

// An Optimizer is a rule with its state for parameters. One goroutine at a
// time uses it, and the pool with it.
type Optimizer[F Float] struct {
	params []*Param[F]
	pool   *pool.Pool
	slots  [][][]F // [parameter][slot][element]
	steps  []uint64
	rules  []update[F] // of each parameter
}

// An update is the arithmetic of a rule.
type update[F Float] interface {
	// slots returns how many arrays like the parameter its state is.
	slots() int
	// step does step t, counted from 1, of one parameter.
	step(p *pool.Pool, w *Param[F], slots [][]F, t uint64, lr, scale float64)
}

// New makes the state of a rule for parameters, all zero. A nil pool is one
// thread. Errors match [ErrConfig].
func New[F Float](r Rule, params []*Param[F], p *pool.Pool) (*Optimizer[F], error) {
	if r == nil {
		return nil, fmt.Errorf("%w: there is no rule", ErrConfig)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if p == nil {
		p = pool.New(1)
	}
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
			return nil, fmt.Errorf("%w: parameter %q of shape %v has %d values and %d of a gradient, want %d", ErrConfig, w.Name, w.Shape, len(w.Value), len(w.Grad), n)
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
func bind[F Float](r Rule, params []*Param[F], p *pool.Pool) (matrices, others update[F], err error) {
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
	return nil, nil, fmt.Errorf("%w: unknown rule %T", ErrConfig, r)
}

// Step steps every parameter that is not held, at a learning rate. Gradients
// count scale times: see [Clip].
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
// its values. Writing to them, as a resumed run does, changes the state.
func (o *Optimizer[F]) State(i int) [][]F { return o.slots[i] }

// Steps returns how many steps parameter i has had.
func (o *Optimizer[F]) Steps(i int) uint64 { return o.steps[i] }

// SetSteps sets how many steps parameter i has had, for a run that resumes.
func (o *Optimizer[F]) SetSteps(i int, n uint64) { o.steps[i] = n }

// grain is how many elements one thread takes at once.
const grain = 1 << 13

// power is x^n by squaring: the same on every processor, which math.Pow does
// not promise.
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

// A faults collects what is wrong with a rule.
type faults struct{ errs []error }

func (f *faults) need(ok bool, format string, args ...any) {
	if !ok {
		f.errs = append(f.errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
}

// rate checks a number that is a share: of what is kept, say.
func (f *faults) rate(name string, x float64) {
	f.need(x >= 0 && x < 1, "%s is %v, want at least 0 and less than 1", name, x)
}

// size checks a number that is not negative.
func (f *faults) size(name string, x float64) {
	f.need(x >= 0 && x <= 1e9, "%s is %v, want a number that is not negative", name, x)
}

func (f *faults) err() error { return errors.Join(f.errs...) }

// or returns x, or what is usual where x is zero.
func or(x, usual float64) float64 {
	if x == 0 {
		return usual
	}
	return x
}
