package tape

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// checkImages verifies the images of a batch and the places of its rows.
func (m *Model[F]) checkImages(b *Batch) error {
	if n := len(b.Places); b.Places != nil && n != len(b.Tokens) {
		return &batchError{-1, fmt.Sprintf("%d places for %d rows", n, len(b.Tokens))}
	}
	last, doc, end := 0, -1, 0
	for i := range b.Images {
		p := &b.Images[i]
		if m.imageCols == 0 {
			return &batchError{p.At, "an image, and the model reads text alone"}
		}
		for p.At >= end && doc+1 < len(b.Lens) {
			doc++
			end += b.Lens[doc]
		}
		if p.At < last || p.Len < 1 || p.At >= end || p.Len > end-p.At {
			return &batchError{p.At, fmt.Sprintf("image %d takes %d rows, from %d on, of a document that ends at %d", i, p.Len, last, end)}
		}
		last = p.At + p.Len
		if len(p.Rows) != p.Len*m.imageCols || len(p.Deep) != m.deep {
			return &batchError{p.At, fmt.Sprintf("image %d has %d values and %d inner layers, want %d rows of %d and %d", i, len(p.Rows), len(p.Deep), p.Len, m.imageCols, m.deep)}
		}
		for _, d := range p.Deep {
			if len(d) != len(p.Rows) {
				return &batchError{p.At, fmt.Sprintf("image %d has %d values of an inner layer, want %d", i, len(d), len(p.Rows))}
			}
		}
	}
	return nil
}

// A scatter is a bound copy of image rows over those of their placeholders.
type scatter[F Float] struct {
	m       *Model[F]
	in, out plan.RegisterRef
	dim     int
}

func bindScatter[F Float](b *Bind[F], _ *plan.ScatterParams) (recorder[F], error) {
	b.m.imageCols = b.cols(b.Out[0])
	return &scatter[F]{m: b.m, in: b.In[0], out: b.Out[0], dim: b.m.imageCols}, nil
}

func (x *scatter[F]) record(s *step[F]) error {
	s.begin(x.in)
	y := s.output(x.out)
	if y == nil {
		return s.t.Err()
	}
	copy(y, s.value(x.in))
	for i := range s.batch.Images {
		p := &s.batch.Images[i]
		for k, v := range p.Rows {
			y[p.At*x.dim+k] = F(v)
		}
	}
	return s.end(keyScatter, x)
}

func scatterBack[F Float](b *grad.OpaqueBack[F]) {
	x := b.Aux.(*scatter[F])
	dx := sinkOf(b, 0)
	d, g := b.DOut(0), dx.sum()
	if g == nil {
		return
	}
	from := 0
	for _, p := range x.m.step.batch.Images {
		dense.Add(g[from:p.At*x.dim], d[from:p.At*x.dim])
		from = (p.At + p.Len) * x.dim
	}
	dense.Add(g[from:], d[from:])
}

// An inject is a bound sum of image rows and those of an inner layer of the tower.
type inject[F Float] struct {
	m          *Model[F]
	in, out    plan.RegisterRef
	dim, layer int
}

func bindInject[F Float](b *Bind[F], p *plan.ScatterParams) (recorder[F], error) {
	x := &inject[F]{m: b.m, in: b.In[0], out: b.Out[0], dim: b.cols(b.Out[0]), layer: int(p.Index)}
	b.m.deep = max(b.m.deep, x.layer+1)
	return x, nil
}

func (x *inject[F]) record(s *step[F]) error {
	s.begin(x.in)
	y := s.output(x.out)
	if y == nil {
		return s.t.Err()
	}
	copy(y, s.value(x.in))
	for i := range s.batch.Images {
		p := &s.batch.Images[i]
		for k, v := range p.Deep[x.layer] {
			y[p.At*x.dim+k] += F(v)
		}
	}
	return s.end(keyInject, x)
}

func injectBack[F Float](b *grad.OpaqueBack[F]) {
	dx := sinkOf(b, 0)
	dx.plus(dense.Of[F](b.Work()), 1, b.DOut(0))
}

// A reach is which positions the rows of a batch attend to, for attention layers
// that do not see exactly those up to a row's own.
type reach struct {
	window         int
	causal, images bool
	kept, rows     [][2]int32 // rows is nil where a batch has nothing but what a window says
}

// reach returns what the rows of an attention see.
func (b *Bind[F]) reach(p *plan.AttentionParams) *reach {
	if p.Causal != 0 && p.Images == 0 {
		return nil
	}
	r := &reach{window: int(p.Window), causal: p.Causal != 0, images: p.Images != 0}
	for _, old := range b.m.reaches {
		if old.window == r.window && old.causal == r.causal && old.images == r.images {
			return old
		}
	}
	b.m.reaches = append(b.m.reaches, r)
	return r
}

// fill finds what the rows of a batch see. In both directions a window has its
// row in the middle.
func (r *reach) fill(b *Batch) {
	if r.rows = nil; r.causal && len(b.Images) == 0 {
		return
	}
	r.kept = r.kept[:0]
	image := 0
	for _, n := range b.Lens {
		first := len(r.kept)
		for pos := range n {
			lo, hi := 0, n
			if w := r.window / 2; !r.causal && w > 0 {
				lo, hi = max(0, pos-w), min(n, pos+w+1)
			}
			if r.causal {
				hi = pos + 1
				if r.window > 0 {
					lo = max(0, hi-r.window)
				}
				for image < len(b.Images) && first+pos >= b.Images[image].At+b.Images[image].Len {
					image++
				}
				if image < len(b.Images) && first+pos >= b.Images[image].At {
					p := &b.Images[image]
					lo, hi = min(lo, p.At-first), p.At+p.Len-first
				}
			}
			r.kept = append(r.kept, [2]int32{int32(lo), int32(hi)})
		}
	}
	r.rows = r.kept
}
