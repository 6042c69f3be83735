package exec

import (
	"atenia/internal/kernel/scan"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A fixedPlace is where a layer's part of a state of fixed size is.
type fixedPlace struct {
	state, off, n int
}

// A sectionWant is a section that an adapter needs: where its offset goes, its
// type and its number of values.
type sectionWant struct {
	at   *int
	elem tensor.DType
	n    int
}

// fixedPlace finds the sections of a layer in the instruction's state.
func (b *Bind) fixedPlace(layer uint32, want map[string]sectionWant) (fixedPlace, error) {
	if b.Ins.State == plan.NoState {
		return fixedPlace{}, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%s needs a state", b.Ins.Op)
	}
	d := &b.x.states[b.Ins.State]
	if d.PageTokens != 0 || layer >= uint32(d.Layers) {
		return fixedPlace{}, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "layer %d of a state of fixed size with %d layers", layer, d.Layers)
	}
	found := 0
	for _, s := range d.Sections {
		w, ok := want[s.Name]
		if !ok {
			continue
		}
		size, err := w.elem.RowBytes(w.n)
		if err != nil || s.DType != w.elem || s.Bytes != uint64(size) {
			return fixedPlace{}, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "section %s has %d bytes of %s, want %d of %s", s.Name, s.Bytes, s.DType, size, w.elem)
		}
		*w.at = int(s.Offset)
		found++
	}
	if found != len(want) {
		return fixedPlace{}, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%s finds %d of its %d sections in its state", b.Ins.Op, found, len(want))
	}
	return fixedPlace{int(b.Ins.State), int(layer) * int(d.LayerStride), int(d.LayerStride)}, nil
}

// bytes returns the layer's part of a run's state.
func (p fixedPlace) bytes(run *Run) []byte { return run.Pages[p.state][0][p.off : p.off+p.n] }

// A convolution is a causal depthwise one over the rows of a sequence. Its state
// is the last inputs: that of position p is row p mod (kernel−1).
type convolution struct {
	channels, kernel int
	taps             [][]float32 // by age: the last is that of the row itself
	bias             []float32
	at               int // offset of the section
}

// bind reads the weights "conv", [channels, kernel], and "conv_bias".
func (c *convolution) bind(b *Bind, channels, kernel int) error {
	c.channels, c.kernel = channels, kernel
	if kernel < 1 || kernel > maxKernel {
		return plan.Errorf(plan.ErrUnsupportedOpcode, plan.Whole, "a convolution over %d rows, at most %d", kernel, maxKernel)
	}
	w, err := b.matrix("conv", channels, kernel)
	if err != nil {
		return err
	}
	if w.DType != tensor.F32 {
		return b.WeightErrorf("conv", "%s, want F32", w.DType)
	}
	if c.bias, err = b.vector("conv_bias", channels); err != nil || b.x.measuring {
		return err
	}
	values := floats(w.Data)
	for j := range kernel {
		tap := make([]float32, channels)
		for i := range tap {
			tap[i] = values[i*kernel+j]
		}
		c.taps = append(c.taps, tap)
	}
	return nil
}

// maxKernel is the largest width of a convolution.
const maxKernel = 16

func (c *convolution) stateLen() int { return (c.kernel - 1) * c.channels }

// row convolves row r of a step, whose inputs are src, stride apart.
func (c *convolution) row(dst []float32, s *Step, r int, src []float32, stride int, place fixedPlace) {
	run := &s.Runs[s.rowRun[r]]
	at := r - run.First
	state := floats(place.bytes(run)[c.at:])
	var x [maxKernel][]float32
	for j := range c.kernel {
		age := c.kernel - 1 - j
		switch pos := run.Pos + at - age; {
		case age <= at:
			x[j] = src[(r-age)*stride:][:c.channels]
		case pos >= 0:
			x[j] = state[pos%(c.kernel-1)*c.channels:][:c.channels]
		}
	}
	scan.Convolve(dst, c.bias, c.taps, x[:c.kernel])
}

// keep writes the last inputs of a run to its state, of channels lo to hi.
func (c *convolution) keep(run *Run, src []float32, stride int, place fixedPlace, lo, hi int) {
	state := floats(place.bytes(run)[c.at:])
	for r := max(0, run.Len-c.kernel+1); r < run.Len; r++ {
		to := (run.Pos + r) % (c.kernel - 1) * c.channels
		copy(state[to+lo:to+hi], src[(run.First+r)*stride+lo:])
	}
}
