package nested

import (
	"math"

	"atenia/grad"
)

// layer combines attention and memory; see the package comment.
func (r *Runner[F]) layer(i int, x grad.Ref) grad.Ref {
	c, t := &r.model.cfg, r.tape
	u := x
	if c.Norm {
		u = r.norm(x)
	}
	tr := &r.trace.Layers[i]
	tr.Gate, tr.Schedule = 0, 0
	clear(tr.Masks)
	var z grad.Ref
	switch c.Composition {
	case MAG:
		tr.Attention = r.attention(i, u, 0)
		z = r.gated(i, tr.Attention, r.memory(i, u))
	case MAC:
		tr.Attention = r.attention(i, u, r.recall(i, u))
		z = r.gated(i, tr.Attention, r.memory(i, tr.Attention))
	case MAL:
		m := r.memory(i, u)
		if c.Residual {
			m = t.Add(u, m)
		}
		if c.Norm {
			m = r.norm(m)
		}
		tr.Attention = r.attention(i, m, 0)
		z = tr.Attention
	}
	p := t.MatMulT(z, r.param(r.model.plan.layers[i].o))
	if c.Residual {
		p = t.Add(x, p)
	}
	return p
}

// gated returns a ⊙ σ(m), of normalized branches if so configured.
func (r *Runner[F]) gated(i int, a, m grad.Ref) grad.Ref {
	if r.model.cfg.Norm {
		a, m = r.norm(a), r.norm(m)
	}
	gate := r.tape.Sigmoid(m)
	r.trace.Layers[i].Gate = gate
	return r.tape.Mul(a, gate)
}

// memory returns the combined output of all levels for the rows of u, where
// active levels write them first: c_k Σ y_l with c_k = 1/√k for more than two
// levels.
func (r *Runner[F]) memory(i int, u grad.Ref) grad.Ref {
	learned, keys := r.schedule(i, u), r.keys(i, u)
	return r.combine(func(level int) grad.Ref {
		var y grad.Ref
		switch tr := &r.trace.Layers[i]; {
		case learned && level > 0:
			y = r.masked(i, level, u, keys)
		case learned || r.pulse.Active(level):
			tr.Active[level] = true
			y = r.active(i, level, u, keys, true)
		default:
			tr.Active[level] = false
			y = r.frozen(i, level, u)
		}
		r.trace.Layers[i].Levels[level] = y
		return y
	})
}

// recall returns the combined output of all levels for the rows of u, from the
// memory before the chunk.
func (r *Runner[F]) recall(i int, u grad.Ref) grad.Ref {
	return r.combine(func(level int) grad.Ref { return r.frozen(i, level, u) })
}

func (r *Runner[F]) combine(answer func(level int) grad.Ref) grad.Ref {
	k := len(r.model.cfg.Periods)
	sum := answer(0)
	for l := 1; l < k; l++ {
		sum = r.tape.Add(sum, answer(l))
	}
	if k > 2 {
		sum = r.tape.Scale(sum, F(1/math.Sqrt(float64(k))))
	}
	return sum
}

// schedule records the logits of a learned schedule and reports whether it is
// in effect in this step: f = W_freq·pool(u) + b_freq.
func (r *Runner[F]) schedule(i int, u grad.Ref) bool {
	c, t := &r.model.cfg, r.tape
	if !c.Learned || r.pulse.Step() < c.Anneal {
		return false
	}
	var pooled grad.Ref
	if c.Pool == PoolFirst {
		pooled = t.Slice(u, 0, 1, c.Width)
	} else {
		r.ones = fill(r.ones, r.tokens, F(1/float64(r.tokens)))
		pooled = t.MatMul(t.Const(r.ones, 1, r.tokens), u)
	}
	s := &r.model.plan.layers[i]
	r.trace.Layers[i].Schedule = t.AddRow(t.MatMulT(pooled, r.param(s.freqW)), r.param(s.freqB))
	return true
}

// masked returns the output of a level whose activity is learned:
//
//	y = mask·active + (1 − mask)·frozen,   mask = [f > 0]
//
// Both outputs are computed. The mask is 0 or 1, and its gradient is that of
// the relaxed model in which it is the logit itself (a straight-through
// estimate, arXiv 1308.3432), so it learns from both outputs.
func (r *Runner[F]) masked(i, level int, u, keys grad.Ref) grad.Ref {
	t, tr := r.tape, &r.trace.Layers[i]
	mask := t.StraightThrough(t.Slice(tr.Schedule, level, 1), 0)
	on := len(t.Value(mask)) == 1 && t.Value(mask)[0] == 1
	tr.Masks[level], tr.Active[level] = mask, on
	active := r.active(i, level, u, keys, on)
	frozen := r.frozen(i, level, u)
	return t.Add(t.ScaleBy(active, mask), t.Sub(frozen, t.ScaleBy(frozen, mask)))
}

func fill[F Float](v []F, n int, x F) []F {
	if cap(v) < n {
		v = make([]F, n)
	}
	v = v[:n]
	for i := range v {
		v[i] = x
	}
	return v
}
