package signal

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// maxFrames bounds delays, since a longer line is most likely a mistake in the
// plan.
const maxFrames = 1 << 26

var interpolations = []string{"none", "linear", "lagrange"}

// DelayTypes returns the table of the delay line: fixed or modulated, integer or
// fractional.
//
//	         n − delay           n
//	── ○ ── ○ ─┴─ ○ ── ○ ── ○ ── ●      none      the frame before the place
//	   └────┴─────┴────┘                linear    a line through two frames
//	     weights by place               lagrange  a cubic through four
//
// A constant delay copies runs of frames; a modulated one is computed frame by
// frame.
func DelayTypes() node.Table {
	return node.Table{{
		Name: "Delay", Doc: "y[n] = x[n - delay]; a modulated delay is clamped to 0..max_delay frames (0: one second)",
		Ins: []string{"in"}, Outs: []string{"out"}, Framed: []node.Default{{Name: "delay"}},
		Settings: []node.Setting{{Name: "interpolation", Among: interpolations}, {Name: "max_delay", Most: maxFrames}},
		Adjoint:  true, Jacobian: graph.Toeplitz, New32: newDelay[float32], New64: newDelay[float64],
	}}
}

// A delayer is a Delay. Each row has a line of past frames, and for sweeps one
// of gradients: of later outputs if the delay is constant, of earlier inputs if
// it varies.
type delayer[F node.Float] struct {
	node.Reporter
	how      interpolation
	channels int
	longest  float64
	frame    int64
	size     int
	lines    []line[F]
	back     []line[F]
}

func newDelay[F node.Float](cfg node.Config) (node.Instance[F], error) {
	d := &delayer[F]{
		Reporter: node.NewReporter(cfg, 0), how: interpolation(slices.Index(interpolations, cfg.Settings.Word("interpolation"))),
		channels: cfg.Node.Rows.C,
	}
	d.longest = max(0, math.Ceil(slices.Max(cfg.Node.Spec.Params[0].Value.Data)))
	if len(cfg.Node.Mods) > 0 {
		most := float64(cfg.Settings.Int("max_delay"))
		if most == 0 {
			most = cfg.SampleRate
		}
		d.longest = max(d.longest, most)
	}
	if d.longest > maxFrames {
		return nil, &graph.Error{Code: graph.InvalidArg, Path: cfg.Node.Path + ".params.delay", Names: []string{cfg.Node.Name},
			Text: fmt.Sprintf("a delay of more than %d frames", maxFrames)}
	}
	d.size = 1
	for d.size < int(d.longest)+4+cfg.MaxTokens {
		d.size *= 2
	}
	rows := cfg.Node.Rows.B * cfg.Node.Rows.C
	d.lines = lines[F](rows, d.size)
	if cfg.Training {
		d.back = lines[F](rows, d.size)
	}
	return d, nil
}

func lines[F node.Float](rows, size int) (list []line[F]) {
	for range rows {
		list = append(list, line[F]{make([]F, size)})
	}
	return list
}

// taps returns the taps of a delay, clamped to the line.
func (d *delayer[F]) taps(delay F) taps[F] {
	return places[F](d.how, min(max(float64(delay), 0), d.longest))
}

func (d *delayer[F]) Forward(c *node.Call[F]) graph.Code {
	d.run(c)
	node.Report(d.Reporter, c)
	return graph.Success
}

func (d *delayer[F]) run(c *node.Call[F]) {
	p := &c.Param[0]
	for r := range d.lines {
		l, x, y, v := d.lines[r], c.In[0].Row(r), c.Out[0].Row(r), p.Row(r, d.channels)
		l.write(d.frame, x)
		if p.Framed {
			for i := range y {
				t, n := d.taps(v[i]), d.frame+int64(i)
				sum := F(0)
				for m := range t.n {
					sum += F(t.w[m] * *l.at(n - t.k - int64(m)))
				}
				y[i] = sum
			}
			continue
		}
		t := d.taps(v[0])
		for m := range t.n {
			l.add(y, d.frame-t.k-int64(m), t.w[m], m == 0)
		}
	}
	d.frame += int64(c.Tokens)
}

func (d *delayer[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(d.Reporter, c, func() { d.run(c) })
}

func (d *delayer[F]) Reset() {
	d.frame = 0
	for _, l := range d.lines {
		clear(l.ring)
	}
}

func (d *delayer[F]) StateBytes() int { return 8 + node.FloatBytes[F](len(d.lines)*d.size) }

func (d *delayer[F]) Save(dst []byte) int {
	binary.LittleEndian.PutUint64(dst, uint64(d.frame))
	n := 8
	for _, l := range d.lines {
		n += node.PutFloats(dst[n:], l.ring)
	}
	return n
}

func (d *delayer[F]) Load(src []byte) graph.Code {
	if len(src) != d.StateBytes() {
		return graph.State
	}
	d.frame = int64(binary.LittleEndian.Uint64(src))
	n := 8
	for _, l := range d.lines {
		n += node.GetFloats(l.ring, src[n:])
	}
	return graph.Success
}
