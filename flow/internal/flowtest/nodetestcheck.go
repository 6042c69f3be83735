package flowtest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// A Case is a node to check.
type Case struct {
	Node       graph.Node
	SampleRate float64 // 48000 when zero
	In         []graph.Shape
	Tokens     int          // length of the streams; 40 when zero
	Events     []node.Event // in order; Offset counts tokens of the streams
	Amplitude  float64      // of the inputs; 1 when zero
	Below      int          // not zero: the inputs are integers from 0 to it, without a derivative
	NoGradient bool         // skip the comparison with differences: kinks, rounded parameters
	Tolerance  float64      // relative, of derivatives; 1e-6 when zero
}

// CheckNode fails the test unless the node fulfills the contract of package node:
// independence of cuts, snapshots, ABI version 1, binding, no allocation, and
// gradients that agree with central differences.
func CheckNode(t *testing.T, table node.Table, c Case) {
	t.Helper()
	if c.SampleRate == 0 {
		c.SampleRate = 48000
	}
	if c.Tokens == 0 {
		c.Tokens = 40
	}
	if c.Amplitude == 0 {
		c.Amplitude = 1
	}
	if c.Tolerance == 0 {
		c.Tolerance = 1e-6
	}
	c.Node.Name, c.Node.Path, c.Node.SupportsV2 = c.Node.Type, "$.nodes[0]", true
	c.Node.OversampleRatio = max(c.Node.OversampleRatio, 1)
	t.Run("float64", func(t *testing.T) { check[float64](t, table, &c) })
	t.Run("float32", func(t *testing.T) { check[float32](t, table, &c) })
	if spec, err := table.Describe(&c.Node); err == nil && spec.Adjoint && !c.NoGradient {
		t.Run("gradient", func(t *testing.T) { gradient(t, table, &c) })
	}
}

// rig makes an instance of a node of the case.
func rig[F node.Float](t *testing.T, table node.Table, n *graph.Node, c *Case) *Rig[F] {
	t.Helper()
	g := NewRig[F](t, table, n, c.SampleRate, c.In, c.Tokens)
	g.Events = c.Events
	return g
}

func check[F node.Float](t *testing.T, table node.Table, c *Case) {
	g := rig[F](t, table, &c.Node, c)
	in := random[F](g, c, 1)
	whole := g.stream(t, in, []int{c.Tokens})
	adjoint, _ := g.Inst.(node.Adjoint[F])
	if g.Node.Spec.Adjoint != (adjoint != nil) {
		t.Fatalf("the table says adjoint %v, the instance %v", g.Node.Spec.Adjoint, adjoint != nil)
	}
	dOut := like(whole, 2)
	var dIn []node.Tensor[F]
	var dParam [][]float64
	if adjoint != nil {
		dIn, dParam = g.Backward(t, dOut)
	}
	for name, cuts := range map[string][]int{"one by one": slices.Repeat([]int{1}, c.Tokens), "random": randomCuts(c.Tokens)} {
		g.Inst.Reset()
		same(t, name+", outputs", g.stream(t, in, cuts), whole)
		if adjoint != nil {
			x, p := g.Backward(t, dOut)
			same(t, name+", gradients of inputs", x, dIn)
			if !slices.EqualFunc(p, dParam, slices.Equal[[]float64]) {
				t.Errorf("%s: gradients of parameters %v, in one call %v", name, p, dParam)
			}
		}
	}
	first := *c
	first.Node.SupportsV2 = false
	same(t, "first version of the interface", rig[F](t, table, &first.Node, c).stream(t, in, []int{c.Tokens}), whole)
	snapshot(t, g, c, in, whole)
	bound(t, table, c, in, whole)
	allocations(t, g, c, in, dOut)
}

// stream is Forward and, for a node that holds tokens back, Drain.
func (g *Rig[F]) stream(t *testing.T, in []node.Tensor[F], cuts []int) []node.Tensor[F] {
	t.Helper()
	g.Forward(t, in, cuts)
	return g.Drain(t, cuts[0])
}

// snapshot checks that a loaded state continues as the saved one did, and that
// a backward sweep does not change the state.
func snapshot[F node.Float](t *testing.T, g *Rig[F], c *Case, in, whole []node.Tensor[F]) {
	s, ok := g.Inst.(node.Stateful[F])
	if !ok {
		return
	}
	total := c.Tokens
	half := total / 2
	g.Inst.Reset()
	g.Forward(t, in, []int{half})
	made := g.made()
	saved := Save(g.Inst)
	if _, ok := g.Inst.(node.Adjoint[F]); ok {
		var d []node.Tensor[F]
		for i, y := range whole {
			d = append(d, cut(y, 0, made*g.Node.Spec.Prod[i]))
		}
		g.Backward(t, d)
		if !bytes.Equal(saved, Save(g.Inst)) {
			t.Error("a backward sweep changed the state")
		}
	}
	for range 2 {
		rest := g.Call(in, half, total-half)
		if code := g.Inst.Forward(&rest); code != graph.Success {
			t.Fatal(code)
		}
		for i, y := range rest.Out {
			same(t, "after a snapshot", []node.Tensor[F]{cut(y, 0, rest.Produced*g.Node.Spec.Prod[i])}, []node.Tensor[F]{cut(whole[i], made*g.Node.Spec.Prod[i], rest.Produced*g.Node.Spec.Prod[i])})
		}
		g.Inst.Reset()
		if code := s.Load(saved); code != graph.Success {
			t.Fatal(code)
		}
	}
	if len(saved) > 0 && s.Load(saved[1:]) != graph.State {
		t.Error("a state that is too short was loaded")
	}
}

