package nested

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// attentionKey names the attention operation on a tape.
const attentionKey grad.Key = "nested.attention"

// A window is the shape of causal attention over one chunk:
//
//	keys:  lead rows, seen by every query │ group rows of token 0 │ of token 1 │ …
//
// Query t attends to the lead rows and all rows of tokens max(0, t−window+1)…t.
// It never attends to other chunks; memory carries information between them.
type window struct {
	heads  int
	window int     // tokens, including the query's own
	group  int     // key rows per token: 1, or 2 when memory is read as context
	lead   int     // persistent rows in front
	rope   float64 // base of rotary positions (arXiv 2104.09864); 0 for none
	width  int     // of a row: heads times the width of a head
}

// visible returns the first token that query t attends to, and the number of
// rows.
func (w window) visible(t int) (lo, rows int) {
	lo = max(0, t-w.window+1)
	return lo, w.lead + w.group*(t-lo+1)
}

// row returns the index in the keys of the j-th visible row.
func (w window) row(lo, j int) int {
	if j < w.lead {
		return j
	}
	return j + w.group*lo
}

// columns returns the largest number of rows that any of T queries attends to.
func (w window) columns(T int) int { return w.lead + w.group*min(w.window, T) }

// attend computes out[t] = Σ_j p_tj v_j with p = softmax(q_t·k_j/√hd), one head
// at a time, and leaves the probabilities in prob [heads, T, columns]. Entries
// of prob for rows that a query does not attend to are 0.
func attend[F Float](w window, out, prob, q, k, v []F) {
	d, hd := w.width, w.width/w.heads
	T := len(q) / d
	cols := w.columns(T)
	scale := F(1 / math.Sqrt(float64(hd)))
	clear(out)
	for h := range w.heads {
		for t := range T {
			at := t*d + h*hd
			lo, n := w.visible(t)
			row := prob[(h*T+t)*cols:][:cols]
			p := row[:n]
			for j := range p {
				p[j] = dense.Dot(q[at:at+hd], k[w.row(lo, j)*d+h*hd:][:hd]) * scale
			}
			softmax(p)
			clear(row[n:])
			for j, pj := range p {
				dense.Axpy(out[at:at+hd], pj, v[w.row(lo, j)*d+h*hd:][:hd])
			}
		}
	}
}

// softmax replaces a row by its softmax.
func softmax[F Float](p []F) {
	top := p[0]
	for _, x := range p {
		top = max(top, x)
	}
	var sum F
	for i, x := range p {
		p[i] = F(math.Exp(float64(x - top)))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
}

// attendBack adds to dq, dk and dv, each of which may be nil, the gradients of
// the inputs for the gradient dout of the output. ds is scratch of columns.
func attendBack[F Float](w window, dq, dk, dv, dout, prob, q, k, v, ds []F) {
	d, hd := w.width, w.width/w.heads
	T := len(q) / d
	cols := w.columns(T)
	scale := F(1 / math.Sqrt(float64(hd)))
	for h := range w.heads {
		for t := range T {
			at := t*d + h*hd
			lo, n := w.visible(t)
			p, do := prob[(h*T+t)*cols:][:n], dout[at:at+hd]
			var dot F
			for j, pj := range p {
				kv := w.row(lo, j)*d + h*hd
				ds[j] = dense.Dot(v[kv:kv+hd], do)
				dot += pj * ds[j]
				if dv != nil {
					dense.Axpy(dv[kv:kv+hd], pj, do)
				}
			}
			for j, pj := range p {
				kv := w.row(lo, j)*d + h*hd
				s := pj * (ds[j] - dot) * scale
				if dq != nil {
					dense.Axpy(dq[at:at+hd], s, k[kv:kv+hd])
				}
				if dk != nil {
					dense.Axpy(dk[kv:kv+hd], s, q[at:at+hd])
				}
			}
		}
	}
}
