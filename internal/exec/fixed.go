package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
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

// A convolving is the causal convolution of a mixer with the activation after it, over
// pieces of the channels of each run.
type convolving struct {
	conv             dense.Conv[float32]
	before           stateRows
	x                *Executor
	src, dst         scratch
	from, stride, to int // the channels' first column in src and its columns, and the columns of dst
	task             rowTask
}

// convolving reads the weights "conv" and "conv_bias", and the section "conv".
func (b *Bind) convolving(layer uint32, channels, taps int) (*convolving, error) {
	c := &convolving{x: b.x}
	var err error
	if c.conv, err = b.conv("conv", "conv_bias", channels, taps); err != nil {
		return nil, err
	}
	c.before, err = b.stateRows(layer, "conv", (taps-1)*channels)
	c.task.run = c.pieces
	return c, err
}

// run convolves the channels from column from of src, stride columns wide.
func (c *convolving) run(s *Step) {
	c.task.s = s
	s.parallel(len(s.Runs)*c.count(), 1, &c.task)
}

func (c *convolving) count() int { return (c.conv.Width + convColumns - 1) / convColumns }

func (c *convolving) pieces(s *Step, _, lo, hi int) {
	for i := lo; i < hi; i++ {
		run, from := &s.Runs[i/c.count()], i%c.count()*convColumns
		end := min(from+convColumns, c.conv.Width)
		src := c.x.floatsOf(c.src)[run.First*c.stride+c.from:]
		dst, before := c.x.floatsOf(c.dst)[run.First*c.to:], c.before.of(run)
		c.conv.Forward(dst, c.to, src, c.stride, before, run.Len, from, end)
		c.conv.Keep(before, src, c.stride, run.Len, from, end)
		for r := range run.Len {
			row := dst[r*c.to+from : r*c.to+end]
			kernel.SiLU(row, row)
		}
	}
}
