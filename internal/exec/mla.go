package exec

import (
	"fmt"

	"atenia/internal/kernel"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A latent is one bound latent attention in its absorbed form: the cache holds one
// vector c and one rotated key a position, for all heads; the projection of keys
// multiplies queries, that of values multiplies results.
//
//	x ─ q_a ─ norm ─ q_b ─┬─ nope ─ k_b ─▶ q̃ ┐
//	                      └─ rope ──────────▶ q│─ scores · c, k ─ Σ p·c ─ v_b ─ o ─▶
//	x ─ kv_a ─┬─ norm ─▶ c ┐ cache             │
//	          └─ rope ─▶ k ┘ ──────────────────┘
//
// Prefill and decode compute a row in the same order of additions, and there is no
// other form: docs/decisions/0013-latent-form.md.
type latent struct {
	x                   *Executor
	a                   attention // scores and weighted sums
	p                   *plan.MLAParams
	heads, nope, rope   int
	rank, value, qRank  int
	qa, kva, qb, out    *linear
	kb, vb              *headed
	qaNorm, kvNorm      []float32
	low, kv, q, results scratch // [rows, qRank], [rows, rank+rope], [rows, heads·(nope+rope)], [rows, heads·value]
	elem                tensor.DType
	cOff, kOff          int
	pageTokens          int
	store               Kernel
	lowNorm             Kernel
}

// headsTogether is how many heads at most are scored together; others are further
// units of work.
const headsTogether = 16

// bindMLA binds multi-head latent attention.
func bindMLA(b *Bind, p *plan.MLAParams) (Kernel, error) {
	if p.Absorb == 0 {
		return nil, plan.Errorf(plan.ErrUnsupportedOpcode, plan.Whole, "latent attention is absorbed on the CPU: its results would depend on the form")
	}
	l := &latent{x: b.x, p: p, heads: int(p.Heads), nope: int(p.Nope), rope: int(p.Rope), rank: int(p.KVRank), value: int(p.V), qRank: int(p.QRank)}
	if err := l.bindState(b); err != nil {
		return nil, err
	}
	if err := l.bindWeights(b); err != nil {
		return nil, err
	}
	if err := l.bindAttention(b); err != nil {
		return nil, err
	}
	maxRows := b.maxRows
	l.kv, l.q = b.floats(maxRows*(l.rank+l.rope)), b.floats(maxRows*l.heads*(l.nope+l.rope))
	l.results = b.floats(maxRows * l.heads * l.value)
	if l.qRank > 0 {
		l.low = b.floats(maxRows * l.qRank)
		l.qa.parts[0].stride = l.qRank
	}
	last := len(l.kva.parts) - 1
	l.kva.parts[last].stride, l.qb.parts[0].stride = l.rank+l.rope, l.heads*(l.nope+l.rope)
	l.out.parts[0].stride = int(b.Out[0].cols)
	l.kb.srcRow, l.kb.srcHead = l.heads*(l.nope+l.rope), l.nope+l.rope
	l.kb.dstRow, l.kb.dstHead = l.heads*(l.rank+l.rope), l.rank+l.rope
	l.vb.srcRow, l.vb.srcHead = l.heads*l.rank, l.rank
	l.vb.dstRow, l.vb.dstHead = l.heads*l.value, l.value
	in, out := b.In[0], b.Out[0]
	l.lowNorm = overRows(in, 4*l.qRank, l.normRows)
	l.store = overRows(in, 8*(l.rank+l.heads*(l.rope+l.nope)), l.storeRows)
	return func(s *Step) error { return l.run(s, in, out) }, nil
}

func (l *latent) bindState(b *Bind) error {
	if err := b.oneBlock(false); err != nil {
		return err
	}
	l.pageTokens = int(b.x.states[b.Ins.State].PageTokens)
	var err error
	if l.elem, err = b.sectionType("ckv"); err != nil {
		return err
	}
	for _, w := range []struct {
		to   *int
		name string
		cols int
	}{{&l.cOff, "ckv", l.rank}, {&l.kOff, "kpe", l.rope}} {
		row, err := l.elem.RowBytes(w.cols)
		if err != nil {
			return fmt.Errorf("cache rows: %w; choose another cache type", err)
		}
		if *w.to, err = b.section(l.p.Layer, w.name, l.elem, row*l.pageTokens); err != nil {
			return err
		}
	}
	return nil
}

func (l *latent) bindWeights(b *Bind) error {
	width, queries := int(b.In[0].cols), l.heads*(l.nope+l.rope)
	l.kva, l.out = b.linear(width), b.linear(l.heads*l.value)
	var err error
	if l.qRank > 0 {
		l.qa = l.kva // both read the input
		if err = b.add(l.qa, "q_a", "q_a_bias", l.qRank); err != nil {
			return err
		}
		l.qb = b.linear(l.qRank)
		if l.qaNorm, err = b.vector("q_a_norm", l.qRank); err != nil {
			return err
		}
	} else {
		l.qb = b.linear(width)
	}
	if err = b.add(l.kva, "kv_a", "kv_a_bias", l.rank+l.rope); err != nil {
		return err
	}
	if l.kvNorm, err = b.vector("kv_a_norm", l.rank); err != nil {
		return err
	}
	if err = b.add(l.qb, "q_b", "", queries); err != nil {
		return err
	}
	if l.kb, err = b.headed("k_b", l.heads, l.nope, l.rank); err != nil {
		return err
	}
	if l.vb, err = b.headed("v_b", l.heads, l.rank, l.value); err != nil {
		return err
	}
	return b.add(l.out, "o", "o_bias", int(b.Out[0].cols))
}

// bindAttention describes the scores: all heads read the same keys, in units of
// some heads.
func (l *latent) bindAttention(b *Bind) error {
	together := min(l.heads, headsTogether)
	for l.heads%together != 0 {
		together--
	}
	p := l.p
	l.a = attention{
		x: b.x, heads: l.heads, kvHeads: l.heads / together, group: together, dim: l.rank + l.rope, width: l.rank, latent: l,
		state: int(b.Ins.State),
		p: &plan.AttentionParams{
			Causal: 1, Scale: p.Scale, RopeDim: p.Rope, RopeStyle: p.RopeStyle, RopeKind: p.RopeKind, RopeLimit: p.RopeLimit,
			RopeBase: p.RopeBase, RopeFactor: p.RopeFactor, RopeScale: p.RopeScale,
		},
	}
	var err error
	if l.a.rope, err = b.rope(l.a.p); err != nil {
		return err
	}
	l.a.q, l.a.y = b.floats(b.maxRows*l.heads*l.a.dim), b.floats(b.maxRows*l.heads*l.rank)
	l.a.attend.bind(&l.a, b)
	return nil
}

func (l *latent) run(s *Step, in, out *register) error {
	x, rows := l.x, in.count(s)
	if rows == 0 {
		return nil
	}
	if l.qRank > 0 {
		l.qa.parts[0].dst = x.floatsOf(l.low)
	}
	l.kva.parts[len(l.kva.parts)-1].dst = x.floatsOf(l.kv)
	l.qb.parts[0].dst = x.floatsOf(l.q)
	if err := l.kva.run(s, in.f32(s), rows); err != nil {
		return err
	}
	low := in.f32(s)
	if l.qRank > 0 {
		if err := l.lowNorm(s); err != nil {
			return err
		}
		low = x.floatsOf(l.low)
	}
	if err := l.qb.run(s, low, rows); err != nil {
		return err
	}
	if err := l.store(s); err != nil {
		return err
	}
	if err := l.kb.run(s, x.floatsOf(l.q), x.floatsOf(l.a.q), rows); err != nil {
		return err
	}
	l.a.attend.run(s)
	if err := l.vb.run(s, x.floatsOf(l.a.y), x.floatsOf(l.results), rows); err != nil {
		return err
	}
	l.out.parts[0].dst = out.f32(s)
	return l.out.run(s, x.floatsOf(l.results), rows)
}

func (l *latent) normRows(_ *Step, _, lo, hi int) {
	low := l.x.floatsOf(l.low)
	for r := lo; r < hi; r++ {
		row := low[r*l.qRank : (r+1)*l.qRank]
		kernel.RMSNorm(row, row, l.qaNorm, l.p.NormEps, 0)
	}
}

// storeRows writes the vectors and keys of rows lo to hi to the cache, and their
// rotated queries beside the projected ones.
func (l *latent) storeRows(s *Step, _, lo, hi int) {
	kv, q, to := l.x.floatsOf(l.kv), l.x.floatsOf(l.q), l.x.floatsOf(l.a.q)
	for r := lo; r < hi; r++ {
		run := &s.Runs[s.rowRun[r]]
		pos := run.Pos + r - run.First
		row := kv[r*(l.rank+l.rope) : (r+1)*(l.rank+l.rope)]
		c, k := row[:l.rank], row[l.rank:]
		kernel.RMSNorm(c, c, l.kvNorm, l.p.NormEps, 0)
		l.turn(k, r)
		vectors, keys := l.rows(run), l.keys(run)
		vectors.StoreValue(pos, c)
		keys.StoreValue(pos, k)
		for h := range l.heads {
			at := (r*l.heads+h)*(l.nope+l.rope) + l.nope
			pe := to[(r*l.heads+h)*l.a.dim+l.rank:][:l.rope]
			copy(pe, q[at:at+l.rope])
			l.turn(pe, r)
		}
	}
}

// turn rotates a key or the rotated part of a query of row r.
func (l *latent) turn(x []float32, r int) {
	if t := l.a.rope; t != nil {
		n := len(t.inv)
		kernel.Rope(x, t.cos[r*n:(r+1)*n], t.sin[r*n:(r+1)*n], l.p.RopeStyle == plan.RopeInterleaved)
	}
}

// rows returns the cached vectors of a run.
func (l *latent) rows(run *Run) kernel.Rows {
	return kernel.Rows{DType: l.elem, Pages: run.Pages[l.a.state], Off: l.cOff, PageRows: l.pageTokens, Dim: l.rank}
}

// keys returns the cached rotated keys of a run.
func (l *latent) keys(run *Run) kernel.Rows {
	return kernel.Rows{DType: l.elem, Pages: run.Pages[l.a.state], Off: l.kOff, PageRows: l.pageTokens, Dim: l.rope}
}

// scores scores n queries from query at with the positions [lo, hi) of one span:
// the rows of a page are a matrix.
func (l *latent) scores(w *attendWork, at, n int, run *Run, lo, hi int) {
	const span = kernel.AttentionSpan
	dst, more := w.scores[at*span:(at+n)*span], w.more[at*span:(at+n)*span]
	q := w.q[at*l.a.dim : (at+n)*l.a.dim]
	product := func(dst, q []float32, rows kernel.Rows) {
		size, _ := l.elem.RowBytes(rows.Dim)
		for pos := lo; pos < hi; {
			first := pos % l.pageTokens
			m := min(hi-pos, l.pageTokens-first)
			at := rows.Off + first*size
			page := kernel.Matrix{DType: l.elem, Rows: m, Cols: rows.Dim, Data: rows.Pages[pos/l.pageTokens][at : at+m*size]}
			kernel.MatMul(dst[pos%span:], span, &page, 0, m, q, l.a.dim, n)
			pos += m
		}
	}
	product(dst, q, l.rows(run))
	product(more, q[l.rank:], l.keys(run))
	from, to := lo%span, lo%span+hi-lo
	for i := range n {
		line := dst[i*span+from : i*span+to]
		kernel.Add(line, line, more[i*span+from:i*span+to], 1)
		kernel.Scale(line, l.p.Scale)
	}
}
