package tape

import (
	"fmt"
	"slices"

	"atenia/grad"
	"atenia/internal/plan"
)

// A Pager brings the values of paged tensors ([NewPagedParams]) to memory for as
// long as a block is computed.
type Pager interface {
	// Enter sets Value of the block's paged tensors. For a backward pass it also
	// sets Grad of those that are trained, which the pass adds to.
	Enter(block int, back bool) error
	// Leave ends the use of what Enter has set.
	Leave(block int, back bool) error
}

// A block is consecutive instructions that one tape holds at a time: a layer of
// the model, or an instruction outside of layers. Between blocks only the
// registers that others read are kept, so that memory has the parameters of one
// block, and the intermediate values of one or of those that there is room for:
//
//	forward    Enter 0 ─ record ─ edges ─ Leave 0 ─ Enter 1 ─ record ─ edges ─ …
//	backward   … ─ Enter 1 ─ record again, unless kept ─ back ─ Leave 1 ─ Enter 0 ─ …
type block[F Float] struct {
	*layer[F]
	params []*Param[F]   // paged tensors
	bound  []*leaf[F]    // of them
	own    []*leaf[F]    // borrowed and trained
	made   []*weight[F]  // trained
	filled []*weight[F]  // frozen
	on     step[F]       // on the block's tape
	tape   *grad.Tape[F] // kept from the forward pass to the backward pass; nil = recorded again
	needed bool          // some gradient is found by its backward pass
}

// blocks is a model that is computed block by block.
type blocks[F Float] struct {
	list    []*block[F]
	needs   []bool // registers that have a gradient
	edges   [][]F  // values of registers between blocks
	grads   [][]F  // gradients of them; nil = none yet
	free    [][]F  // memory of gradients
	balance [][]F  // of mixtures of experts, in order
	dloss   [1]F
	aux     *grad.Tape[F] // of the auxiliary loss
}

// pages cuts a model into blocks.
func (m *Model[F]) pages() error {
	p := &blocks[F]{needs: make([]bool, len(m.plan.Registers)), edges: make([][]F, len(m.plan.Registers)), grads: make([][]F, len(m.plan.Registers))}
	at, users := 0, map[*weight[F]]int{}
	for i, l := range m.layers {
		b := &block[F]{layer: l, on: m.newStep(), needed: len(l.leaves) > 0}
		for range l.ops {
			for _, f := range m.uses[at] {
				b.reads(f)
			}
			at++
		}
		for _, w := range b.made {
			if j, ok := users[w]; ok && j != i {
				return fmt.Errorf("%w: %s is made of several tensors and read by several layers, which training block by block cannot do", plan.ErrWeightBinding, w.name)
			}
			users[w] = i
		}
		for _, r := range l.in {
			b.needed = b.needed || p.needs[r]
		}
		for _, r := range l.out {
			p.needs[r] = b.needed
		}
		p.list = append(p.list, b)
	}
	m.blocks = p
	return nil
}

// reads notes that the block reads a leaf.
func (b *block[F]) reads(f *leaf[F]) {
	once := func(list []*leaf[F]) []*leaf[F] {
		if slices.Contains(list, f) {
			return list
		}
		return append(list, f)
	}
	switch w := cmpOr(f.made, f.filled); {
	case w != nil && (slices.Contains(b.made, w) || slices.Contains(b.filled, w)):
	case f.made != nil:
		b.made = append(b.made, f.made)
		for i := range f.made.parts {
			b.reads(f.made.parts[i].leaf)
		}
	case f.filled != nil:
		b.filled = append(b.filled, f.filled)
		for _, r := range f.filled.runs {
			b.tensor(r.p)
		}
	case f.from.p != nil:
		if f.trained() {
			b.own = once(b.own)
		}
		if f.from.p.paged {
			b.bound = once(b.bound)
			b.tensor(f.from.p)
		}
	}
}

