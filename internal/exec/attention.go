package exec

import (
	"fmt"
	"math"

	"atenia/internal/kernel"
	"atenia/internal/plan"
	"atenia/tensor"
)

// An attention is one bound attention instruction: projections, rotation,
// cache write, scores and weighted sum over pages, output projection.
type attention struct {
	p                            *plan.AttentionParams
	x                            *Executor
	state                        int       // index into Run.Pages
	flat                         *flatRows // in place of a state
	cross                        int       // rows of an encoder that every query sees; 0 = own rows
	heads, kvHeads, group, dim   int
	width                        int     // of a value
	latent                       *latent // whose keys and values are in another form
	qkv, out                     *linear
	qNorm, kNorm, sinks          []float32
	slopes                       []float32 // of each query head: what a score loses for each position between; nil = nothing
	rope                         *ropeTable
	q, k, v, y                   scratch
	gated                        scratch // QGate: the projection, of each head q and the gate
	elem                         tensor.DType
	headBytes                    int // of one head's keys of a page
	keyOff, valueOff, pageTokens int
	store                        Kernel
	attend                       attending
}

// bindAttention binds grouped-query attention with a paged cache.
func bindAttention(b *Bind, p *plan.AttentionParams) (Kernel, error) {
	a := &attention{
		p: p, x: b.x, heads: int(p.Heads), kvHeads: int(p.KVHeads), dim: int(p.HeadDim), width: int(p.HeadDim),
		state: int(b.Ins.State),
	}
	var err error
	if a.group, err = p.QueriesPerKey(); err != nil {
		return nil, err
	}
	if p.Images != 0 {
		b.x.whole = true
	}
	if err := a.bindState(b); err != nil {
		return nil, err
	}
	if err := a.bindWeights(b); err != nil {
		return nil, err
	}
	qd, kd := a.heads*a.dim, a.kvHeads*a.dim
	a.q, a.k, a.v = b.floats(qd*b.maxRows), b.floats(kd*b.maxRows), b.floats(kd*b.maxRows)
	a.y = b.floats(qd * b.maxRows)
	projected := a.q
	if p.QGate != 0 {
		a.gated = b.floats(2 * qd * b.maxRows)
		projected = a.gated
	}
	a.attend.bind(a, b)
	for i := range a.qkv.parts {
		a.qkv.parts[i].stride = a.qkv.parts[i].rows
	}
	in, out := b.In[0], b.Out[0]
	a.qkv.reads(in)
	a.out.parts[0].stride = int(out.cols)
	a.store = overRows(in, 8*(qd+2*kd), a.storeRows)
	return func(s *Step) error {
		rows := in.count(s)
		if a.flat != nil {
			a.flat.open(a.x)
		}
		for i, buf := range [...]scratch{projected, a.k, a.v} {
			a.qkv.parts[i].dst = a.x.floatsOf(buf)
		}
		a.qkv.prepareRegister(s, in)
		if err := a.qkv.multiply(s); err != nil {
			return err
		}
		if err := a.store(s); err != nil {
			return err
		}
		a.attend.run(s)
		a.out.parts[0].dst = out.f32(s)
		return a.out.run(s, a.x.floatsOf(a.y), rows)
	}, nil
}

func (a *attention) bindState(b *Bind) error {
	if b.Ins.State == plan.NoState {
		return a.bindFlat(b)
	}
	if a.p.Causal == 0 {
		return plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "attention in both directions cannot have a cache: its keys would come too late for the first tokens")
	}
	if err := b.oneBlock(false); err != nil {
		return err
	}
	a.pageTokens = int(a.x.states[a.state].PageTokens)
	return a.bindCache(b)
}

// bindCache finds the keys and values of the layer in a page of pageTokens positions.
func (a *attention) bindCache(b *Bind) (err error) {
	if a.elem, err = b.sectionType("k"); err != nil {
		return err
	}
	row, err := a.elem.RowBytes(a.dim)
	if err != nil {
		return fmt.Errorf("cache rows of one head: %w; choose another cache type", err)
	}
	a.headBytes = row * a.pageTokens
	if a.keyOff, err = b.section(a.p.Layer, "k", a.elem, a.kvHeads*a.headBytes); err != nil {
		return err
	}
	a.valueOff, err = b.section(a.p.Layer, "v", a.elem, a.kvHeads*a.headBytes)
	return err
}

func (a *attention) bindWeights(b *Bind) error {
	width := int(b.In[0].cols)
	qd, kd := a.heads*a.dim, a.kvHeads*a.dim
	a.qkv, a.out = b.linear(width), b.linear(qd)
	projected := qd
	if a.p.QGate != 0 {
		projected = 2 * qd
	}
	for _, w := range []struct {
		l          *linear
		slot, bias string
		rows       int
	}{{a.qkv, "q", "q_bias", projected}, {a.qkv, "k", "k_bias", kd}, {a.qkv, "v", "v_bias", kd}, {a.out, "o", "o_bias", int(b.Out[0].cols)}} {
		if err := b.add(w.l, w.slot, w.bias, w.rows); err != nil {
			return err
		}
	}
	var err error
	if a.p.QKNormKind > plan.QKNormLayer {
		return plan.Errorf(plan.ErrUnsupportedOpcode, plan.Whole, "norm of queries and keys of kind %d is not supported on the CPU yet", a.p.QKNormKind)
	}
	if a.p.QKNormKind != plan.QKNormNone {
		nq, nk := a.dim, a.dim
		if a.p.QKNormKind >= plan.QKNormWhole {
			nq, nk = qd, kd
		}
		if a.qNorm, err = b.vector("q_norm", nq); err != nil {
			return err
		}
		if a.kNorm, err = b.vector("k_norm", nk); err != nil {
			return err
		}
		switch layer := a.p.QKNormKind == plan.QKNormLayer; { // the others have a form without weights
		case layer && a.qNorm == nil:
			return b.WeightErrorf("q_norm", "absent")
		case layer && a.kNorm == nil:
			return b.WeightErrorf("k_norm", "absent")
		}
	}
	if a.slopes, err = b.vector("slopes", a.heads); err != nil {
		return err
	}
	if a.sinks, err = b.vector("sinks", a.heads); err != nil {
		return err
	}
	a.rope, err = b.rope(a.p)
	return err
}

