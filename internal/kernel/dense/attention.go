// Attention over a batch of consecutive documents.

package dense

import "math"

// Heads configures attention. Query head h reads key head h·KV/Q. A query at
// position i of its document attends to positions j ≤ i; with a window, to the
// last Window of these, including its own.
type Heads[F Float] struct {
	Q, KV    int // number of heads of queries, and of keys and values
	Dim      int // length of a query and a key
	ValueDim int // length of a value; 0 means Dim
	Window   int // 0 means all positions
	Scale    F   // of scores, often 1/√Dim
	Softcap  F   // scores become Softcap·tanh(score/Softcap); 0 means no cap
	Slopes   []F // [Q] what a score loses for each position between query and key, not with a Softcap; nil means nothing
	// See has the first position of its document that a row attends to, and the one
	// after the last, in place of what Window says; not with Slopes. [rows]
	See [][2]int32
	// KeyLens are the rows of keys and values of each document, if these are not of
	// its own rows: every query attends to all of them.
	KeyLens []int
}

func (h *Heads[F]) valueDim() int {
	if h.ValueDim == 0 {
		return h.Dim
	}
	return h.ValueDim
}

// queryRows is the number of queries of a head processed at a time, so that
// memory grows with the length of a document and not with its square; Backward
// recomputes probabilities.
const queryRows = 64

// attention is one call of Attention or AttentionBack. An index of its range is
// a document and a key head, so that gradients are never shared between
// threads.
type attention[F Float] struct {
	Heads[F]
	vdim              int
	starts            []int // offsets of documents, and the end
	keyStarts         []int // of their keys
	dst, lse, q, k, v []F
	dq, dk, dv, dy    []F
	back              bool
	desks             []desk[F] // one per thread
	panels            []panel
}

// A desk is the scratch memory of one thread: a block of queries with their
// scores for the keys of a document.
type desk[F Float] struct {
	q      []F // [64, Dim], scaled, and as much for their gradient
	s      []F // [64, stride] scores, then probabilities
	d      []F // [64, stride] gradients of them
	capped []F // [64, stride] scores after softcap
	keys   []float32
	values []float32
}

// Attention writes softmax(scale·q·kᵀ)·v for every query head:
//
//	q [rows, Q·Dim]   k [rows, KV·Dim]   v [rows, KV·ValueDim]   dst [rows, Q·ValueDim]
//
// lens are the lengths of the documents, which add up to rows. lse [rows, Q],
// unless nil, receives the logarithms of the sums of e^score, for
// AttentionBack.
func (w *Work[F]) Attention(dst, lse, q, k, v []F, lens []int, h Heads[F]) {
	w.attend(attention[F]{Heads: h, dst: dst, lse: lse, q: q, k: k, v: v}, lens)
}

// AttentionBack adds the gradients of [Work.Attention], whose results are out
// and lse, to dq, dk and dv.
func (w *Work[F]) AttentionBack(dq, dk, dv, q, k, v, out, lse, dy []F, lens []int, h Heads[F]) {
	w.attend(attention[F]{Heads: h, dst: out, lse: lse, q: q, k: k, v: v, dq: dq, dk: dk, dv: dv, dy: dy, back: true}, lens)
}

func (w *Work[F]) attend(a attention[F], lens []int) {
	a.vdim, a.panels = a.valueDim(), w.panels
	a.starts, a.keyStarts, a.desks = w.attention.starts[:0], w.attention.keyStarts[:0], w.attention.desks
	if a.desks == nil {
		a.desks = make([]desk[F], w.Threads())
	}
	keyLens := a.KeyLens
	if keyLens == nil {
		keyLens = lens
	}
	a.starts, _ = offsets(a.starts, lens)
	longest := 0
	a.keyStarts, longest = offsets(a.keyStarts, keyLens)
	level(w.panels)
	keys, values := 0, 0
	for i := range a.desks {
		keys, values = max(keys, len(a.desks[i].keys)), max(values, len(a.desks[i].values))
	}
	for i := range a.desks {
		a.desks[i].keys, a.desks[i].values = grow(a.desks[i].keys, keys), grow(a.desks[i].values, values)
		a.desks[i].lay(&a, longest)
	}
	w.attention = a
	w.each(len(lens)*a.KV, 1, &w.attention)
	w.attention = attention[F]{starts: a.starts, keyStarts: a.keyStarts, desks: a.desks}
}

// offsets appends where each document starts, and the end, and returns the
// longest.
func offsets(dst []int, lens []int) (starts []int, longest int) {
	at := 0
	for _, n := range lens {
		dst = append(dst, at)
		at += n
		longest = max(longest, n)
	}
	return append(dst, at), longest
}

// stride returns the distance between rows of n scores. It is not a power of
// two, which would map their columns to the same cache set.
func stride(n int) int { return (n+15)&^15 | 16 }

