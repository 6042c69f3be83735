package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"math/rand/v2"

	"atenia/flow"
	"atenia/flow/fit"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// noiseFrames is the length of the sound.
const noiseFrames = 9600

// A band is one peaking filter.
type band struct{ f0, q, gain float64 }

var (
	// wanted holds the settings that made the target.
	wanted = []band{{120, 0.9, 6}, {900, 1.4, -7.5}, {5200, 0.8, 4.5}}
	// flat holds plausible initial settings: flat bands, spread over the
	// octaves.
	flat = []band{{80, 1, 0.5}, {1000, 1, -0.5}, {8000, 1, 0.5}}
)

// bandsPlan returns the graph of some bands in series.
func bandsPlan(bands []band) (*graph.Plan, error) {
	nodes, edges, last := `{"name": "in", "type": "Input"}`, "", "in"
	for i, b := range bands {
		name := fmt.Sprintf("band%d", i+1)
		nodes += fmt.Sprintf(`, {"name": %q, "type": "Biquad", "supports_v2": true, "params": {"kind": "peaking", "f0": %g, "q": %g, "gain_db": %g}}`, name, b.f0, b.q, b.gain)
		edges += fmt.Sprintf(`{"source": %q, "target": %q}, `, last, name)
		last = name
	}
	return graph.Parse(fmt.Appendf(nil, `{"nodes": [%s, {"name": "out", "type": "Probe"}], "edges": [%s{"source": %q, "target": "out"}]}`, nodes, edges, last))
}

// A learned is what learning reached.
type learned struct {
	*fit.Result
	bands []band
	error float64 // largest difference of the responses from 20 Hz to 20 kHz, in dB
}

// learn learns the settings of an equaliser from a sound and its equalised version: three
// peaking filters find, by gradient, the settings that made the target. It prints the progress
// to w.
func learn(ctx context.Context, w io.Writer) (*learned, error) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := node.Tensor[float64]{Data: make([]float64, noiseFrames), B: 1, C: 1, N: noiseFrames}
	for i := range noise.Data {
		noise.Data[i] = r.NormFloat64() * 0.25
	}
	sound := fit.Streams[float64]{"in": noise}
	options := flow.Options{SampleRate: rate, BlockFrames: 480}
	room, err := bandsPlan(wanted)
	if err != nil {
		return nil, err
	}
	s, err := flow.New[float64](room, options)
	if err != nil {
		return nil, err
	}
	target, err := s.Run(sound, noiseFrames/options.BlockFrames)
	if err != nil {
		return nil, err
	}
	begin, err := bandsPlan(flat)
	if err != nil {
		return nil, err
	}
	var params []fit.Param
	for i := range flat {
		name := fmt.Sprintf("band%d", i+1)
		params = append(params, fit.Param{Node: name, Name: "f0", Positive: true}, fit.Param{Node: name, Name: "q", Positive: true},
			fit.Param{Node: name, Name: "gain_db", Scale: 10}) // decibels go ten times as far as octaves do
	}
	p, err := fit.New(begin, fit.Config[float64]{Options: options, Inputs: sound, Params: params, Loss: fit.SquaredError(target)})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "largest error of the response: %.2f dB\n", apart(flat, wanted))
	result, err := fit.Fit(ctx, p, fit.Settings{Steps: 300, Rate: 0.05, Each: func(step int, loss float64) {
		if step%50 == 0 {
			fmt.Fprintf(w, "step %3d  mean squared error %.3e\n", step, loss)
		}
	}})
	if err != nil {
		return nil, err
	}
	l := &learned{Result: result, bands: bandsOf(result.Plan)}
	l.error = apart(l.bands, wanted)
	for i, b := range l.bands {
		fmt.Fprintf(w, "band %d  %7.1f Hz  q %.3f  %+.2f dB   wanted %5.0f Hz  q %.3f  %+.2f dB\n",
			i+1, b.f0, b.q, b.gain, wanted[i].f0, wanted[i].q, wanted[i].gain)
	}
	fmt.Fprintf(w, "largest error of the response: %.4f dB after %d steps\n", l.error, l.Steps)
	return l, nil
}

// bandsOf reads the bands of a plan.
func bandsOf(p *graph.Plan) (all []band) {
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Type == "Biquad" {
			v := func(name string) float64 { return n.Param(name).Value.Data[0] }
			all = append(all, band{v("f0"), v("q"), v("gain_db")})
		}
	}
	return all
}

// apart returns the largest difference of two responses, in decibels.
func apart(a, b []band) (most float64) {
	const steps = 200
	for i := range steps + 1 {
		f := 20 * math.Pow(1000, float64(i)/steps)
		most = max(most, math.Abs(response(a, f)-response(b, f)))
	}
	return most
}

// response returns the gain of some bands at a frequency, in decibels: the
// formulas of the Audio EQ Cookbook (Bristow-Johnson), written once more so that
// they check the nodes.
func response(bands []band, f float64) (db float64) {
	z := cmplx.Exp(complex(0, -2*math.Pi*f/rate))
	for _, b := range bands {
		a := math.Pow(10, b.gain/40)
		w := 2 * math.Pi * b.f0 / rate
		alpha := math.Sin(w) / (2 * b.q)
		c := complex(-2*math.Cos(w), 0)
		num := complex(1+alpha*a, 0) + c*z + complex(1-alpha*a, 0)*z*z
		den := complex(1+alpha/a, 0) + c*z + complex(1-alpha/a, 0)*z*z
		db += 20 * math.Log10(cmplx.Abs(num/den))
	}
	return db
}
