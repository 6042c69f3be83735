package exec

import (
	"math"

	"atenia/internal/kernel"
	"atenia/internal/memory/pack"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A linear multiplies the same rows with one or more weight matrices, as q, k
// and v or gate and up do. Rows are prepared once for each form that the
// matrices read, and the outputs of all matrices are split over the workers
// together: two submissions to the pool for any number of rows and matrices.
type linear struct {
	cols  int
	outs  int // rows of all matrices concatenated, each rounded up to whole tiles
	parts []part
	preps []prep
	src   []float32 // of this run, [rows, cols]
	rows  int
	unit  int // the ring's unit with some of the matrices, plus one; 0 = all are in memory

	asked   bool          // the rows are the requested ones
	adapted []adaptedRows // of this run
	low     []float32     // their A·x
}

// A part is one matrix of a linear.
type part struct {
	name string
	w    *pack.Matrix
	rows int
	at   int // number of the weight, see [Executor.numbers]
	low  int // of this run: where the A·x of its first adapter is in linear.low
	bias []float32
	prep int // index into preps plus one; 0 = plain float32 rows
	dst  []float32
	// stride is the distance of two rows of dst.
	stride         int
	scale, softcap float32 // of outputs; 0 = none
	act            func(dst, src []float32)
}

// A prep is the rows in the form some matrices read them.
type prep struct {
	form kernel.Form
	row  int // bytes of one row
	buf  scratch
	rows []byte // of this run: in buf, or in a register
}

// linear reserves the scratch for a product with rows of the given width.
func (b *Bind) linear(cols int) *linear {
	return &linear{cols: cols, asked: b.In[0].rows == plan.RowsRequested}
}

// add appends the matrix in a slot, with the bias of another slot if the model
// has one ("" = the op has no bias).
func (b *Bind) add(l *linear, slot, biasSlot string, rows int) error {
	w, err := b.matrix(slot, rows, l.cols)
	if err != nil {
		return err
	}
	if w == nil { // optional to the opcode, but these parameters want it
		return b.WeightErrorf(slot, "absent")
	}
	p := part{name: b.WeightName(slot), rows: rows}
	p.at = b.x.number(p.name, rows, l.cols)
	if p.w, err = b.product(l, slot, w); err != nil {
		return err
	}
	if biasSlot != "" {
		if p.bias, err = b.vector(biasSlot, rows); err != nil {
			return err
		}
	}
	if f := b.x.formOf(w.DType, l.cols); f != kernel.FormF32 {
		p.prep = b.prep(l, f)
	}
	l.parts = append(l.parts, p)
	l.outs += wholeTiles(rows)
	return nil
}

// formOf returns the form in which weights read their rows.
func (x *Executor) formOf(d tensor.DType, cols int) kernel.Form {
	switch {
	case x.cfg.Precise:
		return kernel.FormF32
	case x.cfg.Halves && d == tensor.BF16 && cols%2 == 0 && kernel.MultipliesPairs():
		return kernel.FormBF16
	}
	return kernel.FormOf(d)
}

// one binds the product with a single matrix, of which each row of the output is
// whole.
func (b *Bind) one(slot, biasSlot string, cols, rows int) (*linear, error) {
	l := b.linear(cols)
	if err := b.add(l, slot, biasSlot, rows); err != nil {
		return nil, err
	}
	l.parts[0].stride = rows
	return l, nil
}

func (b *Bind) prep(l *linear, f kernel.Form) int {
	for i := range l.preps {
		if l.preps[i].form == f {
			return i + 1
		}
	}
	row := f.RowBytes(l.cols)
	l.preps = append(l.preps, prep{form: f, row: row, buf: b.bytes(row * b.maxRows)})
	return len(l.preps)
}

// linearTask carries a linear through the worker pool. One instance serves an
// executor, since instructions run one after another.
type linearTask struct {
	l    *linear
	prep int // the form being prepared; len(preps) while multiplying
}

// run computes every part's dst from src, [rows, cols].
func (l *linear) run(s *Step, src []float32, rows int) error {
	l.prepare(s, src, rows)
	return l.multiply(s)
}

// begin sets the rows that the next product reads. The caller must prepare
// them.
func (l *linear) begin(x *Executor, src []float32, rows int) {
	l.src, l.rows = src, rows
	for i := range l.preps {
		l.preps[i].rows = x.bytesOf(l.preps[i].buf)[:rows*l.preps[i].row]
	}
}

// prepare converts rows for a product.
func (l *linear) prepare(s *Step, src []float32, rows int) {
	l.begin(s.x, src, rows)
	t := &s.x.linearTask
	t.l = l
	for t.prep = range l.preps {
		s.parallel(rows, grainFor(4*l.cols), t)
	}
}

// multiply computes every part's dst from the prepared rows.
func (l *linear) multiply(s *Step) error {
	l.lower(s)
	if err := l.acquire(s); err != nil {
		return err
	}
	l.product(s)
	l.release(s)
	return nil
}

// product is multiply with weights that are acquired.
func (l *linear) product(s *Step) {
	t := &s.x.linearTask
	t.l, t.prep = l, len(l.preps)
	s.parallel(l.outs, wholeTiles(grainFor(l.rows*l.cols)), t)
}

// reads declares that l multiplies a register's rows and that no other part of
// the instruction reads them.
func (l *linear) reads(in *register) {
	for i := range l.parts {
		if l.parts[i].prep == 0 {
			return
		}
	}
	if len(l.preps) == 1 && (in.products == 0 || in.wanted == l.preps[0].form) {
		in.wanted = l.preps[0].form
		in.products++
	}
}

// prepareRegister prepares the rows of a register declared with reads. They may
// be prepared already.
func (l *linear) prepareRegister(s *Step, in *register) {
	if !in.prepared(s) {
		l.prepare(s, in.f32(s), in.count(s))
		return
	}
	l.begin(s.x, nil, in.count(s))
	l.preps[0].rows = in.bytes(s)
}

// wholeTiles rounds a number of outputs up to whole tiles, in which weights are
// packed and which kernels compute side by side: pieces of work that are
// multiples of it pack each tile once and use all lanes.
func wholeTiles(n int) int {
	return (n + kernel.TileRows - 1) / kernel.TileRows * kernel.TileRows
}

// Range prepares rows lo to hi, or computes outputs lo to hi of all parts
// concatenated.
func (t *linearTask) Range(_, lo, hi int) {
	l := t.l
	if t.prep < len(l.preps) {
		p := &l.preps[t.prep]
		for r := lo; r < hi; r++ {
			p.form.Prepare(p.rows[r*p.row:(r+1)*p.row], l.src[r*l.cols:(r+1)*l.cols])
		}
		return
	}
	base := 0
	for i := range l.parts {
		p := &l.parts[i]
		a, b := max(lo-base, 0), min(hi-base, p.rows)
		if a < b {
			l.outputs(p, a, b)
		}
		base += wholeTiles(p.rows)
	}
}

// outputs computes outputs lo to hi of a part.
func (l *linear) outputs(p *part, lo, hi int) {
	w := p.w.Range(lo, hi)
	if p.prep == 0 {
		kernel.MatMul(p.dst, p.stride, w, lo, hi, l.src, l.cols, l.rows)
	} else {
		from := &l.preps[p.prep-1]
		multiplyPrepared(from.form, p.dst, p.stride, w, lo, hi, from.rows, l.rows)
	}
	if len(l.adapted) > 0 {
		l.raise(p, lo, hi)
	}
	if p.bias == nil && p.scale == 0 && p.softcap == 0 && p.act == nil {
		return
	}
	for r := range l.rows {
		p.finish(p.dst[r*p.stride:], lo, hi)
	}
}

// multiplyPrepared multiplies rows that are in a form other than float32.
func multiplyPrepared(f kernel.Form, dst []float32, stride int, w *kernel.Matrix, lo, hi int, x []byte, rows int) {
	if f == kernel.FormBF16 {
		kernel.MatMulPairs(dst, stride, w, lo, hi, x, rows)
		return
	}
	kernel.MatMulQ(dst, stride, w, lo, hi, x, rows)
}

// finish adds the bias to outputs lo to hi of a row, and scales and caps them.
func (p *part) finish(dst []float32, lo, hi int) {
	dst = dst[lo:hi]
	if p.bias != nil {
		kernel.AddBias(dst, p.bias[lo:hi])
	}
	if p.scale != 0 {
		kernel.Scale(dst, p.scale)
	}
	if p.softcap != 0 {
		kernel.Softcap(dst, p.softcap)
	}
	if p.act != nil {
		p.act(dst, dst)
	}
}

// headActs are the functions that follow a projection.
var headActs = [...]func(dst, src []float32){
	plan.HeadLinear: nil,
	plan.HeadTanh:   tanh,
	plan.HeadGELU:   kernel.GELUErf,
	plan.HeadReLU:   kernel.ReLU,
}

// tanh is for the few values of a pooled vector.
func tanh(dst, src []float32) {
	for i, v := range src {
		dst[i] = float32(math.Tanh(float64(v)))
	}
}

// bindLMHead binds the projection to logits.
func bindLMHead(b *Bind, p *plan.HeadParams) (Kernel, error) {
	l := b.linear(int(p.Dim))
	if err := b.add(l, "weight", "bias", int(p.Vocab)); err != nil {
		return nil, err
	}
	in, out := b.In[0], b.Out[0]
	l.reads(in)
	head := &l.parts[0]
	head.stride, head.softcap, head.act = int(p.Vocab), p.Softcap, headActs[p.Act]
	if p.Scale != 1 {
		head.scale = p.Scale
	}
	return func(s *Step) error {
		if in.count(s) == 0 {
			return nil
		}
		head.dst = out.f32(s)
		l.prepareRegister(s, in)
		return l.multiply(s)
	}, nil
}
