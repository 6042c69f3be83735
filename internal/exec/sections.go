package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// stateRows are the floats of one section of one layer in a state of fixed size.
type stateRows struct{ state, off, n int }

// of returns the floats of a run's sequence.
func (r stateRows) of(run *Run) []float32 {
	return floats(run.Pages[r.state][0][r.off : r.off+4*r.n])
}

// stateRows finds a section of n floats in the state of the instruction.
func (b *Bind) stateRows(layer uint32, section string, n int) (stateRows, error) {
	if b.Ins.State == plan.NoState {
		return stateRows{}, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%s needs a state", b.Ins.Op)
	}
	d := &b.x.states[b.Ins.State]
	for _, s := range d.Sections {
		if s.Name != section {
			continue
		}
		off := uint64(layer)*d.LayerStride + s.Offset
		if s.Bytes != uint64(4*n) || d.PageTokens != 0 || off+s.Bytes > d.SizeBytes {
			return stateRows{}, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "section %s of layer %d has %d bytes, want %d within a block of %d", section, layer, s.Bytes, 4*n, d.SizeBytes)
		}
		return stateRows{int(b.Ins.State), int(off), n}, nil
	}
	return stateRows{}, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the state has no section %s", section)
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
