package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// A crossAttention attends to the rows of an encoder. Their keys and values are
// computed once, in the step in which a sequence begins, from [Run.Source], and
// kept in a state of the request. The queries have no positions, and every one
// sees all rows.
type crossAttention struct {
	attention
	kv     *linear // k and v of the encoder's rows
	source int     // width of these rows
	most   int     // rows that are projected at a time
	queue  rowTask
	run    *Run // whose rows are stored
	first  int  // of these, the first
}

// bindCrossAttention binds attention over the rows of an encoder.
// AttentionParams.Window is how many rows there are.
func bindCrossAttention(b *Bind, p *plan.AttentionParams) (Kernel, error) {
	c := &crossAttention{source: int(b.In[0].cols), most: b.maxRows}
	a := &c.attention
	*a = attention{p: p, x: b.x, heads: int(p.Heads), kvHeads: int(p.KVHeads), dim: int(p.HeadDim), width: int(p.HeadDim), state: int(b.Ins.State), cross: int(p.Window)}
	var err error
	if a.group, err = p.QueriesPerKey(); err != nil {
		return nil, err
	}
	if err := b.oneBlock(true); err != nil {
		return nil, err
	}
	a.pageTokens = (a.cross + flatAlign - 1) &^ (flatAlign - 1)
	if err := a.bindCache(b); err != nil {
		return nil, err
	}
	qd, kd := a.heads*a.dim, a.kvHeads*a.dim
	a.qkv, c.kv, a.out = b.linear(int(b.In[0].cols)), b.linear(c.source), b.linear(qd)
	for _, w := range []struct {
		l          *linear
		slot, bias string
		rows       int
	}{{a.qkv, "q", "q_bias", qd}, {c.kv, "k", "k_bias", kd}, {c.kv, "v", "v_bias", kd}, {a.out, "o", "o_bias", int(b.Out[0].cols)}} {
		if err := b.add(w.l, w.slot, w.bias, w.rows); err != nil {
			return nil, err
		}
	}
	a.qkv.parts[0].stride = qd
	c.kv.parts[0].stride, c.kv.parts[1].stride = kd, kd
	a.out.parts[0].stride = int(b.Out[0].cols)
	a.q, a.k, a.v = b.floats(qd*b.maxRows), b.floats(kd*b.maxRows), b.floats(kd*b.maxRows)
	a.y = b.floats(qd * b.maxRows)
	a.attend.bind(a, b)
	b.x.crossRows, b.x.crossCols = a.cross, c.source
	in, out := b.In[0], b.Out[0]
	a.qkv.reads(in)
	c.queue.run = c.storeRows
	return func(s *Step) error {
		a.qkv.parts[0].dst = a.x.floatsOf(a.q)
		a.qkv.prepareRegister(s, in)
		if err := a.qkv.multiply(s); err != nil {
			return err
		}
		if err := c.fill(s); err != nil {
			return err
		}
		a.attend.run(s)
		a.out.parts[0].dst = out.f32(s)
		return a.out.run(s, a.x.floatsOf(a.y), in.count(s))
	}, nil
}

// fill computes the keys and values of the sequences that begin in this step. A
// step without such sequences passes over the weights all the same, so that those
// that are streamed come in their order.
func (c *crossAttention) fill(s *Step) error {
	if err := c.kv.acquire(s); err != nil {
		return err
	}
	for i := range s.Runs {
		run := &s.Runs[i]
		if run.Pos > 0 {
			continue
		}
		for first := 0; first < c.cross; first += c.most {
			n := min(c.most, c.cross-first)
			c.kv.parts[0].dst, c.kv.parts[1].dst = c.x.floatsOf(c.k), c.x.floatsOf(c.v)
			c.kv.prepare(s, run.Source[first*c.source:(first+n)*c.source], n)
			c.kv.product(s)
			c.run, c.first, c.queue.s = run, first, s
			s.parallel(n, grainFor(8*c.kvHeads*c.dim), &c.queue)
		}
	}
	c.kv.release(s)
	return nil
}

func (c *crossAttention) storeRows(_ *Step, _, lo, hi int) {
	k, v, n := c.x.floatsOf(c.k), c.x.floatsOf(c.v), c.kvHeads*c.dim
	for r := lo; r < hi; r++ {
		for h := range c.kvHeads {
			keys, values := c.rows(c.run, h)
			c.put(&keys, &values, c.first+r, k[r*n+h*c.dim:], v[r*n+h*c.dim:])
		}
	}
}

func (c *crossAttention) put(keys, values *kernel.Rows, pos int, k, v []float32) {
	keys.StoreKey(pos, k)
	values.StoreValue(pos, v)
}