// storeRows normalizes, rotates and scales the queries of rows lo to hi, and
// writes their keys and values to the cache.
func (a *attention) storeRows(s *Step, _, lo, hi int) {
	q, k, v := a.x.floatsOf(a.q), a.x.floatsOf(a.k), a.x.floatsOf(a.v)
	for r := lo; r < hi; r++ {
		run := a.runOf(s, r)
		pos := run.Pos + r - run.First
		qr := q[r*a.heads*a.dim : (r+1)*a.heads*a.dim]
		if a.p.QGate != 0 {
			a.part(qr, r)
		}
		if c := a.p.Clip; c != 0 {
			for _, x := range [...][]float32{qr, k[r*a.kvHeads*a.dim : (r+1)*a.kvHeads*a.dim], v[r*a.kvHeads*a.dim : (r+1)*a.kvHeads*a.dim]} {
				kernel.Clip(x, c)
			}
		}
		a.turn(qr, a.qNorm, r)
		if a.p.TempBeta != 0 {
			kernel.Scale(qr, a.temperature(pos))
		}
		kr := k[r*a.kvHeads*a.dim : (r+1)*a.kvHeads*a.dim]
		vr := v[r*a.kvHeads*a.dim : (r+1)*a.kvHeads*a.dim]
		a.turn(kr, a.kNorm, r)
		for h := range a.kvHeads {
			keys, values := a.rows(run, h)
			keys.StoreKey(pos, kr[h*a.dim:])
			values.StoreValue(pos, vr[h*a.dim:])
		}
	}
}

// part copies the queries of row r out of the projection, and makes factors of the
// gates beside them.
func (a *attention) part(q []float32, r int) {
	all := a.x.floatsOf(a.gated)[2*len(q)*r:]
	for h := 0; h < len(q); h += a.dim {
		head := all[2*h : 2*(h+a.dim)]
		copy(q[h:h+a.dim], head)
		kernel.Sigmoid(head[a.dim:], head[a.dim:])
	}
}

// runOf returns the rows among which row r attends.
func (a *attention) runOf(s *Step, r int) *Run {
	if a.p.Windows != 0 {
		return &s.windows[s.rowWindow[r]]
	}
	return &s.Runs[s.rowRun[r]]
}

// turn applies the norm and the rotation of row r to every head in x.
func (a *attention) turn(x, norm []float32, r int) {
	if a.p.QKNormKind == plan.QKNormWhole {
		kernel.RMSNorm(x, x, norm, a.p.QKNormEps, a.p.QKNormOff)
	}
	for h := 0; h < len(x); h += a.dim {
		head := x[h : h+a.dim]
		switch a.p.QKNormKind {
		case plan.QKNormHead:
			kernel.RMSNorm(head, head, norm, a.p.QKNormEps, a.p.QKNormOff)
		case plan.QKNormLayer:
			kernel.LayerNorm(head, head, norm[h:h+a.dim], nil, a.p.QKNormEps)
		}
		if a.rope != nil {
			n := len(a.rope.inv)
			kernel.Rope(head, a.rope.cos[r*n:(r+1)*n], a.rope.sin[r*n:(r+1)*n], a.p.RopeStyle == plan.RopeInterleaved)
		}
		if a.p.QKNormKind == plan.QKNormAfter {
			kernel.RMSNorm(head, head, norm, a.p.QKNormEps, a.p.QKNormOff)
		}
	}
}

// temperature returns the factor on queries at a position (ministral 3).
func (a *attention) temperature(pos int) float32 {
	steps := math.Floor(float64(pos) / float64(a.p.TempOrigLen))
	return float32(1 + float64(a.p.TempBeta)*math.Log1p(steps))
}

// rows returns the cached keys and values of one key head. In every page all
// positions of the first head precede those of the second, so that a head is
// read sequentially.
func (a *attention) rows(run *Run, kv int) (keys, values kernel.Rows) {
	if a.latent != nil {
		return kernel.Rows{}, a.latent.rows(run)
	}
	if a.flat != nil {
		return a.flat.rows(run, kv)
	}
	r := kernel.Rows{
		DType: a.elem, Pages: run.Pages[a.state], Off: a.keyOff + kv*a.headBytes,
		PageRows: a.pageTokens, Dim: a.dim,
	}
	keys, values = r, r
	values.Off = a.valueOff + kv*a.headBytes
	return keys, values
}
