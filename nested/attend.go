package nested

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// An attentionAux is what the backward function of attention needs besides
// buffers: the shape, the rotation and scratch memory.
type attentionAux[F Float] struct {
	window
	rotation dense.Rotation[F]
	qpos     []int32
	kpos     []int32
	ds       []F // scratch: of columns
	dq, dk   []F // scratch: gradients of rotated rows
	prob     []F // scratch for probabilities
}

// attention records sliding-window attention over the rows of u. If recalled is
// not 0, a query that attends to row t of u also attends to row t of recalled.
func (r *Runner[F]) attention(layer int, u, recalled grad.Ref) grad.Ref {
	c, t, s := &r.model.cfg, r.tape, &r.model.plan.layers[layer]
	w := window{heads: c.Heads, window: c.Window, group: 1, lead: c.Persistent, rope: c.RopeBase, width: c.Width}
	wk, wv := r.param(s.k), r.param(s.v)
	q, k, v := t.MatMulT(u, r.param(s.q)), t.MatMulT(u, wk), t.MatMulT(u, wv)
	if recalled != 0 {
		// Concatenated in a row means interleaved by row in memory.
		w.group = 2
		k, v = t.Concat(1, t.MatMulT(recalled, wk), k), t.Concat(1, t.MatMulT(recalled, wv), v)
	}
	if w.lead > 0 {
		p, rows := r.param(s.persistent), w.group*r.tokens
		k = t.Concat(0, t.MatMulT(p, wk), t.Slice(k, 0, rows, c.Width))
		v = t.Concat(0, t.MatMulT(p, wv), t.Slice(v, 0, rows, c.Width))
	}
	return attentionOp(t, &r.attn, w, q, k, v)
}

// attentionOp records the opaque operation. All calls on one tape have the same
// window and number of tokens, so they share aux.
func attentionOp[F Float](t *grad.Tape[F], a *attentionAux[F], w window, q, k, v grad.Ref) grad.Ref {
	if t.Err() != nil {
		return 0
	}
	T := len(t.Value(q)) / w.width
	a.shape(w, T)
	y := t.Alloc(T, w.width)
	saved := [3]grad.Ref{t.AllocSaved(w.heads, T, w.columns(T))}
	prob := t.Data(saved[0])
	if prob == nil {
		a.prob = grow(a.prob, w.heads*T*w.columns(T))
		prob = a.prob
	}
	qv, kv := t.Value(q), t.Value(k)
	if w.rope > 0 {
		// Rotated rows outlive the call only if Backward follows; Alloc serves
		// both cases.
		rows := len(kv) / w.width
		saved[1], saved[2] = t.Alloc(T, w.width), t.Alloc(rows, w.width)
		dense.Of[F](t.Work()).Rope(t.Data(saved[1]), qv, T, w.heads, &a.rotation, a.qpos)
		dense.Of[F](t.Work()).Rope(t.Data(saved[2]), kv, rows, w.heads, &a.rotation, a.kpos)
		qv, kv = t.Data(saved[1]), t.Data(saved[2])
	}
	attend(w, t.Data(y), prob, qv, kv, t.Value(v))
	in, out := [3]grad.Ref{q, k, v}, [1]grad.Ref{y}
	if t.Opaque(attentionKey, in[:], out[:], saved[:], a) != nil {
		return 0
	}
	return y
}

// shape prepares aux for T tokens.
func (a *attentionAux[F]) shape(w window, T int) {
	if a.window == w && len(a.qpos) == T {
		return
	}
	a.window, a.ds = w, grow(a.ds, w.columns(T))
	a.qpos, a.kpos = a.qpos[:0], a.kpos[:0]
	for range w.lead {
		a.kpos = append(a.kpos, 0)
	}
	for t := range T {
		a.qpos = append(a.qpos, int32(t))
		for range w.group {
			a.kpos = append(a.kpos, int32(t))
		}
	}
	if w.rope > 0 {
		hd := w.width / w.heads
		a.rotation = dense.Rotation[F]{Dim: hd, Half: hd / 2, Cos: grow(a.rotation.Cos, T*hd/2), Sin: grow(a.rotation.Sin, T*hd/2)}
		for t := range T {
			for i := range hd / 2 {
				sin, cos := math.Sincos(float64(t) * math.Pow(w.rope, -2*float64(i)/float64(hd)))
				a.rotation.Sin[t*hd/2+i], a.rotation.Cos[t*hd/2+i] = F(sin), F(cos)
			}
		}
	}
}

// attentionBack is the adjoint of attentionOp; that of a rotation is the
// rotation by the opposite angle.
func attentionBack[F Float](b *grad.OpaqueBack[F]) {
	a := b.Aux.(*attentionAux[F])
	w := a.window
	q, k, dq, dk := b.In(0), b.In(1), b.DIn(0), b.DIn(1)
	if w.rope == 0 {
		attendBack(w, dq, dk, b.DIn(2), b.DOut(0), b.Saved(0), q, k, b.In(2), a.ds)
		return
	}
	a.dq, a.dk = grow(a.dq, len(q)), grow(a.dk, len(k))
	clear(a.dq)
	clear(a.dk)
	attendBack(w, a.dq, a.dk, b.DIn(2), b.DOut(0), b.Saved(0), b.Saved(1), b.Saved(2), b.In(2), a.ds)
	if dq != nil {
		dense.Of[F](b.Work()).RopeBack(dq, a.dq, len(q)/w.width, w.heads, &a.rotation, a.qpos)
	}
	if dk != nil {
		dense.Of[F](b.Work()).RopeBack(dk, a.dk, len(k)/w.width, w.heads, &a.rotation, a.kpos)
	}
}
