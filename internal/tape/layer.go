package tape

import (
	"slices"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A layer is consecutive instructions that form one block of the tape if layers
// are recomputed: its inputs and outputs are kept, intermediate values are not.
//
//	tape       … ─ plan.layer ─ plan.layer ─ … ─ plan.head
//	                   │ on the way back
//	its own tape   plan.attention ─ plan.add ─ plan.ffn ─ plan.add ─ plan.meet
type layer[F Float] struct {
	m       *Model[F]
	ops     []recorder[F]
	in, out []plan.RegisterRef
	leaves  []*leaf[F] // trained ones, in the order of their first use
	single  bool       // recorded directly: outside of layers
	seeds   [][]F      // gradients of out, for plan.meet
}

// cut divides the instructions into layers. Instructions outside of layers,
// embedding and head, are recorded directly.
func (m *Model[F]) cut() []*layer[F] {
	var out []*layer[F]
	ins := m.plan.Instructions
	for lo := 0; lo < len(ins); {
		hi := lo + 1
		for ins[lo].Layer >= 0 && hi < len(ins) && ins[hi].Layer == ins[lo].Layer {
			hi++
		}
		l := &layer[F]{m: m, ops: m.ops[lo:hi], single: ins[lo].Layer < 0}
		m.edges(l, lo, hi)
		out = append(out, l)
		lo = hi
	}
	return out
}

// edges finds what goes into instructions [lo, hi) and what comes out.
func (m *Model[F]) edges(l *layer[F], lo, hi int) {
	ins := m.plan.Instructions
	var made []plan.RegisterRef
	for i := lo; i < hi; i++ {
		for _, r := range ins[i].In {
			if !slices.Contains(made, r) && !slices.Contains(l.in, r) && !slices.Contains(m.plan.Inputs, r) {
				l.in = append(l.in, r)
			}
		}
		made = append(made, ins[i].Out...)
		for _, op := range m.uses[i] {
			if op.trained() && !slices.Contains(l.leaves, op) {
				l.leaves = append(l.leaves, op)
			}
		}
	}
	for _, r := range made {
		if slices.Contains(m.plan.Outputs, r) || slices.ContainsFunc(ins[hi:], func(x plan.Instruction) bool { return slices.Contains(x.In, r) }) {
			l.out = append(l.out, r)
		}
	}
}

// record runs a layer on the inner tape and adds it to the step's as one block.
func (l *layer[F]) record(s *step[F]) error {
	if l.single {
		for _, op := range l.ops {
			if err := op.record(s); err != nil {
				return err
			}
		}
		return nil
	}
	t := l.m.innerTape()
	in := l.m.inside
	in.startInside(s, t)
	for _, r := range l.in {
		v := s.value(r)
		in.regs[r] = t.Borrow(v, len(v))
	}
	for _, f := range l.leaves {
		in.leaves[f.index] = t.Borrow(f.value, len(f.value))
	}
	for _, op := range l.ops {
		if err := op.record(in); err != nil {
			return err
		}
	}
	s.begin(l.in...)
	for _, f := range l.leaves {
		s.in = append(s.in, s.leaves[f.index])
	}
	for _, r := range l.out {
		copy(s.output(r), in.value(r))
	}
	for _, r := range in.balance {
		v := t.Value(r)
		to := s.t.Alloc(len(v))
		copy(s.t.Data(to), v)
		s.out, s.balance = append(s.out, to), append(s.balance, to)
	}
	return s.end(keyLayer, l)
}

// layerBack runs the layer again, on a tape that records, and back.
func layerBack[F Float](b *grad.OpaqueBack[F]) {
	l := b.Aux.(*layer[F])
	t := l.m.innerTape()
	in := l.m.inside
	in.startInside(&l.m.step, t)
	for i, r := range l.in {
		v := b.In(i)
		in.regs[r] = t.Borrow(v, len(v))
		in.into(in.regs[r], b, i)
	}
	for i, f := range l.leaves {
		in.leaves[f.index] = t.Borrow(f.value, len(f.value))
		in.into(in.leaves[f.index], b, len(l.in)+i)
	}
	err := error(nil)
	for _, op := range l.ops {
		if err = op.record(in); err != nil {
			panic(err) // the tape makes it the error of this block
		}
	}
	in.begin(l.out...)
	in.in = append(in.in, in.balance...)
	l.seeds = l.seeds[:0]
	for i := range in.in {
		l.seeds = append(l.seeds, b.DOut(i))
	}
	meet := t.Alloc()
	in.out = append(in.out, meet)
	t.Data(meet)[0] = 0
	if err = in.end(keyMeet, l); err == nil {
		err = t.Backward(meet)
	}
	if err != nil {
		panic(err)
	}
}

// into sends a gradient of the inner tape to the outer one.
func (s *step[F]) into(r grad.Ref, b *grad.OpaqueBack[F], i int) {
	if g := b.DIn(i); g != nil {
		s.t.GradInto(r, g)
	}
}

// meetBack is where the outputs of a layer that was computed again get the
// gradients that they have on the tape.
func meetBack[F Float](b *grad.OpaqueBack[F]) {
	l := b.Aux.(*layer[F])
	for i, d := range l.seeds {
		if g := b.DIn(i); g != nil {
			dense.Add(g, d)
		}
	}
}

// innerTape returns the tape that layers are recorded on, empty.
func (m *Model[F]) innerTape() *grad.Tape[F] {
	if m.inner == nil {
		m.inner = grad.New(m.registry, grad.WithThreads(m.Threads))
	}
	m.inner.Reset()
	return m.inner
}

// startInside makes s a step inside of a layer of outer.
func (s *step[F]) startInside(outer *step[F], t *grad.Tape[F]) {
	s.t, s.w, s.batch = t, dense.Of[F](t.Work()), outer.batch
	s.rows, s.labels, s.pos, s.longest = outer.rows, outer.labels, outer.pos, outer.longest
	s.balance = s.balance[:0]
}
