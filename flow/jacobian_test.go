package flow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// A derivative holds what a node's outputs, row by row and frame by frame, owe to
// each input.
type derivative struct {
	node      *graph.LinkedNode
	in, out   int         // ports
	byOut     [][]float64 // [output element][input element]
	inN, outN int         // frames
}

// measure computes derivatives by the adjoint, or by differences for types
// without one, at random inputs.
func measure(t *testing.T, n graph.Node, shapes []graph.Shape, tokens, below int, r *rand.Rand) (all []derivative) {
	t.Helper()
	fresh := func() *flowtest.Rig[float64] {
		return flowtest.NewRig[float64](t, flow.ShippedTypes(), &n, 48000, shapes, tokens)
	}
	g := fresh()
	var in []node.Tensor[float64]
	for i, s := range shapes {
		x := flowtest.NewTensor[float64](s, tokens*g.Node.Spec.Cons[i])
		for k := range x.Data {
			if x.Data[k] = r.NormFloat64(); below > 0 {
				x.Data[k] = float64(r.IntN(below))
			}
		}
		in = append(in, x)
	}
	run := func(g *flowtest.Rig[float64]) []node.Tensor[float64] {
		g.Forward(t, in, []int{tokens})
		return g.Drain(t, tokens)
	}
	out := run(g)
	for o, y := range out {
		for i, x := range in {
			d := derivative{node: g.Node, in: i, out: o, inN: x.N, outN: y.N, byOut: make([][]float64, len(y.Data))}
			for k := range d.byOut {
				d.byOut[k] = make([]float64, len(x.Data))
			}
			all = append(all, d)
		}
	}
	if g.Node.Spec.Adjoint {
		for o, y := range out {
			for k := range y.Data {
				seed := make([]node.Tensor[float64], len(out))
				for p, z := range out {
					seed[p] = flowtest.NewTensor[float64](graph.Shape{B: z.B, C: z.C}, z.N)
				}
				seed[o].Data[k] = 1
				dIn, _ := g.Backward(t, seed)
				for i := range in {
					copy(all[o*len(in)+i].byOut[k], dIn[i].Data)
				}
			}
		}
		return all
	}
	const h = 1e-6
	for i, x := range in {
		for k := range x.Data {
			at := x.Data[k]
			x.Data[k] = at + h
			plus := run(fresh())
			x.Data[k] = at - h
			minus := run(fresh())
			x.Data[k] = at
			for o := range out {
				for e := range out[o].Data {
					all[o*len(in)+i].byOut[e][k] = (plus[o].Data[e] - minus[o].Data[e]) / (2 * h)
				}
			}
		}
	}
	return all
}

// eachEntry calls f for every pair of elements with the distance in tokens, and
// whether batch, row and frame are the same.
func (d *derivative) eachEntry(f func(v float64, lag int, batch, same bool, e, k int)) {
	prod, cons := d.node.Spec.Prod[d.out], d.node.Spec.Cons[d.in]
	outC, inC := d.node.OutShape[d.out].C, d.node.InShape[d.in].C
	for e, row := range d.byOut {
		for k, v := range row {
			r, n, s, m := e/d.outN, e%d.outN, k/d.inN, k%d.inN
			f(v, n/prod-m/cons, r/outC == s/inC, r == s && n == m && outC == inC, e, k)
		}
	}
}

// claim returns what contradicts a class, "" if nothing does. second is the
// derivative at other inputs.
func claim(class graph.Jacobian, d, second *derivative, tokens int) (fault string) {
	scale := 0.0
	d.eachEntry(func(v float64, _ int, _, _ bool, _, _ int) { scale = max(scale, math.Abs(v)) })
	small := func(v float64) bool { return math.Abs(v) <= 1e-9*max(scale, 1e-3) }
	common := math.NaN()
	prod, cons := d.node.Spec.Prod[d.out], d.node.Spec.Cons[d.in]
	d.eachEntry(func(v float64, lag int, batch, same bool, e, k int) {
		zero := false
		switch class {
		case graph.Dense:
			return
		case graph.Zero:
			zero = true
		case graph.Identity, graph.Diagonal, graph.Scalar:
			zero = !same
		case graph.Block:
			zero = lag != 0 || !batch
		case graph.Toeplitz, graph.Banded:
			zero = lag < 0 || class == graph.Banded && lag > tokens/2
		}
		switch {
		case zero && !small(v):
			fault = fmt.Sprintf("element %d of the output has derivative %g by %d of the input, %d tokens apart", e, v, k, lag)
		case class == graph.Identity && same && !small(v-1):
			fault = fmt.Sprintf("a derivative of %g", v)
		case class == graph.Scalar && same:
			if !math.IsNaN(common) && !small(v-common) {
				fault = fmt.Sprintf("derivatives of %g and %g", common, v)
			}
			common = v
		case class == graph.Toeplitz:
			if !small(v - second.byOut[e][k]) {
				fault = fmt.Sprintf("derivatives of %g and %g for different inputs", v, second.byOut[e][k])
			}
			if e%d.outN+prod < d.outN && k%d.inN+cons < d.inN && !small(v-d.byOut[e+prod][k+cons]) {
				fault = fmt.Sprintf("derivatives of %g and, a token later, %g", v, d.byOut[e+prod][k+cons])
			}
		}
	})
	return fault
}

