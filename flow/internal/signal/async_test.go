package signal_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// convert returns the first row of a node's output for x, in calls of the given
// numbers of tokens, with a snapshot saved and loaded after every call.
func convert[F node.Float](t *testing.T, n graph.Node, x []F, cut func() int) []F {
	t.Helper()
	one := []graph.Shape{{B: 1, C: 2}}
	g := flowtest.NewRig[F](t, signal.ResampleTypes(), &n, 48000, one, 64)
	in := flowtest.NewTensor[F](one[0], len(x))
	copy(in.Row(0), x)
	var y []F
	for at := 0; at < len(x); {
		c := g.Call([]node.Tensor[F]{in}, at, min(cut(), len(x)-at))
		if code := g.Inst.Forward(&c); code != graph.Success {
			t.Fatal(code)
		}
		y = append(y, c.Out[0].Row(0)[:c.Produced*g.Node.Spec.Prod[0]]...)
		at += c.Tokens
		saved := flowtest.Save(g.Inst)
		g.Inst.Reset()
		s := g.Inst.(node.Stateful[F])
		if code := s.Load(saved); code != graph.Success {
			t.Fatal(code)
		}
		if s.Load(saved[1:]) != graph.State || s.Load(bytes.Repeat([]byte{255}, len(saved))) != graph.State {
			t.Fatal("a foreign state was loaded")
		}
	}
	return y
}

// TestAsync: the output for a sine is the sine at the positions read, for any cut
// of the stream.
func TestAsync(t *testing.T) {
	const w = 0.3
	x := make([]float64, 3000)
	for i := range x {
		x[i] = math.Sin(w * float64(i))
	}
	for _, c := range []struct {
		ratio      float64
		most, down int
	}{{1, 1, 1}, {0.7371, 1, 1}, {0.5, 1, 2}, {0.3, 1, 4}, {1.618, 2, 1}, {3, 3, 1}, {6.9, 7, 1}} {
		n := flowtest.Node("AsyncResample", "ratio", c.ratio, "most", c.most, "down", c.down)
		y := convert(t, n, x, func() int { return 64 })
		if want := int(float64(len(x)-20*c.down)*c.ratio) - c.most; len(y) < want {
			t.Errorf("%+v: %d frames, want %d", c, len(y), want)
		}
		for j, v := range y {
			// The first frames look at zeros before the stream.
			if at := float64(j) / c.ratio; at > 20*float64(c.down) && math.Abs(v-math.Sin(w*at)) > 1e-5 {
				t.Fatalf("%+v: frame %d is %v, want %v", c, j, v, math.Sin(w*at))
			}
		}
		r := rand.New(rand.NewPCG(1, 1))
		again := convert(t, n, x, func() int { return 1 + r.IntN(64) })
		if len(again) > len(y) || len(again) < len(y)-c.most {
			t.Fatalf("%+v: cut otherwise, %d frames instead of %d", c, len(again), len(y))
		}
		for j, v := range again {
			if v != y[j] {
				t.Fatalf("%+v: cut otherwise, frame %d is %v, not %v", c, j, v, y[j])
			}
		}
	}
}

// TestAsyncMoves: a ratio with one value a frame, and ratios that are none.
func TestAsyncMoves(t *testing.T) {
	x := make([]float32, 500)
	for i := range x {
		x[i] = 1
	}
	moving := flowtest.Node("AsyncResample", "ratio", flowtest.Ramp(1, 1, 500, 0.2, 2), "most", 2)
	a := convert(t, moving, x, func() int { return 64 })
	b := convert(t, moving, x, func() int { return 1 })
	if n := len(a); n < 400 || n > 600 || len(b) < n-2 || len(b) > n+2 {
		t.Errorf("%d and %d frames of 500 at a mean ratio of 1.1", len(a), len(b))
	}
	for j := range min(len(a), len(b)) {
		if a[j] != b[j] || j > 100 && math.Abs(float64(a[j])-1) > 1e-4 {
			t.Fatalf("frame %d is %v and %v", j, a[j], b[j])
		}
	}
	for _, ratio := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if y := convert(t, flowtest.Node("AsyncResample", "ratio", ratio), x, func() int { return 50 }); len(y) > len(x) {
			t.Errorf("ratio %v makes %d frames of %d", ratio, len(y), len(x))
		}
	}
}

func TestAsyncAllocates(t *testing.T) {
	n := flowtest.Node("AsyncResample", "ratio", .9)
	one := graph.Shape{B: 1, C: 1}
	g := flowtest.NewRig[float32](t, signal.ResampleTypes(), &n, 48000, []graph.Shape{one}, 64)
	c := g.Call([]node.Tensor[float32]{flowtest.NewTensor[float32](one, 64)}, 0, 64)
	if a := await.Allocs(20, func() { g.Inst.Forward(&c) }); a != 0 {
		t.Errorf("%v allocations a call", a)
	}
}
