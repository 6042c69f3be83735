package flow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// A gradientCase is a node whose adjoint is compared with its forward mode.
type gradientCase struct {
	typ      string
	params   string // as in a sketch
	channels int    // of every input; 2 when zero
	linear   bool   // in its inputs: the dot test needs no difference
	rough    string // parameters whose differences are no derivatives
	ratio    int    // oversample_ratio
	small    bool   // inputs near zero, where the node is smooth
	tokens   int    // of the streams of dot products and cuts; 4096 when zero
	counts   []int  // channels of the inputs, where they differ
	// rule, where the gradient is no derivative, is the definition of it: what an input of x, which gives y, contributes to
	// the gradients of the input and of the rough parameter, for each unit of y's.
	rule  func(x, y float64) (input, param float64)
	cues  []flow.Cue // what happens meanwhile
	below int        // not zero: the inputs are integers below it
}

// gradientCases reach the kinds of each type. A type of the catalogue that has
// an adjoint and no line here is tested with its defaults, as a node that may
// not be linear.
var gradientCases = []gradientCase{
	{typ: "Gain", params: "gain=-0.7", linear: true},
	{typ: "Mix", params: "inputs=3", linear: true},
	{typ: "Split", linear: true},
	{typ: "Merge", params: "inputs=3", linear: true},
	{typ: "Matrix", params: `matrix={"shape":[1,3,2],"data":[1,-2,0.5,3,0.25,-1]}`, linear: true},
	{typ: "Linear", params: `matrix={"shape":[1,1,2],"data":[1,-2]} bias={"shape":[1,1,1],"data":[0.5]}`},
	{typ: "Pan", params: "pan=0.3", channels: 1, linear: true},
	{typ: "Biquad", params: "kind=lowpass f0=900 q=0.9", linear: true},
	{typ: "Biquad", params: "kind=highpass f0=300 q=2", linear: true},
	{typ: "Biquad", params: "kind=bandpass f0=3000 q=4", linear: true},
	{typ: "Biquad", params: "kind=notch f0=3000 q=4", linear: true},
	{typ: "Biquad", params: "kind=allpass f0=2000 q=1", linear: true},
	{typ: "Biquad", params: "kind=peaking f0=2000 q=1 gain_db=6", linear: true},
	{typ: "Biquad", params: "kind=lowshelf f0=500 q=0.8 gain_db=-6", linear: true},
	{typ: "Biquad", params: "kind=highshelf f0=5000 q=0.8 gain_db=4", linear: true},
	{typ: "Biquad", params: "kind=coefficients b0=0.5 b1=-0.25 b2=0.1 a1=-1.2 a2=0.5", linear: true},
	{typ: "SVF", params: "kind=lowpass f0=900 q=2", linear: true},
	{typ: "SVF", params: "kind=bandpass f0=900 q=2", linear: true},
	{typ: "SVF", params: "kind=highpass f0=900 q=2", linear: true},
	{typ: "SVF", params: "kind=notch f0=900 q=2", linear: true},
	{typ: "SVF", params: "kind=allpass f0=900 q=2", linear: true},
	{typ: "OnePole", params: "f0=700", linear: true},
	{typ: "DCBlock", params: "r=0.99", linear: true},
	{typ: "Delay", params: "delay=70", linear: true, rough: "delay"},
	{typ: "Delay", params: "delay=5.25 interpolation=linear", linear: true},
	{typ: "Delay", params: "delay=70.6 interpolation=lagrange", linear: true},
	{typ: "FIR", params: `taps={"shape":[1,1,5],"data":[1,-0.5,0.25,2,-1]}`, linear: true},
	{typ: "FIR", params: `taps={"shape":[1,2,3],"data":[1,-0.5,0.25,2,-1,3]}`, linear: true},
	{typ: "Upsample", params: "factor=2 tier=60", linear: true},
	{typ: "Downsample", params: "factor=3 tier=96", linear: true},
	{typ: "Resample", params: "up=3 down=2 tier=60", linear: true},
	{typ: "Resample", params: "up=2 down=3 tier=120 cutoff=90", linear: true},
	{typ: "Resample", params: `up=2 down=3 taps={"shape":[1,1,4],"data":[1,2,-1,0.5]}`, linear: true},
	{typ: "WaveShaper", params: "kind=tanh drive=0.8"},
	{typ: "WaveShaper", params: "kind=soft drive=0.3", small: true},
	{typ: "WaveShaper", params: "kind=hard drive=0.3", small: true},
	{typ: "FIR", params: `taps={"shape":[1,1,5],"data":[1,-0.5,0.25,2,-1]} method=partitioned partition=4`, linear: true},
	{typ: "Convolver", params: `taps={"shape":[1,2,3],"data":[1,-0.5,0.25,2,-1,3]} partition=2`, linear: true},
	{typ: "ConvolutionReverb", params: `taps={"shape":[1,2,40],"data":` + wave(80) + `} partition=2 dry=0.7 wet=0.4`, linear: true},
	{typ: "Conv1d", params: `weight={"shape":[2,2,3],"data":[1,-0.5,0.25,2,-1,3,1,-2,0.5,-0.25,0.1,1]} dilation=2 stride=2`, linear: true, tokens: 512},
	{typ: "GRU", params: `weight_ih={"shape":[1,3,2],"data":[1,-0.5,0.25,0.7,-1,0.3]} weight_hh={"shape":[1,3,1],"data":[0.5,-0.4,0.9]} bias_ih={"shape":[1,3,1],"data":[0.1,0.2,-0.1]} bias_hh={"shape":[1,3,1],"data":[0.3,-0.2,0.1]}`, tokens: 512},
	{typ: "SpectralLoss", params: "n_fft=8 hop=4", tokens: 512},
	{typ: "FFT", params: "n_fft=8", linear: true, tokens: 512},
	{typ: "IFFT", params: "n_fft=8", channels: 20, linear: true, tokens: 512},
	{typ: "STFT", params: "n_fft=8 hop=4", linear: true, tokens: 512},
	{typ: "ISTFT", params: "n_fft=8 hop=4", channels: 10, linear: true, tokens: 512},
	{typ: "Mel", params: "input=power n_fft=32 win=32 hop=16 n_mels=4 sample_rate=48000 f_max=24000", channels: 17, linear: true, tokens: 512},
	{typ: "Mel", params: "input=complex n_fft=32 win=32 hop=16 n_mels=4 sample_rate=48000 f_max=24000", channels: 34, tokens: 512},
	{typ: "Compressor"},
	{typ: "Compressor", params: "sidechain=yes threshold_db=-12"},
	{typ: "LogMel", params: "preset=whisper n_fft=32 win=32 hop=8 n_mels=4", tokens: 512},
	{typ: "LogMel", params: "preset=librosa peak=global n_fft=32 win=32 hop=8 n_mels=4 sample_rate=16000 f_max=8000 clamp=20 most_frames=2000", tokens: 512},
	{typ: "MFCC", params: "preset=kaldi n_fft=32 win=30 hop=8 n_mels=4 n_mfcc=3", tokens: 512},
	{typ: "SpectralLoss", params: "sizes=16,8", tokens: 512},
	{typ: "HarmonicSynth", params: "hop=6 loudness=0.3", counts: []int{1, 3}, tokens: 512},
	{typ: "FilteredNoise", params: "hop=6", channels: 5, linear: true, tokens: 512},
	{typ: "Quantize", params: "kind=e4m3 scale=0.002", rule: straight(0.002, -448, 448), rough: "scale"},
	{typ: "Quantize", params: "kind=int8 scale=0.01", rule: straight(0.01, -128, 127), rough: "scale"},
	{typ: "Embedding", params: `table={"shape":[1,3,2],"data":[1,-2,0.5,3,0.25,-1]}`, rule: func(float64, float64) (float64, float64) { return 0, 0 }, below: 3},
	{typ: "Oscillator", params: "kind=sine frequency_hz=441 amplitude=0.7 phase=0.1"},
	{typ: "Oscillator", params: "kind=saw frequency_hz=1700 amplitude=0.7 phase=0.1"},
	{typ: "Oscillator", params: "kind=square frequency_hz=1700 amplitude=0.7 phase=0.1", ratio: 2},
	{typ: "Oscillator", params: "kind=triangle frequency_hz=1700 amplitude=0.7 phase=0.1", ratio: 4},
	{typ: "Notes", params: "voices=2", cues: []flow.Cue{{Frame: 10, Event: node.Event{Kind: node.NoteOn, Key: 60, Value: 0.5}}}},
	{typ: "OversampledOsc", params: "kind=saw frequency_hz=1700 amplitude=0.7 phase=0.1", ratio: 4},
}

