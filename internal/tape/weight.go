package tape

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A run says that elements [at, at+n) of a file tensor are elements [to, to+n)
// of a weight.
type run[F Float] struct {
	p         *Param[F]
	at, to, n int
}

// A weight is one weight of the plan, as runs of file tensors: one run where it
// is a tensor, or rows of one; several where tensors are joined or elements
// reordered.
type weight[F Float] struct {
	name  string
	shape tensor.Shape
	runs  []run[F]
	plus  F         // added to every element
	exped bool      // elements are −e^ of those of the tensors
	fixed []float32 // a constant instead of all this
	whole *leaf[F]
	parts []operand[F] // the tensors of runs, for a weight that is made
}

// A leaf is consecutive weights that instructions read and whose gradient they
// add to: borrowed from a tensor of the file, or made from several at every step
// by plan.weight.
type leaf[F Float] struct {
	value  []F
	from   run[F]     // of a borrowed one
	made   *weight[F] // of one that is made
	filled *weight[F] // of one that is made, is frozen, and has paged tensors
	index  int        // into step.leaves, if trained
}

// bind takes the values of a borrowed leaf from its tensor, if they are in memory.
func (l *leaf[F]) bind() {
	if r := l.from; r.p != nil && r.p.Value != nil {
		l.value = r.p.Value[r.at : r.at+r.n : r.at+r.n]
	}
}

// trained reports whether a gradient is needed.
func (l *leaf[F]) trained() bool { return l.made != nil || l.from.p != nil && !l.from.p.Frozen() }

// An operand is elements [off, off+n) of a leaf, as an instruction uses them.
type operand[F Float] struct {
	leaf   *leaf[F]
	off, n int
	at     int // input of the instruction's block; negative = no gradient
}

// value returns the weights, nil for an empty slot.
func (o *operand[F]) value() []F {
	if o.leaf == nil {
		return nil
	}
	return o.leaf.value[o.off : o.off+o.n]
}

// grad returns the destination of their gradient; nil = none is needed.
func (o *operand[F]) grad(b *grad.OpaqueBack[F]) []F {
	if o.leaf == nil || o.at < 0 {
		return nil
	}
	d := b.DIn(o.at)
	if d == nil {
		return nil
	}
	return d[o.off : o.off+o.n]
}

// resolve follows a recipe.
func resolve[F Float](w compile.Weight, params *Params[F]) (*weight[F], error) {
	out := &weight[F]{name: w.Name, shape: w.Shape, fixed: w.Const}
	if len(w.Sources) == 0 {
		return out, nil
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", plan.ErrWeightBinding, w.Name, fmt.Sprintf(format, args...))
	}
	shape := tensor.Shape(nil)
	at := 0
	for _, name := range w.Sources {
		p, ok := params.Get(name)
		if !ok {
			return nil, bad("there is no tensor %q", name)
		}
		if len(p.Shape) == 0 {
			return nil, bad("tensor %q is a scalar", name)
		}
		if shape == nil {
			shape = append(shape, p.Shape...)
		} else {
			shape[0] += p.Shape[0]
		}
		out.runs = append(out.runs, run[F]{p, 0, at, p.Len()})
		at += p.Len()
	}
	for _, t := range w.Transform {
		next, err := t.Apply(shape)
		if err != nil {
			return nil, bad("%v", err)
		}
		n, _ := shape.Size()
		row := n / max(1, shape[0])
		switch t.Kind {
		case compile.SliceRows:
			out.runs = pick(nil, out.runs, t.A*row, t.B*row, 0)
		case compile.PermuteHeads:
			out.permute(t.A, t.B, shape[0]/t.A, row)
		case compile.AddConst:
			out.plus += F(t.Value)
		case compile.NegExp:
			if out.plus != 0 || out.exped {
				return nil, bad("transform %q after another of values has no gradient", t.Kind)
			}
			out.exped = true
		case compile.Reshape:
		default:
			return nil, bad("transform %q has no gradient", t.Kind)
		}
		shape = next
	}
	if !shape.Equal(w.Shape) {
		return nil, bad("its recipe makes %v, want %v", shape, w.Shape)
	}
	return out, nil
}

// pick appends elements [lo, hi) of src to dst, where they begin at to.
func pick[F Float](dst, src []run[F], lo, hi, to int) []run[F] {
	for _, r := range src {
		a, b := max(lo, r.to), min(hi, r.to+r.n)
		if a < b {
			dst = append(dst, run[F]{r.p, r.at + a - r.to, to + a - lo, b - a})
		}
	}
	return dst
}

