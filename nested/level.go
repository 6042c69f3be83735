package nested

import (
	"errors"

	"atenia/grad"
)

// ErrInput is what errors about the tokens or the context of a pass match.
var ErrInput = errors.New("cannot compute this chunk")

// A levelAux is what the backward functions of a level's block need besides
// buffers.
type levelAux[F Float] struct {
	runner *Runner[F]
	state  []F // before the chunk; nobody changes it before the tape is done
}

func (r *Runner[F]) aux(layer, level int) *levelAux[F] {
	a := &r.levels[layer*len(r.model.cfg.Periods)+level]
	a.state = r.ctx.State(layer, level)
	return a
}

// active puts a block that writes and reads on the tape. With keep, what it
// wrote becomes the level's next state.
func (r *Runner[F]) active(layer, level int, u grad.Ref, keep bool) grad.Ref {
	t, b := r.tape, r.block
	at, n := r.model.levelRange(layer, level)
	p := r.borrow(at, n, n)
	y := t.Alloc(r.tokens, r.model.cfg.Width)
	r.saved, r.parts = r.saved[:0], r.parts[:0]
	if t.Recording() {
		for _, n := range b.CacheLens(r.tokens) {
			r.saved = append(r.saved, t.AllocSaved(n))
		}
		for _, s := range r.saved {
			r.parts = append(r.parts, t.Data(s))
		}
	}
	if t.Err() != nil {
		return 0
	}
	a := r.aux(layer, level)
	i := layer*len(r.model.cfg.Periods) + level
	cache := r.parts
	if !t.Recording() {
		cache = nil
	}
	b.Forward(t.Work(), t.Value(u), t.Value(p), a.state, t.Data(y), r.ctx.nextStates[i], cache)
	r.ctx.written[i] = keep
	in, out := [2]grad.Ref{u, p}, [1]grad.Ref{y}
	if t.Opaque(activeKey(b.Rule), in[:], out[:], r.saved, a) != nil {
		return 0
	}
	return y
}

// activeBack is the adjoint of active. The state before the chunk is a
// constant: gradients end at the chunk's boundary.
func activeBack[F Float](b *grad.OpaqueBack[F]) {
	a := b.Aux.(*levelAux[F])
	r := a.runner
	r.parts = r.parts[:0]
	for i := range r.block.CacheLens(len(b.In(0)) / r.block.D) {
		r.parts = append(r.parts, b.Saved(i))
	}
	r.block.Backward(b.Work(), b.In(0), b.In(1), a.state, r.parts, b.DOut(0), nil, b.DIn(0), b.DIn(1), nil)
}

// frozen puts a read on the tape: the queries are those of an active level,
// the state stays as it is.
func (r *Runner[F]) frozen(layer, level int, u grad.Ref) grad.Ref {
	t, b := r.tape, r.block
	q := t.MatMulT(u, r.borrow(r.model.plan.layers[layer].queries[level], b.DK*b.D, b.DK, b.D))
	if !b.Config.RawQK {
		q = t.SphereProject(q)
	}
	y := t.Alloc(r.tokens, r.model.cfg.Width)
	if t.Err() != nil {
		return 0
	}
	a := r.aux(layer, level)
	b.Read(t.Work(), a.state, t.Value(q), t.Data(y))
	in, out := [1]grad.Ref{q}, [1]grad.Ref{y}
	if t.Opaque(frozenKey(b.Rule), in[:], out[:], nil, a) != nil {
		return 0
	}
	return y
}

// frozenBack is the adjoint of frozen: only the queries have one.
func frozenBack[F Float](b *grad.OpaqueBack[F]) {
	a := b.Aux.(*levelAux[F])
	dq := b.DIn(0)
	if dq == nil {
		return
	}
	r := a.runner
	r.dq = grow(r.dq, len(dq))
	r.block.ReadBack(b.Work(), a.state, b.In(0), b.DOut(0), r.dq)
	for i, d := range r.dq {
		dq[i] += d
	}
}

func grow[F Float](v []F, n int) []F {
	if cap(v) < n {
		v = make([]F, n)
	}
	return v[:n]
}
