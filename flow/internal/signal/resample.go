package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// ResampleTypes returns the table of nodes that change the sampling rate.
//
//	            up          filter h                    down
//	x[i] ──▶ zeros between ──▶ cut at the lower ──▶ every down-th ──▶ y[j]
//	                          rate's Nyquist
//
//	y[j] = Σ h[j·down − i·up] x[i]
//
// A [resamplingFilter] computes this without the zeros, and [KaiserTaps] or
// [steepTaps] designs the taps.
func ResampleTypes() node.Table {
	tier := node.Setting{Name: "tier", Least: 1, Value: 96}
	cutoff := node.Setting{Name: "cutoff", Most: 98}
	factor := []node.Setting{{Name: "factor", Least: 1, Value: 2}, tier, cutoff}
	both := []node.Setting{{Name: "up", Least: 1, Value: 1}, {Name: "down", Least: 1, Value: 1}, tier, cutoff}
	entry := func(name, doc string, settings []node.Setting) node.Type {
		return node.Type{Name: name, Doc: doc, Ins: []string{"in"}, Outs: []string{"out"}, Settings: settings, Adjoint: true, Jacobian: graph.Toeplitz,
			Refine: refineResampler, New32: newResampler[float32], New64: newResampler[float64]}
	}
	return node.Table{
		entry("Resample", "changes the rate by up/down with a polyphase filter of 60, 96, 120 or 140 dB, or with custom taps; cutoff: the pass band in percent of the lower Nyquist frequency, from which on all is attenuated (0: half at Nyquist)", both),
		entry("Upsample", "multiplies the rate by a factor", factor),
		entry("Downsample", "divides the rate by a factor", factor),
		{Name: "AsyncResample", Doc: "resamples by a ratio that may be modulated; gives at most most frames per input frame; N frames become ⌈N·ratio⌉, rounded up to a multiple of most",
			Ins: []string{"in"}, Outs: []string{"out"}, Framed: []node.Default{{Name: "ratio", Value: 1}}, Dynamic: true,
			Settings: []node.Setting{{Name: "most", Least: 1, Value: 1}, {Name: "down", Least: 1, Value: 1}},
			Refine:   refineAsync, New32: newAsync[float32], New64: newAsync[float64]},
	}
}

// rates returns the factors by which a type's settings multiply and divide the
// rate.
func rates(typ string, s node.Settings) (up, down int) {
	switch typ {
	case "Upsample":
		return s.Int("factor"), 1
	case "Downsample":
		return 1, s.Int("factor")
	}
	return s.Int("up"), s.Int("down")
}

func refineResampler(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	up, down := rates(n.Type, s)
	spec.Cons, spec.Prod = []int{down}, []int{up}
	if ResamplingTier(s.Int("tier")).halfLength() == 0 {
		return node.Bad(n, "tier", "60, 96, 120 or 140 wanted")
	}
	if n.Param("taps") == nil {
		return nil
	}
	taps, err := node.TakeParam(n, node.Default{Name: "taps"}, true)
	if err != nil {
		return err
	}
	last := len(spec.Params) - 1
	spec.Params = append(spec.Params[:last:last], taps, spec.Params[last])
	shapes := spec.Shapes
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if taps.Value.B != 1 || taps.Value.C != 1 && taps.Value.C != in[0].C {
			return nil, node.Mismatch(n, "taps are [1, 1 or channels, taps]")
		}
		return shapes(in)
	}
	return nil
}

// A resampler is a Resample, Upsample or Downsample: one filter for each row of
// taps.
type resampler[F node.Float] struct {
	node.Reporter
	filters  []*resamplingFilter[F] // one, or one per channel
	channels int
	taps     []F       // custom taps, as last set
	sums     []float64 // [rows, taps]: gradient of the taps
	past     []F       // of one row
}

