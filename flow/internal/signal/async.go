package signal

import (
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

func refineAsync(_ *graph.Node, s node.Settings, spec *graph.Spec) error {
	spec.Prod = []int{s.Int("most")}
	return nil
}

// divisions is the number of filter phases per frame; between phases the filter
// is interpolated linearly, with an error of about -100 dB.
const divisions = 512

// slowest is the largest step of the reading position, in frames.
const slowest = 1 << 16

// An async reads its input at positions that are ratio apart and may vary per
// frame (J. O. Smith, P. Gossett, A flexible sampling-rate conversion method,
// 1984). All rows follow the first row's ratio. Each input token makes at most
// `most` frames, and frames are given out in groups of that many. N input frames
// become those at positions less than N, and as many after them as the last group
// wants; behind the end the signal is silent.
type async[F node.Float] struct {
	node.Reporter
	rows, most, half int
	filter           []F       // [divisions+1, 2 half] taps of each part of a frame
	past             []F       // [rows, 2 half + 2] the frames before the call
	x                []F       // [2 half + 2 + MaxTokens] of one row
	at               []float64 // whole and fractional position of the next output, relative to the next input frame; number of waiting frames; last step
	waiting          []F       // [rows, most] frames of an incomplete group
	from             []int     // for each output of the call: position in x
	part             []F       // and fraction of a frame
	y                []F       // [(MaxTokens+1) most] of one row
}

func newAsync[F node.Float](cfg node.Config) (node.Instance[F], error) {
	down := cfg.Settings.Int("down")
	a := &async[F]{rows: cfg.Node.Rows.B * cfg.Node.Rows.C, most: cfg.Settings.Int("most"), half: ResamplingTier(96).halfLength() * down, at: make([]float64, 4)}
	a.Reporter = node.NewReporter(cfg, a.half)
	prototype := KaiserTaps(96, down*divisions)
	taps := 2 * a.half
	a.filter = make([]F, (divisions+1)*taps)
	for p := range divisions + 1 {
		for m := range taps {
			// Tap m is at frame m - half + 1 from the position's whole part.
			if at := a.half*divisions + p - (m-a.half+1)*divisions; at >= 0 && at < len(prototype) {
				a.filter[p*taps+m] = F(prototype[at] * divisions)
			}
		}
	}
	a.past, a.x = make([]F, a.rows*(taps+2)), make([]F, taps+2+max(taps, cfg.MaxTokens))
	most := (cfg.MaxTokens + 1) * a.most
	a.waiting, a.from, a.part, a.y = make([]F, a.rows*a.most), make([]int, most), make([]F, most), make([]F, most)
	return a, nil
}

// step returns how far the position moves at frame i of the call.
func (a *async[F]) step(p *node.Param[F], i int) float64 {
	ratio := float64(p.Data[0])
	if p.Framed {
		ratio = float64(p.Data[i])
	}
	if !(ratio > 1.0/slowest) {
		return slowest
	}
	return max(1/ratio, 1/float64(a.most))
}

// positions computes the positions of the call's outputs.
func (a *async[F]) positions(c *node.Call[F]) (made int) {
	whole, part := a.at[0], a.at[1]
	for i := range c.Tokens {
		for range a.most {
			if whole+float64(a.half) > 0 { // a frame that it needs has not arrived
				break
			}
			// Frame i of the call is at x[len(past)+i].
			a.from[made] = len(a.past)/a.rows + i + int(whole) - a.half + 1
			a.part[made] = F(part)
			made++
			part += a.step(&c.Param[0], i)
			k := math.Floor(part)
			whole, part = whole+k, part-k
		}
		whole--
	}
	a.at[0], a.at[1] = whole, part
	if c.Tokens > 0 {
		a.at[3] = a.step(&c.Param[0], c.Tokens-1)
	}
	return made
}

// Drain gives the frames that waited for input after their position. The ratio
// stays as it was last.
func (a *async[F]) Drain(c *node.Call[F]) graph.Code {
	waiting, made := int(a.at[2]), 0
	taps := 2 * a.half
	for c.Produced = 0; c.Produced < c.Out[0].N/a.most; {
		if a.at[0] >= 0 && waiting == 0 {
			break
		}
		for r := range a.rows {
			y := F(0)
			if first := taps + 2 + int(a.at[0]) - a.half + 1; first < taps+2 {
				copy(a.x, a.past[r*(taps+2):][:taps+2])
				clear(a.x[taps+2:][:taps])
				y = a.read(first, F(a.at[1]))
			}
			a.waiting[r*a.most+waiting] = y
		}
		part := a.at[1] + a.at[3]
		k := math.Floor(part)
		a.at[0], a.at[1] = a.at[0]+k, part-k
		if waiting++; waiting < a.most {
			continue
		}
		waiting = 0
		for r := range a.rows {
			copy(c.Out[0].Row(r)[made:], a.waiting[r*a.most:][:a.most])
		}
		made += a.most
		c.Produced++
	}
	a.at[2] = float64(waiting)
	return graph.Success
}

// read interpolates between the frames in x from first on, part of a frame
// behind the middle.
func (a *async[F]) read(first int, part F) F {
	taps := 2 * a.half
	x := a.x[first:][:taps]
	at := part * divisions
	p := min(int(at), divisions-1)
	low := dsp.Dot(x, a.filter[p*taps:][:taps])
	high := dsp.Dot(x, a.filter[(p+1)*taps:][:taps])
	return low + F((at-F(p))*(high-low))
}

func (a *async[F]) Forward(c *node.Call[F]) graph.Code {
	made, waiting := a.positions(c), int(a.at[2])
	taps := 2 * a.half
	c.Produced = (waiting + made) / a.most
	out := c.Produced * a.most
	for r := range a.rows {
		past := a.past[r*(taps+2):][:taps+2]
		copy(a.x, past)
		copy(a.x[taps+2:], c.In[0].Row(r))
		queue := a.waiting[r*a.most:][:a.most]
		copy(a.y, queue[:waiting])
		for j := range made {
			a.y[waiting+j] = a.read(a.from[j], a.part[j])
		}
		copy(c.Out[0].Row(r), a.y[:out])
		copy(queue, a.y[out:waiting+made])
		copy(past, a.x[c.Tokens:])
	}
	a.at[2] = float64(waiting + made - out)
	node.Report(a.Reporter, c)
	return graph.Success
}

func (a *async[F]) Reset() {
	clear(a.past)
	clear(a.at)
}

func (a *async[F]) StateBytes() int {
	return node.FloatBytes[float64](len(a.at)) + node.FloatBytes[F](len(a.past)+len(a.waiting))
}

func (a *async[F]) Save(dst []byte) int {
	n := node.PutFloats(dst, a.at)
	n += node.PutFloats(dst[n:], a.past)
	return n + node.PutFloats(dst[n:], a.waiting)
}

func (a *async[F]) Load(src []byte) graph.Code {
	if len(src) != a.StateBytes() {
		return graph.State
	}
	at := make([]float64, 4)
	n := node.GetFloats(at, src)
	if !(at[0] >= -float64(a.half)-1 && at[0] <= float64(a.most+1)*slowest && at[3] >= 0 && at[3] <= slowest && at[1] >= 0 && at[1] < 1 && at[2] >= 0 && at[2] < float64(a.most)) {
		return graph.State
	}
	copy(a.at, at)
	n += node.GetFloats(a.past, src[n:])
	node.GetFloats(a.waiting, src[n:])
	return graph.Success
}
