package exec

import (
	"sync/atomic"

	"atenia/internal/kernel"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/ring"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A Stream describes the weights that are streamed from a ring or read row by
// row. The zero Stream is for models that are entirely in memory.
//
// The products of a model read their weights in the same order in every step,
// prefill or decode. The streamed weights of one product form one unit of the
// ring; units are numbered in that order, and their views are slices of the
// ring.
//
// The experts of a mixture are not part of it: a step reads those that its tokens
// choose, through the cache.
type Stream struct {
	Ring    *ring.Ring
	Units   map[string]int   // by name of the weight
	Tables  map[string]Table // by name of the weight: tables that are read row by row
	Experts *ring.ExpertCache
	Banks   map[string]Bank // by name of the weight: matrices of experts in the cache
	// Held is weights in memory that are packed where they are, unless their value is
	// set: then they have been. Nothing else may read their bytes.
	Held map[string]*bool
	// Apart is weights of experts in memory whose matrices do not follow each other.
	Apart map[string][]tensor.View
	// Passes is told when a pass begins and ends; nil = no one is.
	Passes Passes
}

// Passes are steps as tasks of the executor that brings the weights.
type Passes interface {
	// Begin begins a pass over rows, decode if each is of another sequence.
	Begin(decode bool, rows int)
	End(err error)
}

// A Bank is one matrix of every expert of a layer.
type Bank struct {
	Layer, Part int // of the cache
}

// begin starts a step.
func (c *Stream) begin(stop *atomic.Bool) error {
	if c.Experts != nil {
		if err := c.Experts.Begin(stop); err != nil {
			return err
		}
	}
	if c.Ring != nil {
		return c.Ring.Begin(stop)
	}
	return nil
}

// end ends a step, which may have failed.
func (c *Stream) end(ok bool) {
	if c.Ring != nil {
		c.Ring.End(ok)
	}
	if c.Experts != nil {
		c.Experts.End(ok)
	}
}

// wake makes a step that waits check whether it should stop.
func (c *Stream) wake() {
	if c.Ring != nil {
		c.Ring.Wake()
	}
	if c.Experts != nil {
		c.Experts.Wake()
	}
}

// A Table is a matrix outside memory that is read row by row. It is safe for
// concurrent use.
type Table interface {
	DType() tensor.DType
	// ReadRow fills dst, whose length is that of a row.
	ReadRow(dst []byte, row int) error
}

// check returns an error unless a plan that has bound n units uses all units.
func (c *Stream) check(n int) error {
	most := 0
	for _, u := range c.Units {
		most = max(most, u+1)
	}
	if n != most {
		return plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%d units of streamed weights are used, the ring has %d", n, most)
	}
	return nil
}

// product returns the matrix in a slot for a product: one of the store, or a
// streamed one.
func (b *Bind) product(l *linear, slot string, w *kernel.Matrix) (*pack.Matrix, error) {
	name := b.WeightName(slot)
	u, ok := b.x.cfg.Stream.Units[name]
	if !ok {
		return b.x.weights.Add(name, *w), nil
	}
	switch u + 1 {
	case l.unit:
	case b.x.units + 1:
		if l.unit != 0 {
			return nil, b.WeightErrorf(slot, "streamed as unit %d, the other weights of the product as %d", u, l.unit-1)
		}
		b.x.units++
		l.unit = u + 1
	default:
		return nil, b.WeightErrorf(slot, "streamed as unit %d, but used after %d units: a unit that is used twice must be pinned", u, b.x.units)
	}
	return pack.Unpacked(*w), nil
}

// acquire waits until the weights of l are in memory.
func (l *linear) acquire(s *Step) error {
	if f := s.x.cfg.Inputs; f != nil {
		for i := range l.parts {
			f(l.parts[i].name, 0, l.src[:l.rows*l.cols], l.cols)
		}
	}
	if l.unit == 0 {
		return nil
	}
	return s.x.cfg.Stream.Ring.Acquire(l.unit - 1)
}

// release allows the ring to overwrite the weights of l.
func (l *linear) release(s *Step) {
	if l.unit != 0 {
		s.x.cfg.Stream.Ring.Release(l.unit - 1)
	}
}

// A Product is weights that are read together. Several may belong to one unit.
type Product struct {
	Weights []string
	Rows    bool // a table of which some rows are looked up
	Experts bool // each weight is a matrix of every expert: some are read
}

// products names, by opcode, the slots that are read together, in order.
var products = map[plan.Opcode][][]string{
	plan.OpAttention: {{"q", "k", "v"}, {"o"}},
	plan.OpFFN:       {{"gate", "up"}, {"down"}},
	plan.OpLMHead:    {{"weight"}},
	plan.OpEmbedding: {{"table"}},
	plan.OpMoE:       {{"shared_gate", "shared_up"}, {"shared_down"}, bankSlots[:]},

	plan.OpMamba1:    {{"in"}, {"x"}, {"dt"}, {"out"}},
	plan.OpMamba2:    {{"in"}, {"out"}},
	plan.OpShortConv: {{"in"}, {"out"}},

	plan.OpMLA: {{"q_a", "kv_a"}, {"q_b"}, {"k_b"}, {"v_b"}, {"o"}},

	plan.OpGatedDelta:     {{"qkv", "z", "b", "a"}, {"out"}},
	plan.OpRWKVValue:      {{"v"}},
	plan.OpRWKVTimeMix:    {{"r"}, {"k"}, {"d1"}, {"d2"}, {"a1"}, {"a2"}, {"v"}, {"v1"}, {"v2"}, {"g1"}, {"g2"}, {"o"}},
	plan.OpRWKVChannelMix: {{"key"}, {"value"}},

	plan.OpCrossAttn: {{"q"}, {"k", "v"}, {"o"}},
}

// bankSlots are the slots of a mixture whose weights are of every expert.
var bankSlots = [3]string{"gate", "up", "down"}

// Products lists the matrices that a plan reads, in the order of their use.
func Products(p *plan.ExecutionPlan) []Product {
	var out []Product
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		for _, slots := range products[ins.Op] {
			pr := Product{Rows: ins.Op == plan.OpEmbedding, Experts: ins.Op == plan.OpMoE && slots[0] == bankSlots[0]}
			for _, slot := range slots {
				if k, ok := plan.Specs.Get(ins.Op).SlotIndex(slot); ok && ins.Weights[k] != plan.NoWeight {
					pr.Weights = append(pr.Weights, p.Weights[ins.Weights[k]].Name)
				}
			}
			out = append(out, pr)
		}
	}
	return out
}

