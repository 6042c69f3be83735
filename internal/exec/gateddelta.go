package exec

import (
	"math"

	"atenia/internal/kernel"
	"atenia/internal/kernel/chunk"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A gatedDelta is a bound gated delta rule (arXiv 2412.06464):
//
//	qkv, z, b, a ◀─ in x              conv and silu of qkv
//	q, k of length one, q / √d        β = σ(b), g = A·softplus(a + dt)
//	y = the rule of package chunk     of each head of values
//	out (norm(y) ⊙ silu(z))
//
// One key head with the heads of values that share it is a unit of work: they need
// the same products of keys and queries.
type gatedDelta struct {
	p                   *plan.GatedDeltaParams
	x                   *Executor
	kHeads, vHeads      int
	kd, vd, group       int
	channels            int // of the convolution
	conv                dense.Conv[float32]
	before              stateRows
	keys, heads         stateRows
	decay, dt, norm     []float32
	in, out             *linear
	qkv, mixed, z, b, a scratch
	y                   scratch
	kq, gates           scratch // of every worker
	workers             []*chunk.Delta[float32]
	pieces              int
	convolve, heed      rowTask
}

// bindGatedDelta binds a gated delta rule mixer.
func bindGatedDelta(b *Bind, p *plan.GatedDeltaParams) (Kernel, error) {
	d := &gatedDelta{p: p, x: b.x, kHeads: int(p.KHeads), vHeads: int(p.VHeads), kd: int(p.KDim), vd: int(p.VDim)}
	if d.kHeads == 0 || d.vHeads%d.kHeads != 0 {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%d heads of values do not divide into %d key heads", d.vHeads, d.kHeads)
	}
	if p.Chunk != chunk.Span {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "spans of %d tokens, the kernel has spans of %d", p.Chunk, chunk.Span)
	}
	d.group = d.vHeads / d.kHeads
	d.channels = 2*d.kHeads*d.kd + d.vHeads*d.vd
	d.pieces = (d.channels + convColumns - 1) / convColumns
	if err := d.bindState(b); err != nil {
		return nil, err
	}
	if err := d.bindWeights(b); err != nil {
		return nil, err
	}
	d.reserve(b)
	in, out := b.In[0], b.Out[0]
	d.in.reads(in)
	d.out.parts[0].stride = int(out.cols)
	d.convolve.run, d.heed.run = d.mixPieces, d.runHeads
	return func(s *Step) error {
		for i, buf := range [...]scratch{d.qkv, d.z, d.b, d.a} {
			d.in.parts[i].dst = d.x.floatsOf(buf)
		}
		d.in.prepareRegister(s, in)
		if err := d.in.multiply(s); err != nil {
			return err
		}
		d.convolve.s, d.heed.s = s, s
		s.parallel(len(s.Runs)*d.pieces, 1, &d.convolve)
		s.parallel(len(s.Runs)*d.kHeads, 1, &d.heed)
		d.out.parts[0].dst = out.f32(s)
		return d.out.run(s, d.x.floatsOf(d.y), in.count(s))
	}, nil
}

func (d *gatedDelta) bindState(b *Bind) error {
	for _, w := range []struct {
		to   *stateRows
		name string
		n    int
	}{
		{&d.before, "conv", (int(d.p.Conv) - 1) * d.channels},
		{&d.keys, "keys", d.kHeads * chunk.KeysLen(d.kd)},
		{&d.heads, "heads", d.vHeads * chunk.HeadLen(d.kd, d.vd)},
	} {
		var err error
		if *w.to, err = b.stateRows(d.p.Layer, w.name, w.n); err != nil {
			return err
		}
	}
	return nil
}

func (d *gatedDelta) bindWeights(b *Bind) error {
	values := d.vHeads * d.vd
	d.in, d.out = b.linear(int(b.In[0].cols)), b.linear(values)
	for _, w := range []struct {
		l    *linear
		slot string
		rows int
	}{{d.in, "qkv", d.channels}, {d.in, "z", values}, {d.in, "b", d.vHeads}, {d.in, "a", d.vHeads}, {d.out, "out", int(b.Out[0].cols)}} {
		if err := b.add(w.l, w.slot, "", w.rows); err != nil {
			return err
		}
	}
	for i := range d.in.parts {
		d.in.parts[i].stride = d.in.parts[i].rows
	}
	for _, w := range []struct {
		to   *[]float32
		slot string
		n    int
	}{{&d.decay, "decay", d.vHeads}, {&d.dt, "dt_bias", d.vHeads}, {&d.norm, "norm", d.vd}} {
		var err error
		if *w.to, err = b.vector(w.slot, w.n); err != nil {
			return err
		}
	}
	var err error
	d.conv, err = b.conv("conv", "", d.channels, int(d.p.Conv))
	return err
}

func (d *gatedDelta) reserve(b *Bind) {
	values := d.vHeads * d.vd
	d.qkv, d.mixed = b.floats(d.channels*b.maxRows), b.floats(d.channels*b.maxRows)
	d.z, d.y = b.floats(values*b.maxRows), b.floats(values*b.maxRows)
	d.b, d.a = b.floats(d.vHeads*b.maxRows), b.floats(d.vHeads*b.maxRows)
	d.kq = b.floats(2 * chunk.Span * d.kd * b.x.cfg.Threads)
	d.gates = b.floats(2 * chunk.Span * b.x.cfg.Threads)
	if !b.x.measuring {
		d.workers = b.x.chunkWorkers(d.kd, d.vd)
	}
}

