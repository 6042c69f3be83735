//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"math"
	"testing"
	"unsafe"

	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
)

// TestTemplate runs the checks of shipped nodes on the template: cuts, snapshots,
// allocations, gradients by differences and by the dot test.
func TestTemplate(t *testing.T) {
	types := template(t).Types()
	shapes := []graph.Shape{{B: 2, C: 3}}
	for name, n := range map[string]graph.Node{
		"default":  flowtest.Node("Smooth"),
		"constant": flowtest.Node("Smooth", "a", 0.3, node.Heat, 0.25),
		"rows":     flowtest.Node("Smooth", "a", flowtest.Ramp(2, 3, 1, 0.1, 0.9)),
		"channels": flowtest.Node("Smooth", "a", flowtest.Ramp(1, 3, 1, 0.1, 0.9)),
		"framed":   flowtest.Node("Smooth", "a", flowtest.Ramp(1, 1, 40, 0.1, 0.9)),
		"both":     flowtest.Node("Smooth", "a", flowtest.Ramp(2, 1, 40, 0.1, 0.9), node.Heat, flowtest.Ramp(1, 1, 40, 0, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.CheckNode(t, types, flowtest.Case{Node: n, In: shapes,
				// Without a value the node's own default counts, which no difference sees.
				NoGradient: name == "default"})
		})
	}
}

// TestGain does the same for a node whose backward mode needs only inputs.
func TestGain(t *testing.T) {
	types := open(t, amp.Options{}).Types()
	for name, n := range map[string]graph.Node{
		"constant": flowtest.Node("Gain.c", "gain", 0.5),
		"framed":   flowtest.Node("Gain.c", "gain", flowtest.Ramp(1, 1, 40, -1, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.CheckNode(t, types, flowtest.Case{Node: n, In: []graph.Shape{{B: 2, C: 2}}})
		})
	}
}

func TestCall(t *testing.T) {
	l := open(t, amp.Options{})
	view := peek(t, l)
	t.Run("A05", func(t *testing.T) {
		n := flowtest.Node("Index.c", "batches", 2, "channels", 3)
		g := rig[float32](t, l, n)
		c, code := run(g, nil, 0, 4)
		if code != graph.Success || g.Node.OutShape[0] != (graph.Shape{B: 2, C: 3}) {
			t.Fatal(code, g.Node.OutShape)
		}
		for b := range 2 {
			for ch := range 3 {
				for f := range 4 {
					if got := c.Out[0].Data[(b*3+ch)*4+f]; got != float32(10000*b+100*ch+f) {
						t.Errorf("element %d, %d, %d is %g", b, ch, f, got)
					}
				}
			}
		}
		if c, _ = run(g, nil, 4, 4); c.Out[0].Data[0] != 4 {
			t.Errorf("frame0 of the second call: %g", c.Out[0].Data[0])
		}
	})
	t.Run("A06", func(t *testing.T) {
		block, err := ledger.NewBlock(ledger.Process, ledger.Scratch, 4096)
		if err != nil {
			t.Fatal(err)
		}
		defer block.Release()
		g := rig[float32](t, l, flowtest.Node("Arena.c"), mono...)
		c := g.Call([]node.Tensor[float32]{ramp[float32](mono[0], 8)}, 0, 8)
		c.Out[0].Data = unsafe.Slice((*float32)(unsafe.Pointer(&block.Bytes[64])), 8)
		if code := g.Inst.Forward(&c); code != graph.Success {
			t.Fatal(code)
		}
		if at := view.seen()[0]; at != uint64(uintptr(unsafe.Pointer(&block.Bytes[64]))) || at%64 != 0 {
			t.Errorf("the node wrote to %#x", at)
		}
		for _, typ := range []string{"Thief.c", "Widen.c"} {
			g := rig[float32](t, l, flowtest.Node(typ), mono...)
			in := []node.Tensor[float32]{ramp[float32](mono[0], 8)}
			for range 2 { // the buffer is set anew for the second call
				c, code := run(g, in, 0, 8)
				if code != graph.InvalidArg {
					t.Errorf("%s: %v", typ, code)
				}
				equal(t, typ, c.Out[0].Data, make([]float32, 8))
			}
		}
		equal(t, "events", kinds(l), []string{"Thief.c: " + amp.BadOutput.String(), "Widen.c: " + amp.BadOutput.String()})
	})
	t.Run("codes", func(t *testing.T) {
		for _, typ := range []string{"Positive.c", "HostCode.c"} {
			g := rig[float32](t, l, flowtest.Node(typ), mono...)
			if _, code := run(g, []node.Tensor[float32]{ramp[float32](mono[0], 8)}, 0, 8); code != graph.Fail {
				t.Errorf("%s: %v", typ, code)
			}
		}
		if got := kinds(l); len(got) != 2 {
			t.Error(got)
		}
	})
	t.Run("environment", func(t *testing.T) {
		g := rig[float32](t, l, flowtest.Node("Denormals.c"), mono...)
		in := []node.Tensor[float32]{ramp[float32](mono[0], 8)}
		for range 3 {
			if _, code := run(g, in, 0, 8); code != graph.Success {
				t.Error(code)
			}
		}
		equal(t, "events", kinds(l), []string{"Denormals.c: " + amp.Environment.String()})
	})
	t.Run("message", func(t *testing.T) {
		g := rig[float64](t, l, flowtest.Node("Talk.c"), mono...)
		run(g, []node.Tensor[float64]{ramp[float64](mono[0], 8)}, 0, 8)
		equal(t, "events", kinds(l), []string{"hello from C"})
	})
	t.Run("flags", func(t *testing.T) { testFlags(t, l, view) })
}

