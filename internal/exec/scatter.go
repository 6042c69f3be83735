package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// bindVisionScatter binds the copy of image rows into token rows. The rows are
// those of [Span.Image]: a step may have any part of any number of images.
func bindVisionScatter(b *Bind, _ *plan.ScatterParams) (Kernel, error) {
	in, out := b.In[0], b.Out[0]
	dim := int(out.cols)
	b.x.width = dim
	return overRows(out, dim, func(s *Step, _, lo, hi int) {
		x, y := in.f32(s), out.f32(s)
		for r := lo; r < hi; r++ {
			from := x[r*dim : (r+1)*dim]
			if at := &s.imageRows[r]; at.image != nil {
				from = at.image.Rows[at.row*dim : (at.row+1)*dim]
			}
			copy(y[r*dim:(r+1)*dim], from)
		}
	}), nil
}

// bindDeepstackInject binds the addition of inner vision features to token rows.
func bindDeepstackInject(b *Bind, p *plan.ScatterParams) (Kernel, error) {
	in, out := b.In[0], b.Out[0]
	dim, layer := int(out.cols), int(p.Index)
	b.x.deep = max(b.x.deep, layer+1)
	return overRows(out, dim, func(s *Step, _, lo, hi int) {
		x, y := in.f32(s), out.f32(s)
		for r := lo; r < hi; r++ {
			from, to := x[r*dim:(r+1)*dim], y[r*dim:(r+1)*dim]
			if at := &s.imageRows[r]; at.image != nil {
				kernel.Add(to, from, at.image.Deep[layer][at.row*dim:(at.row+1)*dim], 1)
			} else {
				copy(to, from)
			}
		}
	}), nil
}