// permute reorders rows of heads as [compile.PermuteHeads] says: of the first r
// rows of each head, i and i+r/2 become 2i and 2i+1.
func (w *weight[F]) permute(heads, r, width, row int) {
	var out []run[F]
	move := func(from, to, n int) { out = pick(out, w.runs, from*row, (from+n)*row, to*row) }
	for h := range heads {
		at := h * width
		for i := range r / 2 {
			move(at+i, at+2*i, 1)
			move(at+i+r/2, at+2*i+1, 1)
		}
		move(at+r, at+r, width-r)
	}
	w.runs = out
}

// trained reports whether some element of the weight has a gradient.
func (w *weight[F]) trained() bool {
	for _, r := range w.runs {
		if !r.p.Frozen() {
			return true
		}
	}
	return false
}

// paged reports whether values of the weight are in memory only at times.
func (w *weight[F]) paged() bool {
	for _, r := range w.runs {
		if r.p.paged {
			return true
		}
	}
	return false
}

// fill writes the values of a weight.
func (w *weight[F]) fill(dst []F) {
	for _, r := range w.runs {
		copy(dst[r.to:], r.p.Value[r.at:r.at+r.n])
	}
	switch {
	case w.plus != 0:
		for i := range dst {
			dst[i] += w.plus
		}
	case w.exped:
		for i, v := range dst {
			dst[i] = F(-math.Exp(float64(v)))
		}
	}
}

// operand returns elements [lo, hi) of a weight: borrowed where they are one
// run of a file tensor, part of a buffer that is made at every step where not.
func (m *Model[F]) operand(w *weight[F], lo, hi int) operand[F] {
	runs := pick(nil, w.runs, lo, hi, 0)
	if w.fixed == nil && len(runs) == 1 && w.plus == 0 && !w.exped {
		return m.used(operand[F]{leaf: m.borrow(runs[0]), n: hi - lo})
	}
	if w.whole == nil {
		n, _ := w.shape.Size()
		w.whole = &leaf[F]{}
		switch {
		case w.fixed != nil:
			w.whole.value = make([]F, n)
			for i, v := range w.fixed {
				w.whole.value[i] = F(v)
			}
		case w.trained():
			w.whole.made = w
			for _, r := range w.runs {
				all := run[F]{p: r.p, n: r.p.Len()}
				w.parts = append(w.parts, operand[F]{leaf: m.borrow(all), n: all.n})
			}
			m.number(w.whole)
			m.made = append(m.made, w)
		case w.paged():
			w.whole.filled = w
		default:
			w.whole.value = make([]F, n)
			w.fill(w.whole.value)
		}
	}
	return m.used(operand[F]{leaf: w.whole, off: lo, n: hi - lo})
}

// used notes that the instruction that is being bound reads a leaf.
func (m *Model[F]) used(o operand[F]) operand[F] {
	last := len(m.uses) - 1
	m.uses[last] = append(m.uses[last], o.leaf)
	return o
}

// borrow returns the leaf of a run: the same one for the same elements, so that
// the uses of a tied weight are one buffer of the tape.
func (m *Model[F]) borrow(r run[F]) *leaf[F] {
	r.to = 0
	for _, l := range m.borrowed {
		if l.from == r {
			return l
		}
	}
	l := &leaf[F]{from: r}
	l.bind()
	m.borrowed = append(m.borrowed, l)
	m.number(l)
	return l
}

// number gives a trained leaf its place among a step's.
func (m *Model[F]) number(l *leaf[F]) {
	if l.trained() {
		l.index = len(m.trained)
		m.trained = append(m.trained, l)
	}
}

// makeWeights records the weights that have to be made.
func (s *step[F]) makeWeights(made []*weight[F]) error {
	for _, w := range made {
		s.begin()
		for i := range w.parts {
			s.use(&w.parts[i])
		}
		n, _ := w.shape.Size()
		r := s.t.Alloc(n)
		v := s.t.Data(r)
		if v == nil {
			return s.t.Err()
		}
		w.fill(v)
		w.whole.value = v
		s.leaves[w.whole.index] = r
		s.out = append(s.out, r)
		if err := s.end(keyWeight, w); err != nil {
			return err
		}
	}
	return nil
}

// weightBack adds the gradient of a made weight to those of the tensors.
func weightBack[F Float](b *grad.OpaqueBack[F]) {
	w := b.Aux.(*weight[F])
	d, y := b.DOut(0), b.Out(0)
	for i, r := range w.runs {
		g := w.parts[i].grad(b)
		switch {
		case g == nil:
		case w.exped: // its own derivative
			dense.AddMul(g[r.at:r.at+r.n], d[r.to:r.to+r.n], y[r.to:r.to+r.n])
		default:
			dense.Add(g[r.at:r.at+r.n], d[r.to:r.to+r.n])
		}
	}
}
