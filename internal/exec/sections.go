package exec

import (
	"unsafe"

	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
	"atenia/tensor"
)

// section returns where a section of a layer begins in a page, or in the block, of the
// instruction's state. Its name, type and size must be those that the adapter will
// read: bytes of another type would be numbers all the same, and wrong ones.
func (b *Bind) section(layer uint32, name string, t tensor.DType, bytes int) (int, error) {
	s, err := b.findSection(name)
	if err != nil {
		return 0, err
	}
	d := &b.x.states[b.Ins.State]
	off := uint64(layer)*d.LayerStride + s.Offset
	switch {
	case s.DType != t:
		return 0, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "section %s of state %s.%d has elements of type %s, %s reads %s", name, d.Kind, d.Group, s.DType, b.Ins.Op, t)
	case s.Bytes != uint64(bytes) || off+s.Bytes > d.SizeBytes:
		return 0, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "section %s of layer %d has %d bytes, want %d within a block of %d", name, layer, s.Bytes, bytes, d.SizeBytes)
	}
	if invariants {
		b.guard.owned = append(b.guard.owned, [2]int{int(off), int(off) + bytes})
	}
	return int(off), nil
}

// sectionType returns the type of a section whose elements may be of several: that of
// cached keys, which the values must share.
func (b *Bind) sectionType(name string) (tensor.DType, error) {
	s, err := b.findSection(name)
	if err != nil {
		return tensor.Invalid, err
	}
	switch s.DType {
	case tensor.F32, tensor.F16, tensor.Q8_0: // those of [kernel.Rows]
		return s.DType, nil
	}
	return tensor.Invalid, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "section %s has elements of type %s, %s reads F32, F16 and Q8_0", name, s.DType, b.Ins.Op)
}

func (b *Bind) findSection(name string) (*plan.Section, error) {
	if b.Ins.State == plan.NoState {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%s needs a state", b.Ins.Op)
	}
	d := &b.x.states[b.Ins.State]
	for i := range d.Sections {
		if d.Sections[i].Name == name {
			return &d.Sections[i], nil
		}
	}
	return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the state of %s has no section %s", b.Ins.Op, name)
}

// oneBlock reports an error unless the state of the instruction is one block of each
// sequence, or, if want is false, is made of pages.
func (b *Bind) oneBlock(want bool) error {
	if b.Ins.State == plan.NoState {
		return plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%s needs a state", b.Ins.Op)
	}
	if d := &b.x.states[b.Ins.State]; (d.PageTokens == 0) != want {
		return plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the state of %s has pages of %d tokens, want one block: %t", b.Ins.Op, d.PageTokens, want)
	}
	return nil
}

// A sectionOf views the values of one section of one layer in a state of one block.
type sectionOf[T float32 | float64] struct{ state, off, n int }

// stateRows is a section of the type that nearly all have.
type stateRows = sectionOf[float32]

// of returns the values of a run's sequence.
func (v sectionOf[T]) of(run *Run) []T {
	block := run.Pages[v.state][0][v.off:]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(block))), v.n)
}

// stateRows finds a section of n values of float32.
func (b *Bind) stateRows(layer uint32, section string, n int) (stateRows, error) {
	return view[float32](b, layer, section, tensor.F32, 4*n)
}

// view finds a section of the values of T, which are of type t.
func view[T float32 | float64](b *Bind, layer uint32, section string, t tensor.DType, bytes int) (v sectionOf[T], err error) {
	if err := b.oneBlock(true); err != nil {
		return v, err
	}
	at, err := b.section(layer, section, t, bytes)
	if err != nil {
		return v, err
	}
	var one T
	return sectionOf[T]{int(b.Ins.State), at, bytes / int(unsafe.Sizeof(one))}, nil
}

// conv binds a causal depthwise convolution. Files have the taps of a channel side by side;
// the kernel reads those of all channels at one place in time.
func (b *Bind) conv(slot, bias string, width, taps int) (dense.Conv[float32], error) {
	c := dense.Conv[float32]{Width: width, Taps: taps}
	m, err := b.matrix(slot, width, taps)
	if err != nil {
		return c, err
	}
	if taps < 1 || m == nil {
		return c, b.WeightErrorf(slot, "a convolution needs taps")
	}
	if bias != "" {
		if c.Bias, err = b.vector(bias, width); err != nil {
			return c, err
		}
	}
	c.Weights = make([]float32, taps*width)
	if b.x.measuring {
		return c, nil
	}
	line, row := make([]float32, taps), len(m.Data)/width
	for i := range width {
		kernel.LoadRow(line, m.DType, m.Data[i*row:(i+1)*row])
		for j, v := range line {
			c.Weights[j*width+i] = v
		}
	}
	return c, nil
}