// straight is the rule of a quantizer: rounding counts as the identity, and nothing passes where an input saturates.
func straight(scale, low, high float64) func(x, y float64) (float64, float64) {
	return func(x, y float64) (float64, float64) {
		if x < scale*low || x > scale*high {
			return 0, y / scale
		}
		return 1, (y - x) / scale
	}
}

// wave is a table of n numbers.
func wave(n int) string {
	v := make([]string, n)
	for i := range v {
		v[i] = fmt.Sprintf("%.3f", math.Sin(float64(i*i)))
	}
	return "[" + strings.Join(v, ",") + "]"
}

func (c *gradientCase) String() string {
	kind := ""
	for w := range strings.FieldsSeq(c.params) {
		if k, v, _ := strings.Cut(w, "="); k == "kind" || k == "interpolation" || k == "method" || k == "input" || k == "sidechain" {
			kind = " " + v
		}
	}
	return c.typ + kind
}

// eachGradient runs f for each line and for each type without one.
func eachGradient(t *testing.T, f func(t *testing.T, c gradientCase)) {
	cases := slices.Clone(gradientCases)
	types := flow.ShippedTypes()
	for _, typ := range types {
		if typ.Adjoint && !slices.ContainsFunc(cases, func(c gradientCase) bool { return c.typ == typ.Name }) {
			cases = append(cases, gradientCase{typ: typ.Name})
		}
	}
	for _, c := range cases {
		c.channels = max(c.channels, 0)
		if c.channels == 0 {
			c.channels = 2
		}
		if c.tokens == 0 {
			c.tokens = 4096
		}
		if _, ok := types.Lookup(c.typ); !ok {
			t.Errorf("there is no type %s", c.typ)
			continue
		}
		t.Run(c.String(), func(t *testing.T) { t.Parallel(); f(t, c) })
	}
}