// testFlags checks the flags of buffers and the descriptor that a node sees.
func testFlags(t *testing.T, l *amp.Library, view exported) {
	const absent, constant, silent, begin, final, param, there = 1, 2, 4, 8, 16, 1 << 16, 1 << 32
	g := rig[float32](t, l, flowtest.Node("Flags.c", "p", 0.0, "word", "x"), mono...)
	in := []node.Tensor[float32]{ramp[float32](mono[0], 16)}
	run(g, in, 0, 8)
	seen := *view.seen()
	if seen[0] != begin|there || seen[1] != constant|silent|param|there || seen[2] != constant|silent|absent|param|there {
		t.Errorf("first call: %#x", seen[:3])
	}
	if seen[4] != 0 || seen[5] != 3 || seen[7] != 1024 {
		t.Errorf("frame0 %d, descriptor %d, max_frames %d", seen[4], seen[5], seen[7])
	}
	c := g.Call(in, 8, 8)
	c.Final, c.Param[0].Framed = true, true
	c.Param[0].Tensor = ramp[float32](mono[0], 8)
	g.Inst.Forward(&c)
	if seen = *view.seen(); seen[0] != final|there || seen[1] != param|there || seen[4] != 8 {
		t.Errorf("last call: %#x", seen[:5])
	}
	text := *(**[24]byte)(unsafe.Pointer(&seen[6]))
	if got := string(text[:20]); got != `{"p":0,"word":"x"}`+"\x00\x00" {
		t.Errorf("params %q", got)
	}
	g.Inst.Reset()
	run(g, in, 0, 8)
	if seen = *view.seen(); seen[0] != begin|there {
		t.Errorf("after Reset: %#x", seen[0])
	}
}

func TestForward(t *testing.T) {
	l := open(t, amp.Options{})
	t.Run("A07", func(t *testing.T) {
		one, two := flowtest.Node("Gain.c", "gain", 0.7, node.Heat, 0.5), flowtest.Node("Gain.c", "gain", 0.7, node.Heat, 0.5)
		one.SupportsV2 = false
		for _, frames := range []int{1, 7, 64, 256} {
			a, b := rig[float32](t, l, one, mono...), rig[float32](t, l, two, mono...)
			in := []node.Tensor[float32]{ramp[float32](mono[0], 200*frames)}
			for k := range 200 {
				x, code1 := run(a, in, k*frames, frames)
				y, code2 := run(b, in, k*frames, frames)
				if code1 != graph.Success || code2 != graph.Success || x.Heat != y.Heat || x.Heat != 0.5*float64(frames) {
					t.Fatal(code1, code2, x.Heat, y.Heat)
				}
				for i := range x.Out[0].Data {
					if math.Float32bits(x.Out[0].Data[i]) != math.Float32bits(y.Out[0].Data[i]) {
						t.Fatalf("block %d, frame %d: %g and %g", k, i, x.Out[0].Data[i], y.Out[0].Data[i])
					}
				}
			}
		}
	})
	t.Run("A12", func(t *testing.T) {
		quiet := open(t, amp.Options{NoMetrics: true})
		view := peek(t, quiet)
		loud, silent := rig[float32](t, l, flowtest.Node("Metrics.c"), mono...), rig[float32](t, quiet, flowtest.Node("Metrics.c"), mono...)
		in := []node.Tensor[float32]{ramp[float32](mono[0], 64)}
		x, _ := run(loud, in, 0, 64)
		if view.seen()[5] == 0 {
			t.Error("with metrics: NULL")
		}
		y, code := run(silent, in, 0, 64)
		if code != graph.Success || view.seen()[5] != 0 {
			t.Errorf("%v, metrics at %#x", code, view.seen()[5])
		}
		equal(t, "outputs", y.Out[0].Data, x.Out[0].Data)
		for _, g := range []*flowtest.Rig[float32]{loud, silent} {
			if n := await.Allocs(100, func() { g.Inst.Forward(&x) }); n != 0 {
				t.Errorf("%g allocations", n)
			}
		}
	})
	t.Run("A13", func(t *testing.T) {
		for _, declared := range []int{37, 10} {
			n := flowtest.Node("Look.c")
			n.DeclaredDelay = declared
			g := rig[float64](t, l, n, mono...)
			in := []node.Tensor[float64]{ramp[float64](mono[0], 128)}
			c, code := run(g, in, 0, 32)
			if code != graph.Pending || c.Produced != 0 {
				t.Errorf("first call: %v, %d", code, c.Produced)
			}
			c, code = run(g, in, 32, 64)
			if code != graph.Success || c.Produced != 59 || c.Delay != 37 || c.Out[0].Data[0] != 1 || c.Out[0].Data[58] != 59 {
				t.Errorf("%v, %d made, delay %d, %g", code, c.Produced, c.Delay, c.Out[0].Data)
			}
			run(g, in, 96, 32)
			want := []string{}
			if declared < 37 {
				want = []string{"Look.c: under-declared delay"}
			}
			equal(t, "events", kinds(l), want)
		}
	})
	t.Run("A15", func(t *testing.T) {
		set, add := rig[float32](t, l, flowtest.Node("HeatSet.c"), mono...), rig[float32](t, l, flowtest.Node("HeatAdd.c"), mono...)
		in := []node.Tensor[float32]{ramp[float32](mono[0], 8)}
		sum := [2]float64{}
		for range 1000 {
			x, _ := run(set, in, 0, 8)
			y, _ := run(add, in, 0, 8)
			sum[0] += x.Heat
			sum[1] += y.Heat
		}
		if sum != [2]float64{250, 250} {
			t.Error(sum)
		}
	})
}
