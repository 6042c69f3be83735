//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"testing"

	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

func TestBackward(t *testing.T) {
	l := open(t, amp.Options{})
	row := func(v ...float64) node.Tensor[float64] { return node.Tensor[float64]{Data: v, B: 1, C: 1, N: len(v)} }
	t.Run("A09", func(t *testing.T) {
		g := rig[float64](t, l, flowtest.Node("Gain.c", "gain", 0.5), mono...)
		g.Forward(t, []node.Tensor[float64]{row(1, 2, 3, 4)}, []int{4})
		dIn, dParam := g.Backward(t, []node.Tensor[float64]{row(1, 1, 1, 1)})
		equal(t, "input", dIn[0].Data, []float64{.5, .5, .5, .5})
		equal(t, "gain", dParam[0], []float64{10})
	})
	t.Run("A10", func(t *testing.T) {
		g := rig[float64](t, l, flowtest.Node("MidSide.c"), mono[0], mono[0])
		out := g.Forward(t, []node.Tensor[float64]{row(3, 5), row(1, 1)}, []int{2})
		equal(t, "middle", out[0].Data, []float64{2, 3})
		equal(t, "side", out[1].Data, []float64{1, 2})
		dIn, _ := g.Backward(t, []node.Tensor[float64]{row(1, 0), row(0, 1)})
		equal(t, "left", dIn[0].Data, []float64{.5, .5})
		equal(t, "right", dIn[1].Data, []float64{.5, -.5})
	})
	t.Run("A38", func(t *testing.T) {
		g := rig[float64](t, l, flowtest.Node("Ignore.c"), mono[0], mono[0])
		g.Forward(t, []node.Tensor[float64]{row(1, 2), row(9, 9)}, []int{2})
		b := g.Back(0, []node.Tensor[float64]{row(4, 5)})
		b.DIn = []node.Tensor[float64]{row(7, 7), row(7, 7)}
		if code := g.Inst.(node.Adjoint[float64]).Backward(&b); code != graph.Success {
			t.Fatal(code)
		}
		equal(t, "used", b.DIn[0].Data, []float64{4, 5})
		equal(t, "unused", b.DIn[1].Data, []float64{0, 0})
	})
	t.Run("A40", func(t *testing.T) {
		types := template(t)
		in := []node.Tensor[float64]{ramp[float64](mono[0], 17*64)}
		cuts := make([]int, 16)
		for i := range cuts {
			cuts[i] = 64
		}
		with, without := rig[float64](t, types, flowtest.Node("Smooth", "a", 0.1), mono...), rig[float64](t, types, flowtest.Node("Smooth", "a", 0.1), mono...)
		with.Backward(t, with.Forward(t, in, cuts))
		without.Forward(t, in, cuts)
		x, _ := run(with, in, 16*64, 64)
		y, _ := run(without, in, 16*64, 64)
		equal(t, "after the sweep", x.Out[0].Data, y.Out[0].Data)
	})
}

// TestState: states that a node replaces are released once each, the last one
// when the instance is closed.
func TestState(t *testing.T) {
	t.Run("A39", func(t *testing.T) {
		l := fresh(t)
		view := peek(t, l)
		g := rig[float64](t, l, flowtest.Node("Replace.c"), mono...)
		in := []node.Tensor[float64]{ramp[float64](mono[0], 8)}
		dOut := []node.Tensor[float64]{ramp[float64](mono[0], 8)}
		last := uint64(0)
		check := func(calls int) {
			t.Helper()
			seen := view.seen()
			if last != 0 && seen[6] != last {
				t.Errorf("call %d was passed %#x, the last one had left %#x", calls, seen[6], last)
			}
			if last = seen[7]; view.call("test_released") != calls/3 || view.call("test_live") != 1 {
				t.Errorf("after %d calls: %d released, %d live", calls, view.call("test_released"), view.call("test_live"))
			}
		}
		g.Forward(t, in, []int{8})
		check(1)
		for i := 2; i <= 20; i += 2 {
			b := g.Back(0, dOut)
			b.DIn = []node.Tensor[float64]{ramp[float64](mono[0], 8)}
			if code := g.Inst.(node.Adjoint[float64]).Backward(&b); code != graph.Success {
				t.Fatal(code)
			}
			check(i)
			if _, code := run(g, in, 0, 8); code != graph.Success {
				t.Fatal(code)
			}
			check(i + 1)
		}
		if err := g.Inst.(interface{ Close() error }).Close(); err != nil {
			t.Fatal(err)
		}
		if view.call("test_released") != 8 || view.call("test_live") != 0 {
			t.Errorf("closed: %d released, %d live", view.call("test_released"), view.call("test_live"))
		}
		l.Close()
		if view.call("test_released") != 8 {
			t.Error("released twice")
		}
	})
	t.Run("library", func(t *testing.T) {
		l := fresh(t)
		view := peek(t, l)
		for range 3 {
			run(rig[float64](t, l, flowtest.Node("Replace.c"), mono...), []node.Tensor[float64]{ramp[float64](mono[0], 8)}, 0, 8)
		}
		if view.call("test_live") != 3 {
			t.Error(view.call("test_live"))
		}
		l.Close()
		if view.call("test_live") != 0 {
			t.Errorf("%d are left when the library is closed", view.call("test_live"))
		}
	})
	t.Run("foreign", func(t *testing.T) {
		g := rig[float64](t, template(t), flowtest.Node("Smooth"), mono...)
		s := g.Inst.(node.Stateful[float64])
		if code := s.Load([]byte{1, 2, 3}); code != graph.State {
			t.Error(code)
		}
	})
}
