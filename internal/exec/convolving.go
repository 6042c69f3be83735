package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
)

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