func newResampler[F node.Float](cfg node.Config) (node.Instance[F], error) {
	up, down := rates(cfg.Node.Type, cfg.Settings)
	tier, cutoff, ratio := ResamplingTier(cfg.Settings.Int("tier")), cfg.Settings.Int("cutoff"), max(up, down)
	given := len(cfg.Node.Spec.Params) > 1
	f := &resampler[F]{channels: cfg.Node.Rows.C}
	rows, filters := cfg.Node.Rows.B*cfg.Node.Rows.C, 1
	var h []F
	switch {
	case given:
		v := cfg.Node.Spec.Params[0].Value
		h, filters = make([]F, v.F), v.C
		f.taps = make([]F, len(v.Data))
		if cfg.Training {
			f.sums = make([]float64, rows*v.F)
		}
	case ratio == 1:
		h = []F{1}
	default:
		f.Reporter = node.NewReporter(cfg, tier.reach(cutoff)*down)
		for _, v := range tier.taps(cutoff, ratio) {
			h = append(h, F(float64(up)*v))
		}
	}
	if f.taps != nil || ratio == 1 {
		f.Reporter = node.NewReporter(cfg, 0)
	}
	for range filters {
		x := newResamplingFilter[F](up, down, len(h), rows/filters, cfg.MaxTokens, cfg.Training)
		x.SetTaps(h)
		f.filters = append(f.filters, x)
	}
	f.past = make([]F, f.filters[0].history)
	return f, nil
}

// filter returns the filter of row r and the row's number there.
func (f *resampler[F]) filter(r int) (*resamplingFilter[F], int) {
	if len(f.filters) == 1 {
		return f.filters[0], r
	}
	return f.filters[r%f.channels], r / f.channels
}

// tune sets the custom taps if they changed since the last call.
func (f *resampler[F]) tune(p []node.Param[F]) {
	if f.taps == nil {
		return
	}
	h := p[0].Data[:len(f.taps)]
	for i, v := range h {
		if v != f.taps[i] {
			copy(f.taps, h)
			n := len(h) / len(f.filters)
			for k, x := range f.filters {
				x.SetTaps(h[k*n : (k+1)*n])
			}
			return
		}
	}
}

func (f *resampler[F]) Forward(c *node.Call[F]) graph.Code {
	f.run(c)
	node.Report(f.Reporter, c)
	return graph.Success
}

func (f *resampler[F]) run(c *node.Call[F]) {
	f.tune(c.Param)
	for r := range c.In[0].B * c.In[0].C {
		x, row := f.filter(r)
		x.Forward(row, c.Out[0].Row(r), c.In[0].Row(r))
	}
}

func (f *resampler[F]) Bind(c *node.Call[F]) func() {
	return node.Bind(f.Reporter, c, func() { f.run(c) })
}

func (f *resampler[F]) Reset() {
	for _, x := range f.filters {
		x.Reset()
	}
}

func (f *resampler[F]) StateBytes() int { return len(f.filters) * f.filters[0].StateBytes() }

func (f *resampler[F]) Save(dst []byte) int {
	n := 0
	for _, x := range f.filters {
		n += x.Save(dst[n:])
	}
	return n
}

func (f *resampler[F]) Load(src []byte) graph.Code {
	if len(src) != f.StateBytes() {
		return graph.State
	}
	n := f.filters[0].StateBytes()
	for i, x := range f.filters {
		x.Load(src[i*n : (i+1)*n])
	}
	return graph.Success
}

// Needs returns the state if taps are custom: their gradient reads the inputs.
func (f *resampler[F]) Needs() node.Needs {
	if f.taps == nil {
		return 0
	}
	return node.NeedX | node.NeedS0
}

func (f *resampler[F]) ResetAdjoint() {
	for _, x := range f.filters {
		x.ResetAdjoint()
	}
}

func (f *resampler[F]) Backward(b *node.Back[F]) graph.Code {
	f.tune(b.Param)
	d := &b.DOut[0]
	for r := range d.B * d.C {
		x, row := f.filter(r)
		if b.DIn[0].Data != nil {
			x.Backward(row, b.DIn[0].Row(r), d.Row(r))
		}
		if f.taps == nil || b.DParam[0].Sum == nil {
			continue
		}
		f.pastOf(r, b.State0)
		n := len(f.sums) / (d.B * d.C)
		x.AddTaps(f.sums[r*n:(r+1)*n], f.past, b.In[0].Row(r), d.Row(r))
	}
	node.Report(f.Reporter, &b.Call)
	return graph.Success
}

// pastOf reads the history of a row from a snapshot.
func (f *resampler[F]) pastOf(r int, state []byte) {
	at, row := 0, r
	if len(f.filters) > 1 {
		at, row = r%f.channels*f.filters[0].StateBytes(), r/f.channels
	}
	node.GetFloats(f.past, state[at+row*node.FloatBytes[F](len(f.past)):])
}

// FinishAdjoint adds the sums of all rows of a channel, or of all.
func (f *resampler[F]) FinishAdjoint(p []node.Grad[F]) {
	if f.taps != nil {
		node.AddFolded(p[0].Sum, f.sums)
		clear(f.sums)
	}
}