// lay allocates for documents of up to n rows.
func (d *desk[F]) lay(a *attention[F], n int) {
	if need := queryRows * 2 * a.Dim; len(d.q) < need {
		d.q = make([]F, need)
	}
	need := queryRows * stride(n)
	if len(d.s) < need {
		d.s = make([]F, need)
	}
	if a.back && len(d.d) < need {
		d.d = make([]F, need)
	}
	if a.back && a.Softcap > 0 && len(d.capped) < need {
		d.capped = make([]F, need)
	}
}

// Range computes the documents' key heads [lo, hi).
func (a *attention[F]) Range(worker, lo, hi int) {
	b := queries[F]{attention: a, desk: &a.desks[worker], panel: &a.panels[worker]}
	for i := lo; i < hi; i++ {
		doc := i / a.KV
		b.kv, b.first, b.rows = i%a.KV, a.starts[doc], a.starts[doc+1]-a.starts[doc]
		b.keyFirst, b.keys = a.keyStarts[doc], a.keyStarts[doc+1]-a.keyStarts[doc]
		b.pack()
		for h := b.kv * a.Q / a.KV; h < (b.kv+1)*a.Q/a.KV; h++ {
			for at := 0; at < b.rows; at += queryRows {
				b.head, b.at, b.n = h, at, min(queryRows, b.rows-at)
				b.bound()
				if a.back {
					b.backward()
				} else {
					b.forward()
				}
			}
		}
	}
}

// A queries is a block of queries of one head of one document.
type queries[F Float] struct {
	*attention[F]
	desk        *desk[F]
	panel       *panel
	first, rows int // of the document
	keyFirst    int // of its keys
	keys        int
	head, kv    int
	at, n       int // the queries, relative to the document's first
	lo, hi      int // the positions that any of them attends to
}

// bound finds the positions that the queries attend to.
func (b *queries[F]) bound() {
	b.lo, b.hi = 0, b.at+b.n
	switch {
	case b.KeyLens != nil:
		b.hi = b.keys
	case b.See != nil:
		b.lo, b.hi = b.keys, 0
		for _, r := range b.See[b.first+b.at:][:b.n] {
			b.lo, b.hi = min(b.lo, int(r[0])), max(b.hi, int(r[1]))
		}
	case b.Window > 0:
		b.lo = max(0, b.at-b.Window+1)
	}
	b.lo &^= tileCols - 1
}

// pack packs the operand that all queries of a document and a key head share.
func (b *queries[F]) pack() {
	if !single[F]() || b.Dim > chainCols || b.vdim > chainCols {
		return
	}
	b.desk.keys = packRight(b.desk.keys, singles(b.k[(b.keyFirst*b.KV+b.kv)*b.Dim:]), b.KV*b.Dim, b.keys, b.Dim)
	if b.back {
		b.desk.values = packRight(b.desk.values, singles(b.v[(b.keyFirst*b.KV+b.kv)*b.vdim:]), b.KV*b.vdim, b.keys, b.vdim)
	}
}

// ready returns the packed rows from lo on.
func (b *queries[F]) ready(packed []float32, dim int) []float32 {
	if !single[F]() || b.Dim > chainCols || b.vdim > chainCols {
		return nil
	}
	return packed[b.lo/tileCols*(dim+1)*tileCols:]
}

// query, value, result and key return where rows of this head start in arrays
// of all heads.
func (b *queries[F]) query(x []F) []F  { return x[((b.first+b.at)*b.Q+b.head)*b.Dim:] }
func (b *queries[F]) result(x []F) []F { return x[((b.first+b.at)*b.Q+b.head)*b.vdim:] }
func (b *queries[F]) key(x []F) []F    { return x[((b.keyFirst+b.lo)*b.KV+b.kv)*b.Dim:] }
func (b *queries[F]) value(x []F) []F  { return x[((b.keyFirst+b.lo)*b.KV+b.kv)*b.vdim:] }

// scores writes the scaled products of queries and keys, with softcap.
func (b *queries[F]) scores() (s []F, ld int) {
	ld = stride(b.hi - b.lo)
	q, from := b.desk.q[:b.n*b.Dim], b.query(b.q)
	for i := range b.n {
		scaled(q[i*b.Dim:][:b.Dim], from[i*b.Q*b.Dim:][:b.Dim], b.Scale)
	}
	s = b.desk.s[:b.n*ld]
	p := product[F]{dst: s, a: q, b: b.key(b.k), ldd: ld, lda: b.Dim, ldb: b.KV * b.Dim,
		m: b.n, k: b.Dim, n: b.hi - b.lo, bT: true, fresh: true}
	p.do(b.panel, b.ready(b.desk.keys, b.Dim))
	if b.Softcap > 0 {
		for i := range b.n {
			lo, hi := b.sees(i)
			row := s[i*ld:]
			Softcap(row[lo:hi], row[lo:hi], b.Softcap)
		}
	}
	if b.Slopes != nil {
		for i := range b.n {
			lo, hi := b.sees(i)
			for j := range s[i*ld+lo : i*ld+hi] {
				s[i*ld+lo+j] -= b.Slopes[b.head] * F(hi-1-lo-j)
			}
		}
	}
	return s, ld
}

