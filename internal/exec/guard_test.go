//go:build invariants

package exec

import (
	"strings"
	"testing"
	"unsafe"

	"atenia/internal/plan"
	"atenia/tensor"
)

// Each thing that an instruction must not do is seen around it.
func TestGuard(t *testing.T) {
	const rows, cols = 2, 16
	memory := make([]float32, 6*rows*cols+16)
	for uintptr(unsafe.Pointer(unsafe.SliceData(memory)))%plan.BufferAlign != 0 {
		memory = memory[1:]
	}
	buffer := func(k int) *register {
		return &register{rows: plan.RowsTokens, cols: cols, buf: memory[k*rows*cols : (k+1)*rows*cols]}
	}
	spec := plan.RegSpec{DType: tensor.F32, Rank: 2, Rows: plan.RowsTokens, Cols: cols}
	for _, c := range []struct {
		why  string // "" = allowed
		spec func(g *guard)
		run  Kernel
	}{
		{why: "", run: func(s *Step) error { s.x.work[3], s.Runs[0].Pages[0][0][9] = 1, 1; return nil }},
		{why: "bytes behind a scratch", run: func(s *Step) error { s.x.work[64] = 0; return nil }},
		{why: "bytes of states", run: func(s *Step) error { s.Runs[0].Pages[0][0][7]++; return nil }},
		{why: "bytes of states", run: func(s *Step) error { s.Runs[0].Pages[0][0][16]++; return nil }},
		{why: "bytes of states", run: func(s *Step) error { s.Runs[0].Pages[1][0][9]++; return nil }},
		{why: "output 0 lies where", spec: func(g *guard) { g.live = append(g.live, buffer(1)) }},
		{why: "output 0 lies where", spec: func(g *guard) { g.out[0] = g.in[0] }},
		{why: "", spec: func(g *guard) { g.out[0], g.place = g.in[0], g.in[0] }},
		{why: "room for 31 values", spec: func(g *guard) { g.out[0].buf = g.out[0].buf[:31] }},
		{why: "not aligned", spec: func(g *guard) { g.in[0].buf = memory[1 : 1+rows*cols] }},
		{why: "rows of 16, its view", spec: func(g *guard) { g.inViews[0].Cols++ }},
		{why: "in a buffer of float32", spec: func(g *guard) { g.outViews[0].DType = tensor.F16 }},
	} {
		in, out := buffer(0), buffer(1)
		g := &guard{
			ins: &plan.Instruction{Op: plan.OpAttention, State: 0}, in: []*register{in}, out: []*register{out},
			inViews: []plan.TensorViewDesc{spec.View()}, outViews: []plan.TensorViewDesc{spec.View()},
			live: []*register{in, buffer(2)}, owned: [][2]int{{8, 16}}, canaries: []int{64},
		}
		if c.spec != nil {
			c.spec(g)
		}
		if c.run == nil {
			c.run = func(*Step) error { return nil }
		}
		s := &Step{x: &Executor{work: make([]byte, 128)}, rows: rows, Runs: []Run{{Pages: [][][]byte{{make([]byte, 32)}, {make([]byte, 32)}}}}}
		got := func() (got string) {
			defer func() { got, _ = recover().(string) }()
			_ = execute([]bound{{run: c.run, ins: g.ins, guard: g}}, s)
			return ""
		}()
		if (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
			t.Errorf("got %q, want %q", got, c.why)
		}
	}
}
