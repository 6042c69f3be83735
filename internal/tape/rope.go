package tape

import (
	"math"
	"slices"

	"atenia/internal/kernel/dense"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
)

// A ropes holds rotations for attention layers with equal rotations. If
// frequencies depend on a document's length there is a line of angles for every
// row, else one for every position.
type ropes[F Float] struct {
	p         plan.AttentionParams
	inv, long []F // inverse frequencies [half]
	scale     F
	byRow     bool
	axes      []uint8 // coordinate that turns each pair; nil = the position
	have      int     // positions computed so far
	rows      []int32
	cos, sin  []F // [positions or rows, half]
	back      []F // −sin
}

// rope returns the rotations of an attention, nil for none.
func (b *Bind[F]) rope(p *plan.AttentionParams) (*ropes[F], error) {
	if p.RopeStyle == plan.RopeNone || p.RopeDim == 0 {
		return nil, nil
	}
	half := int(p.RopeDim) / 2
	axes, err := p.RopeAxes()
	if err != nil {
		return nil, err
	}
	inv, _, err := b.Weight("inv_freq")
	if err != nil {
		return nil, err
	}
	long, _, err := b.Weight("inv_freq_long")
	if err != nil {
		return nil, err
	}
	if inv == nil || len(inv.fixed) != half || p.RopeKind == plan.RopeLong && (long == nil || len(long.fixed) != half) {
		return nil, b.WeightErrorf("inv_freq", "rope needs %d inverse frequencies", half)
	}
	r := &ropes[F]{p: *p, inv: b.frequencies(inv), scale: exact[F](p.RopeScale), byRow: p.RopeKind != plan.RopeFixed, axes: axes}
	if long != nil {
		r.long = b.frequencies(long)
	}
	for _, old := range b.m.ropes {
		if sameRope(old, r) {
			return old, nil
		}
	}
	b.m.ropes = append(b.m.ropes, r)
	return r, nil
}

func sameRope[F Float](a, b *ropes[F]) bool {
	if len(a.inv) != len(b.inv) || len(a.long) != len(b.long) || a.scale != b.scale || a.p.RopeKind != b.p.RopeKind ||
		a.p.RopeLimit != b.p.RopeLimit || a.p.RopeBase != b.p.RopeBase || a.p.RopeFactor != b.p.RopeFactor {
		return false
	}
	if !slices.Equal(a.axes, b.axes) {
		return false
	}
	for i := range a.inv {
		if a.inv[i] != b.inv[i] || a.long != nil && a.long[i] != b.long[i] {
			return false
		}
	}
	return true
}

// constant returns n values that are no weights, nil where the plan has none.
func (b *Bind[F]) constant(slot string, n int) ([]F, error) {
	w, _, err := b.Weight(slot)
	if err != nil || w == nil {
		return nil, err
	}
	if len(w.fixed) != n {
		return nil, b.WeightErrorf(slot, "%d constants, want %d", len(w.fixed), n)
	}
	out := make([]F, n)
	for i, v := range w.fixed {
		out[i] = F(v)
	}
	return out, nil
}

// frequencies returns a table of the plan in the precision of F: in float64
// plain tables are computed again.
func (b *Bind[F]) frequencies(w *weight[F]) []F {
	out := make([]F, len(w.fixed))
	for i, v := range w.fixed {
		out[i] = F(v)
	}
	if isSingle[F]() || b.m.compiled == nil {
		return out
	}
	for _, r := range b.m.compiled.Config.Ropes {
		if r.Scaling != compile.PlainRope || w.name != "const.rope."+r.Name {
			continue
		}
		for i := range out {
			out[i] = F(math.Pow(float64(r.Theta), -float64(2*i)/float64(r.Dim)))
		}
	}
	return out
}

// fill computes the angles of a step that are not there yet.
func (r *ropes[F]) fill(s *step[F]) {
	half := len(r.inv)
	if !r.turnsRows(s) {
		if r.have == 0 { // nothing, or rows of another step
			r.cos, r.sin, r.back = r.cos[:0], r.sin[:0], r.back[:0]
		}
		for ; r.have < s.longest; r.have++ {
			r.line(r.inv, r.have)
		}
		return
	}
	r.cos, r.sin, r.back, r.rows, r.have = r.cos[:0], r.sin[:0], r.back[:0], r.rows[:0], 0
	for _, n := range s.batch.Lens {
		inv := r.frequencies(n, half)
		for pos := range n {
			row := len(r.rows)
			r.rows = append(r.rows, int32(row))
			if r.axes == nil || s.batch.Places == nil {
				r.line(inv, pos)
				continue
			}
			for i, axis := range r.axes {
				r.line(inv[i:i+1], int(s.batch.Places[row][axis]))
			}
		}
	}
}

// turnsRows reports whether rows of a step at one position may turn differently.
func (r *ropes[F]) turnsRows(s *step[F]) bool {
	return r.byRow || r.axes != nil && s.batch.Places != nil
}

// line appends the angles of a position. In float32 an angle is rounded before
// its sine is taken, as inference does.
func (r *ropes[F]) line(inv []F, pos int) {
	for _, f := range inv {
		sin, cos := math.Sincos(float64(F(pos) * f))
		r.cos = append(r.cos, F(cos)*r.scale)
		r.sin = append(r.sin, F(sin)*r.scale)
		r.back = append(r.back, -F(sin)*r.scale)
	}
}

// frequencies returns the inverse frequencies of a document of n rows.
func (r *ropes[F]) frequencies(n, half int) []F {
	if r.p.RopeKind == plan.RopeFixed || n <= int(r.p.RopeLimit) {
		return r.inv
	}
	if r.p.RopeKind == plan.RopeLong {
		return r.long
	}
	dim, base := float64(r.p.RopeDim), r.p.DynamicBase(n)
	r.long = append(r.long[:0], r.inv...)
	for i := range half {
		r.long[i] = F(1 / math.Pow(base, float64(2*i)/dim))
	}
	return r.long
}

// index returns which line of angles each row turns by.
func (r *ropes[F]) index(s *step[F]) []int32 {
	if r.turnsRows(s) {
		return r.rows
	}
	return s.pos
}

// rotation returns the rotation of heads; back, its transpose.
func (r *ropes[F]) rotation(h *dense.Heads[F], interleaved, back bool) dense.Rotation[F] {
	t := dense.Rotation[F]{Cos: r.cos, Sin: r.sin, Dim: h.Dim, Half: len(r.inv), Interleaved: interleaved}
	if back {
		t.Sin = r.back
	}
	return t
}