// sees returns the range of columns of scores that query i attends to.
func (b *queries[F]) sees(i int) (lo, hi int) {
	switch {
	case b.KeyLens != nil:
		return 0, b.keys
	case b.See != nil:
		r := b.See[b.first+b.at+i]
		return int(r[0]) - b.lo, int(r[1]) - b.lo
	case b.Window > 0:
		lo = max(0, b.at+i-b.Window+1-b.lo)
	}
	return lo, b.at + i + 1 - b.lo
}

func (b *queries[F]) forward() {
	s, ld := b.scores()
	cols := b.hi - b.lo
	var sums [queryRows]F
	for i := range b.n {
		row := s[i*ld:][:ld]
		lo, hi := b.sees(i)
		top, sum := softmaxSpan(row, lo, hi)
		clear(row[:lo])
		clear(row[hi:cols])
		sums[i] = sum
		if b.lse != nil {
			b.lse[(b.first+b.at+i)*b.Q+b.head] = F(float64(top) + math.Log(float64(sum)))
		}
	}
	out := b.result(b.dst)
	p := product[F]{dst: out, a: s, b: b.value(b.v), ldd: b.Q * b.vdim, lda: ld, ldb: b.KV * b.vdim,
		m: b.n, k: cols, n: b.vdim, fresh: true}
	p.do(b.panel, nil)
	for i := range b.n {
		Scale(out[i*b.Q*b.vdim:][:b.vdim], 1/sums[i])
	}
}

func (b *queries[F]) backward() {
	s, ld := b.scores()
	cols := b.hi - b.lo
	if b.Softcap > 0 {
		copy(b.desk.capped, s)
	}
	d, dy, out := b.desk.d[:b.n*ld], b.result(b.dy), b.result(b.dst)
	p := product[F]{dst: d, a: dy, b: b.value(b.v), ldd: ld, lda: b.Q * b.vdim, ldb: b.KV * b.vdim,
		m: b.n, k: b.vdim, n: cols, bT: true, fresh: true}
	p.do(b.panel, b.ready(b.desk.values, b.vdim))
	for i := range b.n {
		lo, hi := b.sees(i)
		probs, grads := s[i*ld:][:ld], d[i*ld:][:ld]
		first, end := lo&^(tileCols-1), (hi+tileCols-1)&^(tileCols-1) // whole vectors
		exps(probs[first:end], b.lse[(b.first+b.at+i)*b.Q+b.head])
		for _, row := range [...][]F{probs, grads} {
			clear(row[:lo])
			clear(row[hi:max(cols, end)])
		}
		at := i * b.Q * b.vdim
		weigh(grads[first:end], probs[first:end], Dot(dy[at:at+b.vdim], out[at:at+b.vdim]))
		if b.Softcap > 0 {
			for j, v := range b.desk.capped[i*ld+lo : i*ld+hi] {
				t := v / b.Softcap
				grads[lo+j] *= 1 - F(t*t)
			}
		}
	}
	b.gradients(s, d, ld)
}

// gradients adds the gradients of queries, keys and values from those of
// scores.
func (b *queries[F]) gradients(probs, d []F, ld int) {
	cols := b.hi - b.lo
	q, dq := b.desk.q[:b.n*b.Dim], b.desk.q[queryRows*b.Dim:][:b.n*b.Dim]
	for _, p := range [...]product[F]{
		{dst: b.value(b.dv), a: probs, b: b.result(b.dy), ldd: b.KV * b.vdim, lda: ld, ldb: b.Q * b.vdim, m: cols, k: b.n, n: b.vdim, aT: true},
		{dst: b.key(b.dk), a: d, b: q, ldd: b.KV * b.Dim, lda: ld, ldb: b.Dim, m: cols, k: b.n, n: b.Dim, aT: true},
		{dst: dq, a: d, b: b.key(b.k), ldd: b.Dim, lda: ld, ldb: b.KV * b.Dim, m: b.n, k: cols, n: b.Dim, fresh: true},
	} {
		p.do(b.panel, nil)
	}
	to := b.query(b.dq)
	for i := range b.n {
		Axpy(to[i*b.Q*b.Dim:][:b.Dim], b.Scale, dq[i*b.Dim:][:b.Dim])
	}
}
