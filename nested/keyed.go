package nested

import (
	"atenia/grad"
	"atenia/nested/rule"
)

// coreKey names a rule's recurrence on a tape, without projections and gates.
const coreKey grad.Key = "nested.core"

// A coreScratch is scratch memory of keyed and its adjoint.
type coreScratch[F Float] struct {
	tokens, back rule.Tokens[F]
	refs, saved  []grad.Ref
	lens         []int
	parts        [][]F
	cache, grads []F
}

// keyed is [rule.Block.Record] with keys computed from separate rows. What the
// block computes before the recurrence is recorded with the tape's own
// operations:
//
//	keys ─W_K─▶ k̂ ┐      u ─W_V─▶ v   u ─W_Q─▶ q̂   u·w_g + b_g ─σ─▶ gates
//	              └──────┴────────────┴────────────┴──▶ recurrence ─▶ y, state
func (r *Runner[F]) keyed(layer, level int, u, keys, s0 grad.Ref) (y, sT grad.Ref, err error) {
	t, b, c := r.tape, r.block, &r.core
	base, _ := r.model.levelRange(layer, level)
	project := func(rows grad.Ref, i int) grad.Ref {
		a := &b.Params[i]
		return t.MatMulT(rows, r.borrow(base+a.At, a.Len(), a.Shape...))
	}
	k, v, q := project(keys, 0), project(u, 1), project(u, 2)
	if !b.Config.RawQK {
		k, q = t.SphereProject(k), t.SphereProject(q)
	}
	c.refs = append(c.refs[:0], k, v, q)
	next := 3
	if b.Code > 0 {
		c.refs = append(c.refs, project(u, 3))
		next = 4
	}
	for i, g := range b.Gates {
		w, bias := &b.Params[next+2*i], &b.Params[next+2*i+1]
		pre := t.AddRow(t.MatMulT(u, r.borrow(base+w.At, b.D, 1, b.D)), r.borrow(base+bias.At, 1, 1))
		if g == rule.Theta {
			pre = t.Softplus(pre)
		} else {
			pre = t.Sigmoid(pre)
		}
		c.refs = append(c.refs, pre)
	}
	y, sT = t.Alloc(r.tokens, b.D), t.Alloc(b.StateLen)
	c.lens = b.Core.CacheLens(c.lens[:0], r.tokens, t.Recording())
	c.saved, c.parts = append(c.saved[:0], s0), c.parts[:0]
	for _, n := range c.lens {
		c.saved = append(c.saved, t.AllocSaved(n))
	}
	if t.Err() != nil {
		return 0, 0, t.Err()
	}
	if t.Recording() {
		for _, s := range c.saved[1:] {
			c.parts = append(c.parts, t.Data(s))
		}
	} else {
		c.cut()
	}
	c.fill(&c.tokens, b.Layout, r.tokens, func(i int) []F { return t.Value(c.refs[i]) })
	b.Core.Forward(t.Work(), &c.tokens, t.Value(s0), t.Data(sT), t.Data(y), c.parts)
	for i, x := range t.Data(sT) {
		if x < tiny && x > -tiny {
			t.Data(sT)[i] = 0
		}
	}
	out := [2]grad.Ref{y, sT}
	return y, sT, t.Opaque(coreKey, c.refs, out[:], c.saved, r)
}

// tiny is the magnitude below which a state is flushed to zero, as in package
// rule: denormals are slow.
const tiny = 1e-30

// cut divides scratch memory into c.parts.
func (c *coreScratch[F]) cut() {
	n := 0
	for _, l := range c.lens {
		n += l
	}
	c.cache = grow(c.cache, n)
	for at, i := 0, 0; i < len(c.lens); i++ {
		c.parts = append(c.parts, c.cache[at:at+c.lens[i]:at+c.lens[i]])
		at += c.lens[i]
	}
}

// fill assembles tokens from buffers in the order of the operation's inputs.
func (c *coreScratch[F]) fill(dst *rule.Tokens[F], l *rule.Layout, tokens int, buffer func(i int) []F) {
	*dst = rule.Tokens[F]{T: tokens, K: buffer(0), V: buffer(1), Q: buffer(2)}
	next := 3
	if l.Code > 0 {
		dst.Code = buffer(3)
		next = 4
	}
	for i, g := range l.Gates {
		dst.Gate[g] = buffer(next + i)
	}
}

// coreBack is the adjoint of the recurrence.
func coreBack[F Float](o *grad.OpaqueBack[F]) {
	r := o.Aux.(*Runner[F])
	b, c := r.block, &r.core
	inputs := 3 + len(b.Gates)
	if b.Code > 0 {
		inputs++
	}
	c.parts = c.parts[:0]
	tokens, size := len(o.In(1))/b.D, 0
	c.lens = b.Core.CacheLens(c.lens[:0], tokens, true)
	for i := range c.lens {
		c.parts = append(c.parts, o.Saved(1+i))
	}
	for i := range inputs {
		size += len(o.In(i))
	}
	c.grads = grow(c.grads, size)
	at := 0
	c.fill(&c.tokens, b.Layout, tokens, o.In)
	c.fill(&c.back, b.Layout, tokens, func(i int) []F {
		n := len(o.In(i))
		at += n
		return c.grads[at-n : at : at]
	})
	b.Core.Backward(o.Work(), &c.tokens, o.Saved(0), c.parts, o.DOut(0), nil, &c.back, nil)
	at = 0
	for i := range inputs {
		n := len(o.In(i))
		if d := o.DIn(i); d != nil {
			for j, v := range c.grads[at : at+n] {
				d[j] += v
			}
		}
		at += n
	}
}