// chunkWorkers returns memory of every worker for heads of a size, which the layers
// of a model share.
func (x *Executor) chunkWorkers(k, v int) []*chunk.Delta[float32] {
	if len(x.chunks) > 0 && x.chunks[0].K == k && x.chunks[0].V == v {
		return x.chunks
	}
	x.chunks = make([]*chunk.Delta[float32], x.cfg.Threads)
	for i := range x.chunks {
		x.chunks[i] = chunk.NewDelta[float32](k, v)
	}
	return x.chunks
}

// mixPieces convolves items lo to hi, some channels of one run each.
func (d *gatedDelta) mixPieces(s *Step, _, lo, hi int) {
	n := d.channels
	for i := lo; i < hi; i++ {
		run, from := &s.Runs[i/d.pieces], i%d.pieces*convColumns
		to := min(from+convColumns, n)
		x, y, before := d.x.floatsOf(d.qkv)[run.First*n:], d.x.floatsOf(d.mixed)[run.First*n:], d.before.of(run)
		d.conv.Forward(y, n, x, n, before, run.Len, from, to)
		d.conv.Keep(before, x, n, run.Len, from, to)
		for r := range run.Len {
			kernel.SiLU(y[r*n+from:r*n+to], y[r*n+from:r*n+to])
		}
	}
}

// runHeads computes items lo to hi, one run and one key head each.
func (d *gatedDelta) runHeads(s *Step, worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		run, head := &s.Runs[i/d.kHeads], i%d.kHeads
		for r := 0; r < run.Len; {
			t := (run.Pos + r) % chunk.Span
			n := min(run.Len-r, chunk.Span-t)
			d.span(run, worker, head, r, t, n)
			r += n
		}
	}
}

// span computes n rows of a run from row r on, which follow t of their span, for
// one key head.
func (d *gatedDelta) span(run *Run, worker, head, r, t, n int) {
	w, row := d.workers[worker], run.First+r
	kq := d.x.floatsOf(d.kq)[worker*2*chunk.Span*d.kd:][:2*n*d.kd]
	mixed := d.x.floatsOf(d.mixed)[row*d.channels:]
	for i := range n {
		at := mixed[i*d.channels:]
		d.unit(kq[i*d.kd:][:d.kd], at[(d.kHeads+head)*d.kd:], 1)
		d.unit(kq[(n+i)*d.kd:][:d.kd], at[head*d.kd:], 1/math.Sqrt(float64(d.kd)))
	}
	keys := chunk.Keys[float32](d.keys.of(run)[head*chunk.KeysLen(d.kd):][:chunk.KeysLen(d.kd)])
	w.Look(keys, kq, t, n)
	values, size := d.vHeads*d.vd, chunk.HeadLen(d.kd, d.vd)
	y, z := d.x.floatsOf(d.y)[row*values:], d.x.floatsOf(d.z)[row*values:]
	gates := d.x.floatsOf(d.gates)[worker*2*chunk.Span:][:2*chunk.Span]
	x := chunk.Tokens[float32]{VStride: d.channels, YStep: values, G: gates[:n], Beta: gates[chunk.Span:][:n]}
	for j := range d.group {
		h := head*d.group + j
		if d.p.VLayout != 0 {
			h = j*d.kHeads + head
		}
		d.gate(x.G, x.Beta, row, h)
		x.V, x.Y = mixed[2*d.kHeads*d.kd+h*d.vd:], y[h*d.vd:]
		w.Run(chunk.Cut(d.heads.of(run)[h*size:][:size], d.kd, d.vd), keys, kq, &x, t, n)
		for i := range n {
			v := y[i*values+h*d.vd:][:d.vd]
			kernel.RMSNorm(v, v, d.norm, d.p.NormEps, 0)
			kernel.SiLUMul(v, z[i*values+h*d.vd:][:d.vd], v)
		}
	}
}

// unit writes x, of length scale.
func (d *gatedDelta) unit(dst, x []float32, scale float64) {
	x = x[:len(dst)]
	s := float32(scale / math.Sqrt(kernel.SumSquares(x)+float64(d.p.L2Eps)))
	copy(dst, x)
	kernel.Scale(dst, s)
}

// gate writes the logarithms of what the memory of a head keeps, and how strongly it
// is corrected, from a row on.
func (d *gatedDelta) gate(g, beta []float32, row, head int) {
	a, b := d.x.floatsOf(d.a), d.x.floatsOf(d.b)
	for i := range g {
		at := (row+i)*d.vHeads + head
		g[i] = d.decay[head] * softplus(a[at]+d.dt[head])
		beta[i] = b[at]
	}
	kernel.Sigmoid(beta, beta)
}

// softplus returns ln(1 + e^x).
func softplus(x float32) float32 {
	if x > 20 { // where the reference stops too
		return x
	}
	return float32(math.Log1p(math.Exp(float64(x))))
}
