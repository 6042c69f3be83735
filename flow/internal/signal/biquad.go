package signal

import (
	"math"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// BiquadTypes returns the table of the second-order filter.
//
//	f0, q, gain_db ──design, float64──▶ b0 b1 b2 a1 a2 ──▶ y = b0 x + s1
//	                                                      s1 = b1 x − a1 y + s2
//	                                                      s2 = b2 x − a2 y
//
// Backward, the gradients of constant coefficients are summed over the whole
// stream and pass through the derivative of the design once; those of
// coefficients designed per frame pass through it frame by frame.
func BiquadTypes() node.Table {
	return node.Table{{
		Name: "Biquad", Doc: "second-order filter, direct form II transposed, designed in float64",
		Ins: []string{"in"}, Outs: []string{"out"}, Settings: []node.Setting{{Name: "kind", Among: kinds}},
		FramedOf: func(s node.Settings) []node.Default {
			if s.Word("kind") == kinds[coefficients] {
				return []node.Default{{Name: "b0", Value: 1}, {Name: "b1"}, {Name: "b2"}, {Name: "a1"}, {Name: "a2"}}
			}
			return []node.Default{{Name: "f0", Value: 1000}, {Name: "q", Value: math.Sqrt(.5)}, {Name: "gain_db"}}
		},
		Adjoint: true, Jacobian: graph.Toeplitz, New32: newFilter[float32], New64: newFilter[float64],
	}}
}

// A filter is a Biquad. Rows with constant parameters run in a bank, side by
// side. If a parameter has a value per frame, coefficients are designed frame
// by frame and rows run one after another.
type filter[F node.Float] struct {
	node.Reporter
	kind       kind
	sampleRate float64
	channels   int
	params     int // number of parameters before thermo.heat

	own     *dsp.Bank[F] // the first of places: a bank of this node alone
	places  []place[F]
	current int    // index of the place that holds the state
	tuned   [][5]F // parameters from which the rows were designed
	ready   bool
	designs int // how many times a row was designed

	// For frames with individual coefficients.
	coef   dsp.Framed[F] // of one row of a call
	lambda [][2]F

	// For backward sweeps.
	sums  [][5]float64 // gradients of constant coefficients before the last reset
	waste []F          // the input's gradient if it is not requested
	t     []F          // gradients of the state in one row of a call
}

// A place is rows of a bank, from row first on. Fused nodes share a bank.
type place[F node.Float] struct {
	bank  *dsp.Bank[F]
	first int
	moved *bool // some state of the bank is in another place
}

func newFilter[F node.Float](cfg node.Config) (node.Instance[F], error) {
	rows := cfg.Node.Rows.B * cfg.Node.Rows.C
	f := &filter[F]{
		Reporter: node.NewReporter(cfg, 0), kind: kind(slices.Index(kinds, cfg.Settings.Word("kind"))), sampleRate: cfg.SampleRate,
		channels: cfg.Node.Rows.C, params: len(cfg.Node.Spec.Params) - 1,
		own: dsp.NewBank[F](rows), tuned: make([][5]F, rows),
	}
	f.places = []place[F]{{bank: f.own, moved: new(bool)}}
	n := cfg.MaxTokens
	scratch := make([]F, 5*n)
	f.coef = dsp.Framed[F]{B0: scratch[:n], C1: scratch[n : 2*n], C2: scratch[2*n : 3*n], A1: scratch[3*n : 4*n], A2: scratch[4*n:]}
	if cfg.Training {
		f.lambda, f.sums, f.waste, f.t = make([][2]F, rows), make([][5]float64, rows), make([]F, rows*n), make([]F, n+2)
	}
	return f, nil
}

// framed reports whether some parameter has a value for every frame.
func (f *filter[F]) framed(p []node.Param[F]) bool {
	for i := range f.params {
		if p[i].Framed {
			return true
		}
	}
	return false
}

// tune designs the rows whose constant parameters are not those of the last
// call.
func (f *filter[F]) tune(p []node.Param[F]) {
	for r := range f.tuned {
		var v [5]F
		for k := range f.params {
			v[k] = p[k].At(r, f.channels)
		}
		if f.ready && v == f.tuned[r] {
			continue
		}
		f.tuned[r] = v
		f.designs++
		c := f.coefficients(v)
		for _, p := range f.places {
			p.bank.Set(p.first+r, c)
		}
	}
	f.ready = true
}

// coefficients designs one filter.
func (f *filter[F]) coefficients(v [5]F) dsp.Coefficients {
	if f.kind == coefficients {
		return dsp.Coefficients{B0: float64(v[0]), B1: float64(v[1]), B2: float64(v[2]), A1: float64(v[3]), A2: float64(v[4])}
	}
	return design(f.kind, biquadResponse{float64(v[0]), float64(v[1]), float64(v[2])}, f.sampleRate)
}

func (f *filter[F]) Forward(c *node.Call[F]) graph.Code {
	f.run(c)
	node.Report(f.Reporter, c)
	return graph.Success
}

func (f *filter[F]) run(c *node.Call[F]) {
	f.moveState(0)
	if f.framed(c.Param) {
		f.forwardFramed(c)
		return
	}
	f.tune(c.Param)
	f.own.Forward(c.Out[0].Data, c.In[0].Data, c.In[0].N, c.Tokens)
}

// moveState moves the state to a place.
func (f *filter[F]) moveState(to int) {
	if f.current == to {
		return
	}
	a, b := &f.places[f.current], &f.places[to]
	for r := range f.tuned {
		b.bank.SetState(b.first+r, a.bank.State(a.first+r))
	}
	f.current, *a.moved = to, true
}

// designFrames fills in the coefficients of every frame of row r. Rows that have
// their parameters in common have them from the first.
func (f *filter[F]) designFrames(p []node.Param[F], r, n int) {
	if r > 0 && f.common(p) {
		return
	}
	list := f.knobs(p, r)
	for i := range n {
		b0, c1, c2, a1, a2 := f.coefficients(f.at(&list, i)).Direct()
		f.coef.B0[i], f.coef.C1[i], f.coef.C2[i], f.coef.A1[i], f.coef.A2[i] = F(b0), F(c1), F(c2), F(a1), F(a2)
	}
}

// common reports whether all rows have the same parameters.
func (f *filter[F]) common(p []node.Param[F]) bool {
	for k := range f.params {
		if p[k].B*p[k].C > 1 {
			return false
		}
	}
	return true
}

// A knob is one parameter of a row.
type knob[F node.Float] struct {
	values []F
	framed bool
}

// knobs are the parameters of row r.
func (f *filter[F]) knobs(p []node.Param[F], r int) (list [5]knob[F]) {
	for k := range f.params {
		list[k] = knob[F]{p[k].Row(r, f.channels), p[k].Framed}
	}
	return list
}

// at returns the parameters of frame i.
func (f *filter[F]) at(list *[5]knob[F], i int) (v [5]F) {
	for k := range list[:f.params] {
		if list[k].framed {
			v[k] = list[k].values[i]
		} else {
			v[k] = list[k].values[0]
		}
	}
	return v
}

func (f *filter[F]) forwardFramed(c *node.Call[F]) {
	for r := range f.tuned {
		f.designFrames(c.Param, r, c.Tokens)
		s := f.own.State(r)
		f.coef.Forward(c.Out[0].Row(r), c.In[0].Row(r), &s)
		f.own.SetState(r, s)
	}
}

func (f *filter[F]) Reset() {
	f.moveState(0)
	f.own.Reset()
}

func (f *filter[F]) StateBytes() int { return node.FloatBytes[F](2 * len(f.tuned)) }

func (f *filter[F]) Save(dst []byte) int {
	n, p := 0, &f.places[f.current]
	for r := range f.tuned {
		s := p.bank.State(p.first + r)
		n += node.PutFloats(dst[n:], s[:])
	}
	return n
}

func (f *filter[F]) Load(src []byte) graph.Code {
	if len(src) != f.StateBytes() {
		return graph.State
	}
	f.moveState(0)
	for r := range f.tuned {
		var s [2]F
		src = src[node.GetFloats(s[:], src):]
		f.own.SetState(r, s)
	}
	return graph.Success
}