// A bench is the case's node between Inputs x0, x1, … and Probes y0, y1, ….
type bench struct {
	*gradientCase
	spec    *graph.Spec
	batches int
	values  map[string]graph.Tensor // instead of params
}

func newBench(t *testing.T, c *gradientCase, batches int) *bench {
	p, err := graph.Parse(sketch(t, "n "+c.typ+" "+c.params))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := flow.ShippedTypes().Describe(&p.Nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	return &bench{gradientCase: c, spec: spec, batches: batches, values: map[string]graph.Tensor{}}
}

// count returns the channels of an input.
func (b *bench) count(i int) int {
	if b.counts != nil {
		return b.counts[i]
	}
	return b.channels
}

// plan is the bench as a plan.
func (b *bench) plan(t *testing.T) []byte {
	node := fmt.Sprintf("n %s oversample_ratio=%d ", b.typ, max(1, b.ratio))
	for w := range strings.FieldsSeq(b.params) {
		if k, _, _ := strings.Cut(w, "="); b.values[k].Data == nil {
			node += w + " "
		}
	}
	for _, p := range b.spec.Params {
		if v := b.values[p.Name]; v.Data != nil {
			node += fmt.Sprintf(`%s={"shape":[%d,%d,%d],"data":%s} `, p.Name, v.B, v.C, v.F, strings.ReplaceAll(fmt.Sprint(v.Data), " ", ","))
		}
	}
	if len(b.spec.Ins) == 0 {
		node += fmt.Sprintf("batches=%d channels=%d", b.batches, b.channels)
	}
	text := node
	for i, name := range b.spec.Ins {
		text += fmt.Sprintf("; x%d Input batches=%d channels=%d rate_num=%d; x%d -> n.%s", i, b.batches, b.count(i), b.spec.Cons[i], i, name)
	}
	for i, name := range b.spec.Outs {
		text += fmt.Sprintf("; y%d Probe; n.%s -> y%d", i, name, i)
	}
	return sketch(t, text)
}

// inputs returns random streams of the given number of tokens.
func (b *bench) inputs(r *rand.Rand, tokens int) []node.Tensor[float64] {
	var in []node.Tensor[float64]
	for i, cons := range b.spec.Cons {
		x := noise[float64](r, b.batches, b.count(i), tokens*cons)
		for k := range x.Data {
			if b.below > 0 {
				x.Data[k] = float64(r.IntN(b.below))
			}
		}
		if b.small {
			for i := range x.Data {
				x.Data[i] = math.Tanh(x.Data[i])
			}
		}
		in = append(in, x)
	}
	return in
}

// run is one forward pass, in blocks of the given number of tokens.
func run[F node.Float](t *testing.T, b *bench, block int, in []node.Tensor[float64], tokens int) trip[F] {
	inputs := map[string]node.Tensor[F]{}
	for i, x := range in {
		inputs[fmt.Sprintf("x%d", i)] = node.Tensor[F]{Data: cast[F](x.Data), B: x.B, C: x.C, N: x.N}
	}
	return there(t, b.plan(t), flow.Options{BlockFrames: block}, flow.Recording{}, inputs, tokens/block, b.cues...)
}

// seeds are random gradients for the probes.
func (r trip[F]) seeds(rnd *rand.Rand) map[string]node.Tensor[F] {
	z := map[string]node.Tensor[F]{}
	for i := range len(r.out) {
		name := fmt.Sprintf("y%d", i)
		y := r.out[name]
		z[name] = noise[F](rnd, y.B, y.C, y.N)
	}
	return z
}

// inner is the inner product of batch b, and the product of the norms.
func inner[F node.Float](b int, x, y map[string]node.Tensor[F]) (dot, norms float64) {
	var xx, yy float64
	for name, u := range x {
		v := y[name]
		for r := b * u.C; r < (b+1)*u.C; r++ {
			for i, p := range u.Row(r) {
				q := float64(v.Row(r)[i])
				dot += float64(p) * q
				xx += float64(p) * float64(p)
				yy += q * q
			}
		}
	}
	return dot, math.Sqrt(xx * yy)
}

// TestDotProduct is acceptance A41: ⟨Jx, z⟩ = ⟨x, Jᵀz⟩ for every type with an
// adjoint, twenty draws of 4096 frames, of which the short form takes four, and
// impulses across a block's border. A type without inputs is linearized in its
// parameters; one whose gradient is no derivative is compared with its rule.
func TestDotProduct(t *testing.T) {
	t.Parallel()
	draws := 4
	if await.Long() {
		draws = 20
	}
	eachGradient(t, func(t *testing.T, c gradientCase) {
		b := newBench(t, &c, draws)
		switch {
		case len(b.spec.Ins) == 0:
			dotParams(t, b)
		case c.rule != nil:
			dotRule(t, b)
			if c.rough == "" {
				dotParams(t, b)
			}
		case c.linear:
			dotLinear[float64](t, b, 1e-12)
			dotLinear[float32](t, b, 1e-4)
			dotImpulse(t, b)
		default:
			dotTangent(t, b)
		}
	})
}

// dotRule compares gradients with the definition of them, frame by frame.
func dotRule(t *testing.T, b *bench) {
	r := rand.New(rand.NewPCG(41, 3))
	in := b.inputs(r, b.tokens)
	there := run[float64](t, b, 64, in, b.tokens)
	z := there.seeds(r)
	g, sum, norms, stopped := there.back(t, z), 0.0, 0.0, 0
	x, y, dy, dx := in[0].Data, there.out["y0"].Data, z["y0"].Data, g.Inputs["x0"].Data
	for i, v := range x {
		pass, param := b.rule(v, y[i])
		if dx[i] != pass*dy[i] {
			t.Fatalf("frame %d: the gradient of %v is %v, want %v of %v", i, v, dx[i], pass, dy[i])
		}
		if sum, norms = sum+param*dy[i], norms+math.Abs(param*dy[i]); pass == 0 {
			stopped++
		}
	}
	if b.rough == "" {
		return
	}
	if got := g.Param("n", b.rough).Data[0]; math.Abs(got-sum) > 1e-12*norms || stopped == 0 || stopped == len(x) {
		t.Errorf("the gradient of %s is %.17g, want %.17g; nothing passes at %d of %d frames", b.rough, got, sum, stopped, len(x))
	}
}

// dotParams compares with a central difference along a random direction of one
// parameter after the other: they differ in size. The gradient of the output is
// near the difference, since that of another direction would hide what is off.
func dotParams(t *testing.T, b *bench) {
	const frames, h = 1024, 1e-9 // small: a wave has kinks
	r := rand.New(rand.NewPCG(41, 4))
	in := b.inputs(r, frames)
	there := run[float64](t, b, 64, in, frames)
	for draw := range 20 {
		p := b.spec.Params[draw%(len(b.spec.Params)-1)] // thermo.heat is the last
		way := make([]float64, len(p.Value.Data))
		for i, v := range p.Value.Data {
			way[i] = r.NormFloat64() * max(math.Abs(v), 1e-2)
		}
		at := func(step float64) map[string]node.Tensor[float64] {
			v := p.Value
			v.Data = slices.Clone(v.Data)
			for i := range v.Data {
				v.Data[i] += step * way[i]
			}
			b.values[p.Name] = v
			return run[float64](t, b, 64, in, frames).out
		}
		z, minus, left, right, norms := at(h), at(-h), 0.0, 0.0, [2]float64{}
		clear(b.values)
		for name, y := range z {
			for i, v := range y.Data {
				j := (v - minus[name].Data[i]) / (2 * h)
				y.Data[i] = j * (1 + r.NormFloat64()/2)
				left, norms[0], norms[1] = left+j*y.Data[i], norms[0]+j*j, norms[1]+y.Data[i]*y.Data[i]
			}
		}
		for i, g := range there.back(t, z).Param("n", p.Name).Data {
			right += way[i] * g
		}
		if most := math.Sqrt(norms[0] * norms[1]); math.Abs(left-right) > 1e-4*most || most == 0 {
			t.Errorf("draw %d, %s: ⟨Jv, z⟩ = %.12g, ⟨v, Jᵀz⟩ = %.12g: off by %.2g of the norms", draw, p.Name, left, right, math.Abs(left-right)/most)
		}
	}
}

func dotLinear[F node.Float](t *testing.T, b *bench, tol float64) {
	r := rand.New(rand.NewPCG(41, 1))
	in := b.inputs(r, b.tokens)
	there := run[F](t, b, 64, in, b.tokens)
	z := there.seeds(r)
	g := there.back(t, z)
	x := map[string]node.Tensor[F]{}
	for i := range in {
		x[fmt.Sprintf("x%d", i)] = node.Tensor[F]{Data: cast[F](in[i].Data), B: in[i].B, C: in[i].C, N: in[i].N}
	}
	for s := range b.batches {
		left, norms := inner(s, there.out, z)
		right, _ := inner(s, x, g.Inputs)
		if math.Abs(left-right) > tol*norms {
			t.Errorf("draw %d in %T: ⟨Ax, z⟩ = %.17g, ⟨x, Aᵀz⟩ = %.17g: off by %.2g of the norms", s, F(0), left, right, math.Abs(left-right)/norms)
		}
	}
}

// dotImpulse feeds an impulse at the last frame of a block forward, and one at
// the first frames of the next block backward: it finds state that a node loses
// at a border.
func dotImpulse(t *testing.T, b *bench) {
	one := *b
	one.batches = 1
	for i := range b.spec.Ins {
		in := one.inputs(rand.New(rand.NewPCG(1, 1)), 256)
		for k := range in {
			clear(in[k].Data)
		}
		x := in[i]
		at := 128*b.spec.Cons[i] - 1
		x.Data[at] = 1
		there := run[float64](t, &one, 64, in, 256)
		for o, prod := range b.spec.Prod {
			y := there.out[fmt.Sprintf("y%d", o)]
			for off := range 8 {
				z := y
				z.Data = make([]float64, len(y.Data))
				z.Data[128*prod+off] = 1
				g := there.back(t, map[string]node.Tensor[float64]{fmt.Sprintf("y%d", o): z})
				want, got := y.Data[128*prod+off], g.Inputs[fmt.Sprintf("x%d", i)].Data[at]
				if math.Abs(want-got) > 1e-13 {
					t.Errorf("from frame %d to %d: response %.17g, gradient %.17g", at, 128*prod+off, want, got)
				}
			}
		}
	}
}

// dotTangent compares with a central difference along a random direction.
func dotTangent(t *testing.T, b *bench) {
	const frames = 1024
	r := rand.New(rand.NewPCG(41, 2))
	in, v := b.inputs(r, frames), b.inputs(r, frames)
	there := run[float64](t, b, 64, in, frames)
	z := there.seeds(r)
	g := there.back(t, z)
	const h = 1e-6 // small: what makes the node not linear may have kinks
	at := func(step float64) map[string]node.Tensor[float64] {
		var moved []node.Tensor[float64]
		for i := range in {
			x := in[i]
			x.Data = slices.Clone(x.Data)
			for k := range x.Data {
				x.Data[k] += step * v[i].Data[k]
			}
			moved = append(moved, x)
		}
		return run[float64](t, b, 64, moved, frames).out
	}
	plus, minus := at(h), at(-h)
	jv, x := map[string]node.Tensor[float64]{}, map[string]node.Tensor[float64]{}
	for name, y := range plus {
		d := y
		d.Data = make([]float64, len(y.Data))
		for i := range d.Data {
			d.Data[i] = (y.Data[i] - minus[name].Data[i]) / (2 * h)
		}
		jv[name] = d
	}
	for i := range v {
		x[fmt.Sprintf("x%d", i)] = v[i]
	}
	for s := range b.batches {
		left, norms := inner(s, jv, z)
		right, _ := inner(s, x, g.Inputs)
		if math.Abs(left-right) > 1e-6*norms {
			t.Errorf("draw %d: ⟨Jv, z⟩ = %.12g, ⟨v, Jᵀz⟩ = %.12g: off by %.2g of the norms", s, left, right, math.Abs(left-right)/norms)
		}
	}
}

// TestParameterGradients is acceptance A42: every parameter of every type with
// an adjoint, given as a number and as one value a frame of a block, against
// central differences.
func TestParameterGradients(t *testing.T) {
	t.Parallel()
	eachGradient(t, func(t *testing.T, c gradientCase) {
		for _, framed := range []bool{false, true} {
			b := newBench(t, &c, 1)
			for _, p := range b.spec.Params {
				if v := p.Value; framed && !p.Table && v.F == 1 && p.Name != "thermo.heat" && (p.Name != c.rough || c.rule == nil) {
					b.values[p.Name] = wobble(v.Data[0], 16, p.Name == c.rough)
				}
			}
			differences(t, b)
		}
	})
}

// wobble is a parameter with one value a frame.
func wobble(v float64, frames int, whole bool) graph.Tensor {
	p := graph.Tensor{B: 1, C: 1, F: frames}
	for i := range frames {
		x := v*(1+0.05*math.Cos(float64(i))) + 0.01*math.Sin(float64(i))
		if whole {
			x = math.Round(x)
		}
		p.Data = append(p.Data, x)
	}
	return p
}

func differences(t *testing.T, b *bench) {
	t.Helper()
	const block, frames = 16, 64
	r := rand.New(rand.NewPCG(42, 1))
	in := b.inputs(r, frames)
	there := run[float64](t, b, block, in, frames)
	z := there.seeds(r)
	g := there.back(t, z)
	_, scale := inner(0, there.out, z)
	loss := func() float64 {
		y, _ := inner(0, run[float64](t, b, block, in, frames).out, z)
		return y
	}
	for _, p := range there.Linked().Nodes[0].Spec.Params {
		if p.Name == "thermo.heat" || p.Name == b.rough {
			continue
		}
		got := g.Param("n", p.Name)
		if got == nil {
			t.Errorf("no gradient of %s", p.Name)
			continue
		}
		kept, had := b.values[p.Name]
		for _, i := range []int{0, len(p.Value.Data) / 2, len(p.Value.Data) - 1} {
			step := 1e-6 * max(math.Abs(p.Value.Data[i]), 1e-2)
			nudge := func(by float64) float64 {
				v := p.Value
				v.Data = slices.Clone(v.Data)
				v.Data[i] += by
				b.values[p.Name] = v
				return loss()
			}
			want := (nudge(step) - nudge(-step)) / (2 * step)
			if d := math.Abs(got.Data[i] - want); d > 1e-4*math.Abs(want)+1e-7*scale {
				t.Errorf("%s[%d] of %d: gradient %.10g, difference %.10g", p.Name, i, len(p.Value.Data), got.Data[i], want)
			}
		}
		if b.values[p.Name] = kept; !had {
			delete(b.values, p.Name)
		}
	}
}

// TestCutInvariance is acceptance A43: outputs and gradients of a stream are the
// same bits for every block size. The short form takes streams of 1,024 frames,
// sixteen of the blocks that others are compared with.
func TestCutInvariance(t *testing.T) {
	t.Parallel()
	eachGradient(t, func(t *testing.T, c gradientCase) {
		if !await.Long() {
			c.tokens = min(c.tokens, 1024)
		}
		cuts[float64](t, newBench(t, &c, 2))
		cuts[float32](t, newBench(t, &c, 2))
	})
}

func cuts[F node.Float](t *testing.T, b *bench) {
	r := rand.New(rand.NewPCG(43, 1))
	in := b.inputs(r, b.tokens)
	var want trip[F]
	var z map[string]node.Tensor[F]
	var grads *flow.Gradients[F]
	for _, block := range []int{64, 1, b.tokens, b.tokens / 8} {
		got := run[F](t, b, block, in, b.tokens)
		if z == nil {
			want, z = got, got.seeds(r)
			grads = got.back(t, z)
			continue
		}
		for name, y := range got.out {
			if !slices.Equal(y.Data, want.out[name].Data) {
				t.Errorf("%T: output %s in blocks of %d differs", F(0), name, block)
			}
		}
		g := got.back(t, z)
		for name, x := range g.Inputs {
			if !slices.Equal(x.Data, grads.Inputs[name].Data) {
				t.Errorf("%T: gradient of %s in blocks of %d differs", F(0), name, block)
			}
		}
		for i, p := range g.Params {
			if !slices.Equal(p.Value.Data, grads.Params[i].Value.Data) {
				t.Errorf("%T: gradient of parameter %s in blocks of %d: %v, want %v", F(0), p.Name, block, p.Value.Data, grads.Params[i].Value.Data)
			}
		}
	}
}
