package exec

import (
	"unsafe"

	"atenia/internal/kernel"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A register is the buffer of one value of a plan. Its number of rows is
// symbolic; f32 returns the slice for the rows of a step.
type register struct {
	rows plan.RowKind
	cols uint32
	buf  []float32

	// form is the layout of the rows in buf: floats, or what products read if
	// the writing instruction can produce it and no other instruction reads the
	// register.
	form     kernel.Form
	maker    bool // the instruction that writes it calls [register.prepared]
	reads    int  // number of instructions that read it
	products int  // number of those that read it in form wanted only, through [linear.prepareRegister]
	wanted   kernel.Form
}

// prepared reports whether the rows are, in this step, in the form that
// products read. A trace shows floats, and the products of adapters read them.
func (r *register) prepared(s *Step) bool {
	return r.form != kernel.FormF32 && s.Trace == nil && len(s.adapted) == 0
}

// bytes returns the register's prepared rows in a step.
func (r *register) bytes(s *Step) []byte {
	return bytesOf(r.buf[:r.count(s)*r.form.RowBytes(int(r.cols))/4])
}

// choose fixes the form after all instructions are bound.
func (r *register) choose() {
	if r.maker && r.products > 0 && r.products == r.reads {
		r.form = r.wanted
	}
}

// count returns the register's rows in a step.
func (r *register) count(s *Step) int {
	switch r.rows {
	case plan.RowsRequested:
		return s.requested
	case plan.RowsMerged:
		return s.merged
	}
	return s.rows
}

// f32 returns the register's values in a step, [count, cols].
func (r *register) f32(s *Step) []float32 { return r.buf[:r.count(s)*int(r.cols)] }

// A scratch is a slice of the work arena, which all instructions of an executor
// share: its content is valid during one instruction.
type scratch struct{ off, n int }

// A Bind is an adapter's view of one instruction. Adapters reserve scratch
// while they bind; the arena is allocated after all have.
type Bind struct {
	plan.Binding[*register, tensor.View]
	x       *Executor
	used    int // bytes of scratch this instruction reserved
	maxRows int
	guard   *guard // with -tags invariants
}

// A binder is an executor that binds one plan: it implements [plan.Binder].
type binder struct {
	x       *Executor
	plan    *plan.ExecutionPlan
	regs    []*register
	weights Weights
	bound   []bound // without their kernels
}

// Register returns the buffer of a register.
func (b *binder) Register(r plan.RegisterRef) *register { return b.regs[r] }

// Weight returns the tensor that was loaded for a weight.
func (b *binder) Weight(r plan.WeightRef) (tensor.View, bool) {
	v, ok := b.weights[b.plan.Weights[r].Name]
	return v, ok
}

// Open begins the record of an instruction.
func (b *binder) Open(i plan.Binding[*register, tensor.View]) *Bind {
	r := bound{ins: i.Ins, out: i.Out}
	if invariants {
		r.guard = newGuard(&i)
	}
	b.bound = append(b.bound, r)
	return &Bind{Binding: i, x: b.x, maxRows: b.x.cfg.MaxTokens, guard: r.guard}
}

// weight returns the tensor in a slot, one without data when the slot is
// optional and empty.
func (b *Bind) weight(slot string) (tensor.View, error) {
	v, ok, err := b.Weight(slot)
	if ok && v.Data == nil {
		err = b.WeightErrorf(slot, "no data")
	}
	return v, err
}

// matrix returns the weight in a slot as a matrix of the given size, or nil
// when the slot is optional and empty.
func (b *Bind) matrix(slot string, rows, cols int) (*kernel.Matrix, error) {
	v, err := b.weight(slot)
	if v.Data == nil {
		return nil, err
	}
	if want := (tensor.Shape{rows, cols}); !v.Shape.Equal(want) {
		return nil, b.WeightErrorf(slot, "shape %v, want %v", v.Shape, want)
	}
	if !kernel.Supports(v.DType) {
		return nil, b.WeightErrorf(slot, "no kernel for element type %s", v.DType)
	}
	return &kernel.Matrix{DType: v.DType, Rows: rows, Cols: cols, Data: v.Data}, nil
}

// vector returns the weight in a slot as n floats, or nil when the slot is
// optional and empty.
func (b *Bind) vector(slot string, n int) ([]float32, error) {
	v, err := b.weight(slot)
	if v.Data == nil {
		return nil, err
	}
	f, ok := v.F32()
	if !ok {
		return nil, b.WeightErrorf(slot, "%s %v is not an aligned vector of F32", v.DType, v.Shape)
	}
	if len(f) != n {
		return nil, b.WeightErrorf(slot, "%d values, want %d", len(f), n)
	}
	return f, nil
}

// prepares declares that the kernel can write an output row by row in the form
// that products read, unless the output shares its buffer with an input.
func (b *Bind) prepares(out *register) {
	for _, in := range b.In {
		if len(in.buf) > 0 && len(out.buf) > 0 && &in.buf[0] == &out.buf[0] {
			return
		}
	}
	out.maker = true
}

// floats reserves n floats of scratch for this instruction.
func (b *Bind) floats(n int) scratch { return b.bytes(4 * n) }

// bytes reserves n bytes of scratch, aligned to a cache line.
func (b *Bind) bytes(n int) scratch {
	s := scratch{b.used, n}
	b.used += (n + 63) &^ 63
	if invariants {
		b.guard.canaries = append(b.guard.canaries, b.used)
		b.used += canaryBytes
	}
	b.x.workBytes = max(b.x.workBytes, b.used)
	return s
}

func (x *Executor) bytesOf(s scratch) []byte { return x.work[s.off : s.off+s.n : s.off+s.n] }

func (x *Executor) floatsOf(s scratch) []float32 { return floats(x.work[s.off : s.off+s.n]) }

func bytesOf(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}

// floats views aligned bytes as floats.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