// cmpOr returns the first of two pointers that is not nil.
func cmpOr[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func (b *block[F]) tensor(p *Param[F]) {
	if p.paged && !slices.Contains(b.params, p) {
		b.params = append(b.params, p)
	}
}

// Blocks returns the paged tensors that each block reads, in the order of the
// forward pass.
func (m *Model[F]) Blocks() [][]*Param[F] {
	out := make([][]*Param[F], len(m.blocks.list))
	for i, b := range m.blocks.list {
		out[i] = b.params
	}
	return out
}

// Needed reports whether a backward pass enters a block: whether the block, or
// one before it, is trained.
func (m *Model[F]) Needed(block int) bool { return m.blocks.list[block].needed }

// Keep sets which blocks keep their intermediate values from the forward pass to
// the backward pass. Others are computed again. Gradients are the same bits.
func (m *Model[F]) Keep(wanted func(block int) bool) {
	for i, b := range m.blocks.list {
		switch {
		case !wanted(i):
			b.tape = nil
		case b.tape == nil:
			b.tape = grad.New(m.registry, grad.WithThreads(m.Threads))
		}
	}
}

// PagedLoss is [Model.Loss] of a model whose parameters are paged, without a
// backward pass.
func (m *Model[F]) PagedLoss(p Pager, b *Batch) (loss F, err error) {
	last := len(m.blocks.list) - 1
	if err := m.forward(p, b, last, false); err != nil {
		return 0, err
	}
	if err := p.Enter(last, false); err != nil {
		return 0, err
	}
	t := m.innerTape()
	if err := m.blocks.list[last].record(t); err != nil {
		return 0, err
	}
	loss, _, err = m.total(t, 0)
	if err != nil {
		return 0, err
	}
	return loss, p.Leave(last, false)
}

// PagedBackward adds the gradients of share times the loss, and returns the loss.
// The last block is entered once, for both passes.
func (m *Model[F]) PagedBackward(p Pager, b *Batch, share F) (loss F, err error) {
	list := m.blocks.list
	last := len(list) - 1
	if err := m.forward(p, b, last, true); err != nil {
		return 0, err
	}
	if err := p.Enter(last, true); err != nil {
		return 0, err
	}
	t := m.innerTape()
	if err := list[last].record(t); err != nil {
		return 0, err
	}
	loss, balance, err := m.total(t, share)
	if err != nil {
		return 0, err
	}
	for i := last; i >= 0; i-- {
		k := list[i]
		if !k.needed {
			continue
		}
		if i < last {
			if err := p.Enter(i, true); err != nil {
				return 0, err
			}
			if t = k.tape; t == nil {
				t = m.innerTape()
				if err := k.record(t); err != nil {
					return 0, err
				}
			} else {
				k.bind()
			}
		}
		if balance, err = k.back(t, balance); err != nil {
			return 0, err
		}
		if err := p.Leave(i, true); err != nil {
			return 0, err
		}
	}
	return loss, nil
}

// forward computes the blocks before the last.
func (m *Model[F]) forward(p Pager, b *Batch, last int, back bool) error {
	s := &m.step
	if m.blocks.aux == nil {
		m.blocks.aux = grad.New(m.registry)
	}
	m.blocks.aux.Reset()
	if err := s.start(m.blocks.aux, b); err != nil {
		return err
	}
	m.blocks.balance = m.blocks.balance[:0]
	for i, k := range m.blocks.list[:last] {
		if err := p.Enter(i, false); err != nil {
			return err
		}
		t := k.tape
		if t == nil || !back {
			t = m.innerTape()
		} else {
			t.Reset()
		}
		if err := k.record(t); err != nil {
			return err
		}
		if err := k.edge(); err != nil {
			return err
		}
		for _, r := range k.on.balance {
			m.blocks.balance = append(m.blocks.balance, slices.Clone(t.Value(r)))
		}
		if err := p.Leave(i, false); err != nil {
			return err
		}
	}
	return nil
}

// total returns the loss after the last block was recorded on t, and the
// gradients of the mixtures' outputs for the auxiliary loss.
func (m *Model[F]) total(t *grad.Tape[F], share F) (loss F, dbalance [][]F, err error) {
	p, s := m.blocks, &m.step
	last := p.list[len(p.list)-1]
	loss = t.Value(last.on.regs[m.plan.Outputs[0]])[0]
	p.dloss[0] = share
	if m.Balance == 0 || len(p.balance) == 0 {
		return loss, nil, nil
	}
	a := p.aux
	one := a.Borrow([]F{loss})
	a.GradInto(one, p.dloss[:])
	p.dloss[0] = 0
	s.balance = s.balance[:0]
	for _, v := range p.balance {
		r, d := a.Borrow(v, len(v)), make([]F, len(v))
		a.GradInto(r, d)
		s.balance, dbalance = append(s.balance, r), append(dbalance, d)
	}
	aux, err := s.recordBalance()
	if err != nil {
		return 0, nil, err
	}
	all := a.Add(one, a.Scale(aux, F(m.Balance)))
	loss = a.Value(all)[0]
	return loss, dbalance, a.BackwardFrom(all, []F{share})
}

// bind takes the values that a pager has brought.
func (b *block[F]) bind() {
	for _, f := range b.bound {
		f.bind()
	}
}

// record records the block on a tape.
func (b *block[F]) record(t *grad.Tape[F]) error {
	b.bind()
	m, s := b.m, &b.on
	s.startInside(&m.step, t)
	for _, r := range b.in {
		v := m.blocks.edges[r][:m.width(r)]
		s.regs[r] = t.Borrow(v, len(v))
	}
	for _, f := range b.own {
		s.leaves[f.index] = t.Borrow(f.value, len(f.value))
	}
	for _, w := range b.filled {
		n, _ := w.shape.Size()
		v := t.Data(t.Alloc(n))
		if v == nil {
			return t.Err()
		}
		w.fill(v)
		w.whole.value = v
	}
	if err := s.makeWeights(b.made); err != nil {
		return err
	}
	for _, op := range b.ops {
		if err := op.record(s); err != nil {
			return err
		}
	}
	return t.Err()
}

// width returns the number of values of a register in this step.
func (m *Model[F]) width(r plan.RegisterRef) int {
	return m.step.count(r) * int(m.plan.Registers[r].Cols)
}

// edge keeps the registers that later blocks read.
func (b *block[F]) edge() error {
	p := b.m.blocks
	for _, r := range b.out {
		v := b.on.value(r)
		if len(p.edges[r]) < len(v) {
			room, err := b.m.alloc(r)
			if err != nil {
				return err
			}
			p.edges[r] = room
		}
		copy(p.edges[r], v)
	}
	return nil
}

// alloc returns memory for a register, in this step and in the largest.
func (m *Model[F]) alloc(r plan.RegisterRef) ([]F, error) {
	n := max(m.width(r), m.Rows*int(m.plan.Registers[r].Cols))
	if m.Alloc == nil {
		return make([]F, n), nil
	}
	return m.Alloc(n)
}

// gradient returns the gradient of a register between blocks.
func (m *Model[F]) gradient(r plan.RegisterRef) ([]F, error) {
	p, n := m.blocks, m.width(r)
	if p.grads[r] != nil {
		return p.grads[r], nil
	}
	i := slices.IndexFunc(p.free, func(v []F) bool { return cap(v) >= n })
	if i < 0 {
		v, err := m.alloc(r)
		if err != nil {
			return nil, err
		}
		p.grads[r] = v[:n]
	} else {
		p.grads[r] = p.free[i][:n]
		p.free = slices.Delete(p.free, i, i+1)
	}
	clear(p.grads[r])
	return p.grads[r], nil
}

// back runs the backward pass of a recorded block: the gradients of what goes out
// of it are known. balance are those of its mixtures and of the ones before; it
// returns the latter.
func (b *block[F]) back(t *grad.Tape[F], balance [][]F) ([][]F, error) {
	m, s := b.m, &b.on
	for _, r := range b.in {
		if !m.blocks.needs[r] {
			continue
		}
		g, err := m.gradient(r)
		if err != nil {
			return nil, err
		}
		t.GradInto(s.regs[r], g)
	}
	for _, f := range b.own {
		r := f.from
		t.GradInto(s.leaves[f.index], r.p.Grad[r.at:r.at+r.n])
	}
	b.seeds = b.seeds[:0]
	s.begin()
	for _, r := range b.out {
		d := m.blocks.grads[r]
		if r == m.plan.Outputs[0] {
			d = m.blocks.dloss[:]
		}
		if d != nil {
			s.in, b.seeds = append(s.in, s.regs[r]), append(b.seeds, d)
		}
	}
	if n := len(balance) - len(s.balance); len(s.balance) > 0 && n >= 0 {
		s.in, b.seeds = append(s.in, s.balance...), append(b.seeds, balance[n:]...)
		balance = balance[:n]
	}
	meet := t.Alloc()
	s.out = append(s.out, meet)
	if v := t.Data(meet); v != nil {
		v[0] = 0
	}
	if err := s.end(keyMeet, b.layer); err != nil {
		return nil, err
	}
	if err := t.Backward(meet); err != nil {
		return nil, err
	}
	for _, r := range b.out {
		if g := m.blocks.grads[r]; g != nil {
			m.blocks.free, m.blocks.grads[r] = append(m.blocks.free, g), nil
		}
	}
	return balance, nil
}