// bound checks that a bound call gives what calls give.
func bound[F node.Float](t *testing.T, table node.Table, c *Case, in, whole []node.Tensor[F]) {
	g := rig[F](t, table, &c.Node, c)
	b, ok := g.Inst.(node.Binder[F])
	if !ok {
		return
	}
	call := g.Call(in, 0, c.Tokens)
	run := b.Bind(&call)
	run()
	same(t, "bound", call.Out, whole)
	g.Inst.Reset()
	run()
	same(t, "bound, after a reset", call.Out, whole)
	if n := await.Allocs(10, run); n != 0 {
		t.Errorf("a bound call allocates %v times", n)
	}
}

func allocations[F node.Float](t *testing.T, g *Rig[F], c *Case, in, dOut []node.Tensor[F]) {
	total := c.Tokens
	call := g.Call(in, 0, total)
	if n := await.Allocs(10, func() { g.Inst.Forward(&call) }); n != 0 {
		t.Errorf("a forward call allocates %v times", n)
	}
	a, ok := g.Inst.(node.Adjoint[F])
	if !ok {
		return
	}
	g.Inst.Reset()
	g.Forward(t, in, []int{total})
	b := g.Back(0, dOut)
	if n := await.Allocs(10, func() { a.Backward(&b) }); n != 0 {
		t.Errorf("a backward call allocates %v times", n)
	}
}

// gradient compares derivatives in random directions with central differences:
// all inputs together, then each parameter separately.
func gradient(t *testing.T, table node.Table, c *Case) {
	g := rig[float64](t, table, &c.Node, c)
	in := random[float64](g, c, 1)
	cuts := randomCuts(c.Tokens)
	y := g.stream(t, in, cuts)
	z := like(y, 2)
	dIn, dParam := g.Backward(t, z)
	value := func(n graph.Node, in []node.Tensor[float64]) float64 {
		g := rig[float64](t, table, &n, c)
		return dot(g.stream(t, in, cuts), z)
	}
	scale := norm(y) * norm(z)
	compare := func(what string, derivative, plus, minus, step float64) {
		t.Helper()
		difference := (plus - minus) / (2 * step)
		if math.Abs(difference-derivative) > c.Tolerance*(math.Abs(difference)+1e-3*scale) {
			t.Errorf("%s: derivative %.12g, difference %.12g", what, derivative, difference)
		}
	}
	if len(in) > 0 && c.Below == 0 {
		const step = 1e-6
		v := like(in, 3)
		compare("inputs", dot(dIn, v), value(c.Node, moved(in, v, step)), value(c.Node, moved(in, v, -step)), step)
	}
	for k, spec := range g.Node.Spec.Params[:len(g.Node.Spec.Params)-1] {
		for i := range min(4, len(spec.Value.Data)) {
			at := i * max(1, len(spec.Value.Data)/4) % len(spec.Value.Data)
			step := 1e-6 * max(1e-2, math.Abs(spec.Value.Data[at]))
			nudged := func(by float64) graph.Node {
				n, v := c.Node, spec.Value
				v.Data = slices.Clone(v.Data)
				v.Data[at] += by
				n.Params = append([]graph.Param{{Name: spec.Name, Value: &v}}, slices.Clone(c.Node.Params)...)
				return n
			}
			compare(fmt.Sprintf("%s[%d]", spec.Name, at), dParam[k][at], value(nudged(step), in), value(nudged(-step), in), step)
		}
	}
}

// random returns random inputs for a rig.
func random[F node.Float](g *Rig[F], c *Case, seed uint64) []node.Tensor[F] {
	var in []node.Tensor[F]
	for i, s := range c.In {
		in = append(in, NewTensor[F](s, c.Tokens*g.Node.Spec.Cons[i]))
	}
	in = like(in, seed)
	for _, x := range in {
		for i := range x.Data {
			x.Data[i] *= F(c.Amplitude)
			if c.Below > 0 {
				x.Data[i] = F(int(math.Abs(float64(x.Data[i]))*1000) % c.Below)
			}
		}
	}
	return in
}

// like returns random tensors of the same shapes, the same numbers for both
// float types.
func like[F node.Float](ts []node.Tensor[F], seed uint64) []node.Tensor[F] {
	r := rand.New(rand.NewPCG(seed, 7))
	var out []node.Tensor[F]
	for _, x := range ts {
		y := NewTensor[F](graph.Shape{B: x.B, C: x.C}, x.N)
		for i := range y.Data {
			y.Data[i] = F(float32(r.NormFloat64()))
		}
		out = append(out, y)
	}
	return out
}

func randomCuts(n int) (cuts []int) {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for n > 0 {
		k := min(n, 1+r.IntN(9))
		cuts, n = append(cuts, k), n-k
	}
	return cuts
}

func same[F node.Float](t *testing.T, what string, got, want []node.Tensor[F]) {
	t.Helper()
	for i := range want {
		if got[i].N != want[i].N {
			t.Errorf("%s: %d frames of %d, want %d", what, got[i].N, i, want[i].N)
			return
		}
		for k, v := range want[i].Data {
			if got[i].Data[k] != v {
				t.Errorf("%s: element %d of %d is %v, want %v", what, k, i, got[i].Data[k], v)
				return
			}
		}
	}
}

func moved(x, v []node.Tensor[float64], by float64) []node.Tensor[float64] {
	out := make([]node.Tensor[float64], len(x))
	for i := range x {
		out[i] = x[i]
		out[i].Data = slices.Clone(x[i].Data)
		for k := range out[i].Data {
			out[i].Data[k] += by * v[i].Data[k]
		}
	}
	return out
}

func dot(a, b []node.Tensor[float64]) (sum float64) {
	for i := range a {
		for k, v := range a[i].Data {
			sum += v * b[i].Data[k]
		}
	}
	return sum
}

func norm(a []node.Tensor[float64]) float64 { return math.Sqrt(dot(a, a)) }
