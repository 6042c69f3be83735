package exec

import (
	"atenia/internal/kernel"
	"atenia/plan"
)

// A linear multiplies the same rows with one or more weight matrices, as q, k
// and v or gate and up do. Rows are prepared once for each form that the
// matrices want, and the outputs of all matrices are split over the workers
// together: two hand-outs whatever the number of rows and matrices.
type linear struct {
	cols  int
	outs  int // rows of all matrices together
	parts []part
	preps []prep
}

// A part is one matrix of a linear.
type part struct {
	w    *kernel.Matrix
	bias []float32
	prep int // index into preps plus one; 0 = plain float32 rows
	dst  []float32
	// stride is the distance of two rows of dst.
	stride int
}

// A prep is the rows in the form some matrices read them.
type prep struct {
	form kernel.Form
	row  int // bytes of one row
	buf  scratch
}

// linear reserves the scratch for a product with rows of the given width.
func (b *Bind) linear(cols int) *linear { return &linear{cols: cols} }

// add appends the matrix in a slot, with the bias of another slot when the
// model has it ("" = the op knows no bias).
func (b *Bind) add(l *linear, slot, biasSlot string, rows int) error {
	w, err := b.matrix(slot, rows, l.cols)
	if err != nil {
		return err
	}
	p := part{w: w}
	if biasSlot != "" {
		if p.bias, err = b.vector(biasSlot, rows); err != nil {
			return err
		}
	}
	if f := kernel.FormOf(w.DType); f != kernel.FormF32 && !b.x.cfg.Precise {
		p.prep = b.prep(l, f)
	}
	l.parts = append(l.parts, p)
	l.outs += rows
	return nil
}

func (b *Bind) prep(l *linear, f kernel.Form) int {
	for i := range l.preps {
		if l.preps[i].form == f {
			return i + 1
		}
	}
	row := f.RowBytes(l.cols)
	l.preps = append(l.preps, prep{f, row, b.bytes(row * b.maxRows)})
	return len(l.preps)
}

// linearTask carries a linear through the worker pool. One instance serves an
// executor, since instructions run one after another.
type linearTask struct {
	s    *Step
	l    *linear
	src  []float32
	rows int
	prep int // the form being prepared; len(preps) while multiplying
}

// run computes every part's dst from src, [rows, cols].
func (l *linear) run(s *Step, src []float32, rows int) {
	t := &s.x.linearTask
	*t = linearTask{s: s, l: l, src: src, rows: rows}
	for t.prep = range l.preps {
		s.parallel(rows, grainFor(4*l.cols), t)
	}
	t.prep = len(l.preps)
	grain := grainFor(rows * l.cols)
	if rows > 6 {
		grain = (grain + panel - 1) / panel * panel
	}
	s.parallel(l.outs, grain, t)
}

// panel is how many outputs kernels compute side by side for many rows: pieces
// of work that are multiples of it waste no part of a panel.
const panel = 16

// Range prepares rows lo to hi, or computes outputs lo to hi of all parts laid
// end to end.
func (t *linearTask) Range(_, lo, hi int) {
	if t.prep < len(t.l.preps) {
		p := &t.l.preps[t.prep]
		buf := t.s.x.bytesOf(p.buf)
		for r := lo; r < hi; r++ {
			p.form.Prepare(buf[r*p.row:(r+1)*p.row], t.src[r*t.l.cols:(r+1)*t.l.cols])
		}
		return
	}
	base := 0
	for i := range t.l.parts {
		p := &t.l.parts[i]
		a, b := max(lo-base, 0), min(hi-base, p.w.Rows)
		if a < b {
			t.multiply(p, a, b)
		}
		base += p.w.Rows
	}
}

func (t *linearTask) multiply(p *part, lo, hi int) {
	if p.prep == 0 {
		kernel.MatMul(p.dst, p.stride, p.w, lo, hi, t.src, t.l.cols, t.rows)
	} else {
		pr := &t.l.preps[p.prep-1]
		kernel.MatMulQ(p.dst, p.stride, p.w, lo, hi, t.s.x.bytesOf(pr.buf)[:t.rows*pr.row], t.rows)
	}
	if p.bias == nil {
		return
	}
	for r := range t.rows {
		kernel.AddBias(p.dst[r*p.stride+lo:r*p.stride+hi], p.bias[lo:hi])
	}
}

// bindLMHead binds the projection to logits.
func bindLMHead(b *Bind) (Kernel, error) {
	p := b.Params.(*plan.HeadParams)
	l := b.linear(int(p.Dim))
	if err := b.add(l, "weight", "bias", int(p.Vocab)); err != nil {
		return nil, err
	}
	b.x.vocab = int(p.Vocab)
	in, out := b.In[0], b.Out[0]
	l.parts[0].stride = int(p.Vocab)
	return func(s *Step) error {
		rows := in.count(s)
		if rows == 0 {
			return nil
		}
		y := out.f32(s)
		l.parts[0].dst = y
		l.run(s, in.f32(s), rows)
		if p.Scale != 1 {
			kernel.Scale(y, p.Scale)
		}
		if p.Softcap != 0 {
			kernel.Softcap(y, p.Softcap)
		}
		return nil
	}, nil
}
