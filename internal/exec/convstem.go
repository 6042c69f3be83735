package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// A convStem is two convolutions of width 3 over the frames of a sound, each
// with an activation, the second with a step of two, and the addition of learned
// positions. A convolution is a product with rows of three frames.
type convStem struct {
	x             *Executor
	in, out       *register
	mels, dim     int
	first, second *linear
	rows1, rows2  scratch // [frames, 3·mels], [frames/2, 3·dim]
	inner         scratch // [frames, dim]
	pos           *kernel.Matrix
	line          scratch
	act           func(dst, src []float32)
	gather        [2]rowTask
	finish        [2]rowTask
}

// bindConvStem binds the convolutions before an audio encoder (Whisper, arXiv
// 2212.04356). Weights are [dim, channels·3], the three taps of a channel side by
// side as Hugging Face stores them.
func bindConvStem(b *Bind, p *plan.PatchParams) (Kernel, error) {
	c := &convStem{x: b.x, in: b.In[0], out: b.Out[0], mels: int(p.Channels), dim: int(p.Dim)}
	c.first, c.second = b.linear(3*c.mels), b.linear(3*c.dim)
	if err := b.add(c.first, "conv1", "conv1_bias", c.dim); err != nil {
		return nil, err
	}
	if err := b.add(c.second, "conv2", "conv2_bias", c.dim); err != nil {
		return nil, err
	}
	c.first.parts[0].stride, c.second.parts[0].stride = c.dim, c.dim
	half := (b.maxRows + 1) / 2
	c.rows1, c.rows2 = b.floats(3*c.mels*b.maxRows), b.floats(3*c.dim*half)
	c.inner = b.floats(c.dim * b.maxRows)
	if b.Has("pos") {
		v, err := b.weight("pos")
		if err != nil {
			return nil, err
		}
		if c.pos, err = b.matrix("pos", v.Shape.Rows(), c.dim); err != nil {
			return nil, err
		}
		c.line = b.floats(c.dim * b.x.cfg.Threads)
	}
	c.act = plainActs[plan.ActGELUErf]
	c.gather[0].run, c.gather[1].run = c.gatherFirst, c.gatherSecond
	c.finish[0].run, c.finish[1].run = c.finishFirst, c.finishSecond
	return c.run, nil
}

func (c *convStem) run(s *Step) error {
	frames, half := c.in.count(s), c.out.count(s)
	if (frames+1)/2 != half {
		return stepErrorf("%d frames make %d rows, not %d", frames, (frames+1)/2, half)
	}
	if c.pos != nil && half > c.pos.Rows {
		return stepErrorf("%d rows of sound, the model has positions for %d: cut it", half, c.pos.Rows)
	}
	for i := range c.gather {
		c.gather[i].s, c.finish[i].s = s, s
	}
	s.parallel(frames, grainFor(3*c.mels), &c.gather[0])
	c.first.parts[0].dst = c.x.floatsOf(c.inner)
	if err := c.first.run(s, c.x.floatsOf(c.rows1), frames); err != nil {
		return err
	}
	s.parallel(frames, grainFor(8*c.dim), &c.finish[0])
	s.parallel(half, grainFor(3*c.dim), &c.gather[1])
	c.second.parts[0].dst = c.out.f32(s)
	if err := c.second.run(s, c.x.floatsOf(c.rows2), half); err != nil {
		return err
	}
	s.parallel(half, grainFor(8*c.dim), &c.finish[1])
	return nil
}

// window3 writes the three frames around frame t, channel by channel; frames outside
// are zero.
func window3(dst, src []float32, t, frames, channels int) {
	for k := range 3 {
		at := t + k - 1
		if at < 0 || at >= frames {
			for c := range channels {
				dst[3*c+k] = 0
			}
			continue
		}
		for c, v := range src[at*channels : (at+1)*channels] {
			dst[3*c+k] = v
		}
	}
}

func (c *convStem) gatherFirst(s *Step, _, lo, hi int) {
	src, dst, n := s.patches.Values, c.x.floatsOf(c.rows1), c.in.count(s)
	for t := lo; t < hi; t++ {
		window3(dst[t*3*c.mels:(t+1)*3*c.mels], src, t, n, c.mels)
	}
}

func (c *convStem) gatherSecond(s *Step, _, lo, hi int) {
	src, dst, n := c.x.floatsOf(c.inner), c.x.floatsOf(c.rows2), c.in.count(s)
	for t := lo; t < hi; t++ {
		window3(dst[t*3*c.dim:(t+1)*3*c.dim], src, 2*t, n, c.dim)
	}
}

func (c *convStem) finishFirst(_ *Step, _, lo, hi int) {
	x := c.x.floatsOf(c.inner)[lo*c.dim : hi*c.dim]
	c.act(x, x)
}

func (c *convStem) finishSecond(s *Step, worker, lo, hi int) {
	y := c.out.f32(s)
	for t := lo; t < hi; t++ {
		row := y[t*c.dim : (t+1)*c.dim]
		c.act(row, row)
		if c.pos != nil {
			size := len(c.pos.Data) / c.pos.Rows
			line := c.x.floatsOf(c.line)[worker*c.dim : (worker+1)*c.dim]
			kernel.LoadRow(line, c.pos.DType, c.pos.Data[t*size:(t+1)*size])
			kernel.Add(row, row, line, 1)
		}
	}
}