// TestJacobians: what types say of their derivatives is so, for random inputs; and
// it is no empty claim: of each class but those that no type is in, there is one.
func TestJacobians(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 18))
	seen := map[graph.Jacobian]int{}
	for _, typ := range flow.ShippedTypes() {
		if typ.Endpoint != graph.Inner {
			continue
		}
		list := append(slices.Clone(samples[typ.Name]), jacobianSamples[typ.Name]...)
		if list == nil {
			list = []sample{{}}
		}
		for _, s := range list {
			n := flowtest.Node(typ.Name, s.params...)
			spec, err := flow.ShippedTypes().Describe(&n)
			if err != nil {
				t.Fatal(err)
			}
			if len(spec.Ins) == 0 {
				continue
			}
			if seen[spec.Jacobian]++; spec.Jacobian == graph.Dense {
				continue
			}
			shapes := make([]graph.Shape, len(spec.Ins))
			for i := range shapes {
				if shapes[i] = (graph.Shape{B: 2, C: 2}); s.channels != nil {
					shapes[i].C = s.channels[i]
				}
			}
			tokens := 12
			one, two := measure(t, n, shapes, tokens, s.below, r), measure(t, n, shapes, tokens, s.below, r)
			for i := range one {
				if fault := claim(spec.Jacobian, &one[i], &two[i], tokens); fault != "" {
					t.Errorf("%s %v says %v: %s", typ.Name, s.params, spec.Jacobian, fault)
				}
			}
		}
	}
	for _, class := range []graph.Jacobian{graph.Dense, graph.Zero, graph.Diagonal, graph.Toeplitz, graph.Banded, graph.Block} {
		if seen[class] == 0 {
			t.Errorf("no type is %v", class)
		}
	}
}

// jacobianSamples are nodes with a short memory, or in a state, that the other
// samples of their types do not have.
var jacobianSamples = map[string][]sample{
	"Delay":      {{params: []any{"delay", 3}}, {params: []any{"delay", 2.3, "interpolation", "lagrange"}}},
	"Gain":       {{params: []any{"gain", flowtest.Ramp(1, 1, 5, -1, 1)}}},
	"Biquad":     {{params: []any{"kind", "peaking", "gain_db", 6.0}}},
	"Conv1d":     {{params: []any{"weight", flowtest.Ramp(3, 2, 4, -1, 1), "bias", flowtest.Ramp(1, 3, 1, 1, 2)}}},
	"WaveShaper": {{params: []any{"kind", "hard", "drive", 0.7}}},
	"Convolver":  {{params: []any{"taps", flowtest.Ramp(1, 2, 9, -1, 1), "partition", 4}}},
}

// TestToeplitzKeepsNothing: linear time-invariant nodes give the same gradients of
// their inputs when nothing is kept for those of parameters. A parameter that
// moves makes a filter neither, and everything is kept.
func TestToeplitzKeepsNothing(t *testing.T) {
	t.Parallel()
	checked := 0
	eachGradientCase(t, func(t *testing.T, c gradientCase) {
		for _, framed := range []bool{false, true} {
			b := newBench(t, &c, 2)
			if b.spec.Jacobian != graph.Toeplitz {
				return
			}
			checked++
			for _, p := range b.spec.Params {
				if v := p.Value; framed && !p.Table && v.F == 1 && p.Name != "thermo.heat" {
					b.values[p.Name] = wobble(v.Data[0], 16, p.Name == c.rough)
				}
			}
			in := b.inputs(rand.New(rand.NewPCG(1, 1)), 64)
			inputs := map[string]node.Tensor[float64]{}
			for i, x := range in {
				inputs[fmt.Sprintf("x%d", i)] = x
			}
			var want *flow.Gradients[float64]
			for _, none := range []bool{false, true} {
				trip := there(t, b.plan(t), flow.Options{BlockFrames: 16}, flow.Recording{NoParams: none}, inputs, 4)
				g := trip.back(t, trip.seeds(rand.New(rand.NewPCG(2, 2))))
				if want == nil {
					want = g
				}
				for name, x := range g.Inputs {
					same(t, fmt.Sprintf("gradient of %s, framed %v", name, framed), x.Data, want.Inputs[name].Data)
				}
			}
		}
	})
	if checked == 0 {
		t.Error("no type is linear and time-invariant")
	}
}

// eachGradientCase is eachGradient one after the other.
func eachGradientCase(t *testing.T, f func(t *testing.T, c gradientCase)) {
	for _, c := range gradientCases {
		if c.channels == 0 {
			c.channels = 2
		}
		t.Run(c.String(), func(t *testing.T) { f(t, c) })
	}
}