// A lookup reads rows of a table for the tokens of a step.
type lookup struct {
	table  Table
	p      *plan.EmbedParams
	places *places
	out    *register
	line   scratch // a row for each worker
	size   int
	failed atomic.Pointer[error] // the first row that could not be read
}

func bindTable(b *Bind, p *plan.EmbedParams, t Table, places *places) (Kernel, error) {
	dim := int(p.Dim)
	size, err := t.DType().RowBytes(dim)
	if err != nil || !kernel.Supports(t.DType()) {
		return nil, b.WeightErrorf("table", "no kernel for rows of %d elements of type %s", dim, t.DType())
	}
	l := &lookup{table: t, p: p, places: places, out: b.Out[0], size: size, line: b.bytes(size * b.x.cfg.Threads)}
	run := overRows(l.out, 1<<20, l.rows) // waiting for the SSD justifies a worker
	return func(s *Step) error {
		l.failed.Store(nil)
		if err := run(s); err != nil {
			return err
		}
		if err := l.failed.Load(); err != nil {
			return *err
		}
		return nil
	}, nil
}

func (l *lookup) rows(s *Step, worker, lo, hi int) {
	dim := int(l.p.Dim)
	line := s.x.bytesOf(l.line)[worker*l.size:][:l.size]
	y := l.out.f32(s)
	for r := lo; r < hi; r++ {
		if err := l.table.ReadRow(line, int(s.Tokens[r])); err != nil {
			l.fail(err)
			return
		}
		dst := y[r*dim : (r+1)*dim]
		kernel.LoadRow(dst, l.table.DType(), line)
		if l.p.Scale != 1 {
			kernel.Scale(dst, l.p.Scale)
		}
		l.places.add(s, worker, r, dst)
	}
}

func (l *lookup) fail(err error) { l.failed.CompareAndSwap(nil, &err) }
