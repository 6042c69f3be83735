package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A step is one recording: registers are buffers of its tape.
type step[F Float] struct {
	m       *Model[F]
	t       *grad.Tape[F]
	w       *dense.Work[F]
	batch   *Batch
	regs    []grad.Ref // by register
	leaves  []grad.Ref // by leaf.index
	rows    []int32    // those that go to the head
	labels  []int32    // of these
	pos     []int32    // position of every row in its document
	longest int        // document
	source  []F        // rows of an encoder, of all documents
	sources []int      // how many, of each
	balance []grad.Ref // of mixtures of experts

	in, out, saved []grad.Ref // of the block that is being recorded
}

func (m *Model[F]) newStep() step[F] {
	return step[F]{m: m, regs: make([]grad.Ref, len(m.plan.Registers)), leaves: make([]grad.Ref, len(m.trained))}
}

// start reads a batch: positions, and the rows that go to the head.
func (s *step[F]) start(t *grad.Tape[F], b *Batch) error {
	if err := b.check(s.m.vocab); err != nil {
		return err
	}
	if err := s.m.checkImages(b); err != nil {
		return err
	}
	if err := s.m.checkSources(b); err != nil {
		return err
	}
	if goal := s.m.goal; goal != nil {
		if err := goal.check(b); err != nil {
			return err
		}
	} else if b.Answers != nil || b.Targets != nil {
		return &batchError{-1, "what an encoder learns, and the model predicts the next token"}
	}
	s.t, s.w, s.batch = t, dense.Of[F](t.Work()), b
	clear(s.regs)
	s.rows, s.labels, s.pos, s.balance, s.longest = s.rows[:0], s.labels[:0], s.pos[:0], s.balance[:0], 0
	for _, n := range b.Lens {
		s.longest = max(s.longest, n)
		for i := range n {
			s.pos = append(s.pos, int32(i))
		}
	}
	// The auxiliary loss covers all rows of all layers, so the last layer must
	// compute all rows.
	all := s.m.Balance != 0 && s.m.mixtures > 0
	for i, l := range b.Labels {
		if all || l >= 0 {
			s.rows, s.labels = append(s.rows, int32(i)), append(s.labels, l)
		}
	}
	if s.m.goal != nil {
		s.m.goal.rows(s)
	}
	for _, r := range s.m.ropes {
		r.fill(s)
	}
	for _, r := range s.m.reaches {
		r.fill(b)
	}
	s.hear(b)
	return nil
}

// borrow puts the trained tensors on the tape.
func (s *step[F]) borrow() {
	for _, l := range s.m.trained {
		if l.made == nil {
			p := l.from.p
			s.leaves[l.index] = s.t.Borrow(l.value, len(l.value))
			s.t.GradInto(s.leaves[l.index], p.Grad[l.from.at:l.from.at+l.from.n])
		}
	}
}

// count returns the rows of a register.
func (s *step[F]) count(r plan.RegisterRef) int {
	if s.m.plan.Registers[r].Rows == plan.RowsRequested {
		return len(s.rows)
	}
	return len(s.batch.Tokens)
}

// value returns the value of a register.
func (s *step[F]) value(r plan.RegisterRef) []F { return s.t.Value(s.regs[r]) }

// begin starts a block that reads registers.
func (s *step[F]) begin(in ...plan.RegisterRef) {
	s.in, s.out, s.saved = s.in[:0], s.out[:0], s.saved[:0]
	s.m.scratch.reset()
	for _, r := range in {
		s.in = append(s.in, s.regs[r])
	}
}

// use makes a weight an input of the block, if it has a gradient.
func (s *step[F]) use(o *operand[F]) {
	o.at = -1
	if o.leaf != nil && o.leaf.trained() {
		o.at = len(s.in)
		s.in = append(s.in, s.leaves[o.leaf.index])
	}
}

// output makes the buffer of a register.
func (s *step[F]) output(r plan.RegisterRef) []F {
	s.regs[r] = s.t.Alloc(s.count(r), int(s.m.plan.Registers[r].Cols))
	s.out = append(s.out, s.regs[r])
	return s.t.Data(s.regs[r])
}

// save returns n elements that the gradient will need, nil where nothing is
// recorded.
func (s *step[F]) save(n int) []F {
	r := s.t.AllocSaved(n)
	s.saved = append(s.saved, r)
	return s.t.Data(r)
}

// keep is save for values that the forward pass reads, too.
func (s *step[F]) keep(n int) []F {
	if v := s.save(n); v != nil {
		return v
	}
	return s.m.scratch.take(n)
}

// end records the block.
func (s *step[F]) end(k grad.Key, aux any) error {
	if err := s.t.Err(); err != nil {
		return err
	}
	return s.t.Opaque(k, s.in, s.out, s.saved, aux)
}

// A scratch is memory of one block's forward or backward pass.
type scratch[F Float] struct {
	buf       []F
	used      int
	more      [][]F // what did not fit
	need, top int
}

// reset takes everything back. What did not fit will the next time.
func (s *scratch[F]) reset() {
	if s.more != nil {
		s.buf, s.more = make([]F, s.top), nil
	}
	s.used, s.need = 0, 0
}

// take returns n elements of any value.
func (s *scratch[F]) take(n int) []F {
	s.need += n
	s.top = max(s.top, s.need)
	if s.used+n > len(s.buf) {
		v := make([]F, n)
		s.more = append(s.more, v)
		return v
	}
	s.used += n
	return s.buf[s.used-n : s.used : s.used]
}

// zeros is take, set to zero.
func (s *scratch[F]) zeros(n int) []F {
	v := s.take(n)
	clear(v)
	return v
}

// A sink is a gradient that several terms are added to: the first may be stored.
type sink[F Float] struct {
	g   []F // nil = not needed
	add bool
}

// sinkOf returns the gradient of input i.
func sinkOf[F Float](b *grad.OpaqueBack[F], i int) sink[F] {
	g, add := b.Into(i)
	return sink[F]{g, add}
}

// mul adds a[m,k]·b[k,n].
func (k *sink[F]) mul(w *dense.Work[F], a, b []F, m, inner, n int) {
	switch {
	case k.g == nil:
	case k.add:
		w.AddMul(k.g, a, b, m, inner, n)
	default:
		w.Mul(k.g, a, b, m, inner, n)
		k.add = true
	}
}

// plus adds scale·d.
func (k *sink[F]) plus(w *dense.Work[F], scale F, d []F) {
	switch {
	case k.g == nil:
	case k.add:
		w.Sum(k.g, k.g, d, scale)
	default:
		copy(k.g, d)
		scaleBy(k.g, scale)
		k.add = true
	}
}

// sum returns the gradient to add to.
func (k *sink[F]) sum() []F {
	if k.g != nil && !k.add {
		clear(k.g)
		k.add = true
	}
	return k.g
}
