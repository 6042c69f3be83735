// Causal attention over documents that follow each other.

package dense

import "math"

// Heads says how queries attend. Query head h reads key head h·KV/Q. A query
// at position i of its document sees positions j ≤ i, of these, with a window,
// the last Window, its own included.
type Heads[F Float] struct {
	Q, KV    int // heads of queries, and of keys and values
	Dim      int // of a query and a key
	ValueDim int // of a value; 0 means Dim
	Window   int // 0 means all positions
	Scale    F   // of scores, often 1/√Dim
	Softcap  F   // scores are Softcap·tanh(score/Softcap); 0 means as they are
}

func (h *Heads[F]) valueDim() int {
	if h.ValueDim == 0 {
		return h.Dim
	}
	return h.ValueDim
}

// attention is one call of Attention or AttentionBack: an index of its range
// is a document and a key head.
type attention[F Float] struct {
	Heads[F]
	vdim              int
	starts            []int // of documents, and the end
	dst, lse, q, k, v []F
	dq, dk, dv, dy    []F
	back              bool
	longest           int
	scratch           []F // of all threads
	each              int // of one
}

// Attention writes softmax(scale·q·kᵀ)·v for every query head:
//
//	q [rows, Q·Dim]   k [rows, KV·Dim]   v [rows, KV·ValueDim]   dst [rows, Q·ValueDim]
//
// lens are the lengths of the documents, rows together. lse [rows, Q], unless
// nil, keeps the logarithms of the sums of e^score for the way back.
func (w *Work[F]) Attention(dst, lse, q, k, v []F, lens []int, h Heads[F]) {
	w.attend(attention[F]{Heads: h, dst: dst, lse: lse, q: q, k: k, v: v}, lens)
}

// AttentionBack adds the gradients of [Work.Attention], whose results are out
// and lse, to dq, dk and dv.
func (w *Work[F]) AttentionBack(dq, dk, dv, q, k, v, out, lse, dy []F, lens []int, h Heads[F]) {
	w.attend(attention[F]{Heads: h, dst: out, lse: lse, q: q, k: k, v: v, dq: dq, dk: dk, dv: dv, dy: dy, back: true}, lens)
}

func (w *Work[F]) attend(a attention[F], lens []int) {
	a.vdim = a.valueDim()
	a.starts = w.attention.starts[:0]
	at := 0
	for _, n := range lens {
		a.starts = append(a.starts, at)
		at += n
		a.longest = max(a.longest, n)
	}
	a.starts = append(a.starts, at)
	a.each = 2 * a.longest
	a.scratch = w.take(a.each * w.Threads())
	w.attention = a
	w.each(len(lens)*a.KV, 1, &w.attention)
	w.attention = attention[F]{starts: a.starts[:0]}
}

// Range does the documents' key heads [lo, hi).
func (a *attention[F]) Range(worker, lo, hi int) {
	scratch := a.scratch[worker*a.each:][:a.each]
	for i := lo; i < hi; i++ {
		doc, kv := i/a.KV, i%a.KV
		for h := kv * a.Q / a.KV; h < (kv+1)*a.Q/a.KV; h++ {
			for r := a.starts[doc]; r < a.starts[doc+1]; r++ {
				if a.back {
					a.queryBack(scratch, r, a.first(doc, r), h, kv)
				} else {
					a.query(scratch, r, a.first(doc, r), h, kv)
				}
			}
		}
	}
}

// first returns the first row that row r of a document sees.
func (a *attention[F]) first(doc, r int) int {
	if a.Window > 0 {
		return max(a.starts[doc], r-a.Window+1)
	}
	return a.starts[doc]
}

func (a *attention[F]) keyRow(j, kv int) []F   { return a.k[(j*a.KV+kv)*a.Dim:][:a.Dim] }
func (a *attention[F]) valueRow(j, kv int) []F { return a.v[(j*a.KV+kv)*a.vdim:][:a.vdim] }

// scores writes what query r of head h thinks of rows from first on.
func (a *attention[F]) scores(s []F, r, first, h, kv int) {
	q := a.q[(r*a.Q+h)*a.Dim:][:a.Dim]
	for i := range s {
		s[i] = Dot(q, a.keyRow(first+i, kv)) * a.Scale
	}
	if a.Softcap > 0 {
		Softcap(s, s, a.Softcap)
	}
}

func (a *attention[F]) query(scratch []F, r, first, h, kv int) {
	s := scratch[:r+1-first]
	a.scores(s, r, first, h, kv)
	top := s[0]
	for _, v := range s {
		top = max(top, v)
	}
	sum := float64(0)
	for _, v := range s {
		sum += math.Exp(float64(v - top))
	}
	lse := F(float64(top) + math.Log(sum))
	if a.lse != nil {
		a.lse[r*a.Q+h] = lse
	}
	out := a.dst[(r*a.Q+h)*a.vdim:][:a.vdim]
	clear(out)
	for i, v := range s {
		Axpy(out, F(math.Exp(float64(v-lse))), a.valueRow(first+i, kv))
	}
}

func (a *attention[F]) queryBack(scratch []F, r, first, h, kv int) {
	s := scratch[:r+1-first]
	a.scores(s, r, first, h, kv)
	lse := a.lse[r*a.Q+h]
	at := r*a.Q + h
	dy := a.dy[at*a.vdim:][:a.vdim]
	dot := Dot(dy, a.dst[at*a.vdim:][:a.vdim])
	q, dq := a.q[at*a.Dim:][:a.Dim], a.dq[at*a.Dim:][:a.Dim]
	for i, v := range s {
		j := first + i
		p := F(math.Exp(float64(v - lse)))
		Axpy(a.dv[(j*a.KV+kv)*a.vdim:][:a.vdim], p, dy)
		d := p * (Dot(dy, a.valueRow(j, kv)) - dot) * a.Scale
		if a.Softcap > 0 {
			t := v / a.Softcap
			d *= 1 - F(t*t)
		}
		Axpy(dq, d, a.keyRow(j, kv))
		Axpy(a.dk[(j*a.KV+kv)*a.Dim:][:a.Dim], d, q)
	}
}
