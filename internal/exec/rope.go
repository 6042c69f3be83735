package exec

import (
	"math"

	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// A ropeTable holds the rotations of a step's rows. Layers with the same
// rotation share one, so each angle is computed once per step.
type ropeTable struct {
	x         *Executor
	inv, long []float32 // inverse frequencies [dim/2]
	p         plan.AttentionParams
	cos, sin  []float32 // [rows, dim/2]
	axes      []uint8   // pair → time, row or column; nil = the position
	dynamic   []float32 // inverse frequencies of a length-dependent run
}

// rope returns the table for an attention instruction, nil for none.
func (b *Bind) rope(p *plan.AttentionParams) (*ropeTable, error) {
	if p.RopeStyle == plan.RopeNone || p.RopeDim == 0 {
		return nil, nil
	}
	half := int(p.RopeDim) / 2
	axes, err := p.RopeAxes()
	if err != nil {
		return nil, err
	}
	inv, err := b.vector("inv_freq", half)
	if err != nil {
		return nil, err
	}
	long, err := b.vector("inv_freq_long", half)
	if err != nil {
		return nil, err
	}
	if inv == nil || long == nil && p.RopeKind == plan.RopeLong {
		return nil, b.WeightErrorf("inv_freq", "rope needs inverse frequencies")
	}
	for _, t := range b.x.ropes {
		if &t.inv[0] == &inv[0] && sameRope(&t.p, p) {
			return t, nil
		}
	}
	t := &ropeTable{
		x: b.x, inv: inv, long: long, p: *p,
		cos: make([]float32, half*b.maxRows), sin: make([]float32, half*b.maxRows),
		dynamic: make([]float32, half), axes: axes,
	}
	b.x.byPlace = b.x.byPlace || axes != nil
	b.x.ropes = append(b.x.ropes, t)
	return t, nil
}

func sameRope(a, b *plan.AttentionParams) bool {
	return a.RopeDim == b.RopeDim && a.RopeKind == b.RopeKind && a.RopeLimit == b.RopeLimit &&
		a.RopeStyle >= plan.RopeMBlocks == (b.RopeStyle >= plan.RopeMBlocks) && (a.RopeStyle < plan.RopeMBlocks || a.RopeStyle == b.RopeStyle) &&
		a.MropeT == b.MropeT && a.MropeH == b.MropeH && a.MropeW == b.MropeW && a.RopeBase == b.RopeBase && a.RopeFactor == b.RopeFactor && a.RopeScale == b.RopeScale
}

// fill computes the rotations of every row of a step.
func (t *ropeTable) fill(s *Step) {
	half := len(t.inv)
	for i := range s.Runs {
		r := &s.Runs[i]
		inv := t.frequencies(r)
		for j := range r.Len {
			at := (r.First + j) * half
			if t.axes != nil {
				place := &s.places[r.First+j]
				for k, axis := range t.axes {
					kernel.RopeTable(t.cos[at+k:at+k+1], t.sin[at+k:at+k+1], inv[k:k+1], int(place[axis]), t.p.RopeScale)
				}
				continue
			}
			kernel.RopeTable(t.cos[at:at+half], t.sin[at:at+half], inv, r.Pos+j, t.p.RopeScale)
		}
	}
}

// frequencies returns the inverse frequencies for a run, by its Span.
func (t *ropeTable) frequencies(r *Run) []float32 {
	n := max(r.Span, r.Pos+r.Len)
	if n <= int(t.p.RopeLimit) {
		return t.inv
	}
	switch t.p.RopeKind {
	case plan.RopeLong:
		return t.long
	case plan.RopeDynamic:
		dim, base := float64(t.p.RopeDim), t.p.DynamicBase(n)
		for i := range t.dynamic {
			t.dynamic[i] = float32(1 / math.Pow(base, float64(2*i)/dim))
		}
		return t.dynamic
	}
	return t.inv
}

// RopeClass returns equal numbers for spans with equal rotations. Keys cached
// for one span may serve another only if their classes are equal.
func (x *Executor) RopeClass(span int) int {
	class := 0
	for _, t := range x.ropes {
		if span > int(t.p.RopeLimit) {
			switch t.p.RopeKind {
			case plan.RopeLong:
				class = max(class, 1)
			case plan.RopeDynamic:
				class = span
			}
		}
	}
	return class
}
