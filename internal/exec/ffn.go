package exec

import (
	"fmt"

	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// Gated activations: dst = act(gate) ⊙ up. Plain ones: dst = act(src).
var (
	gatedActs = map[uint32]func(dst, gate, up []float32){
		plan.ActSiLU:     kernel.SiLUMul,
		plan.ActGELUTanh: kernel.GELUTanhMul,
		plan.ActGELUErf:  kernel.GELUErfMul,
	}
	plainActs = map[uint32]func(dst, src []float32){
		plan.ActSiLU:      kernel.SiLU,
		plan.ActGELUTanh:  kernel.GELUTanh,
		plan.ActGELUErf:   kernel.GELUErf,
		plan.ActReLU2:     kernel.ReLU2,
		plan.ActReLU:      kernel.ReLU,
		plan.ActQuickGELU: kernel.QuickGELU,
	}
)

// An ffn is one bound feed-forward instruction: down(act(gate x) ⊙ up x), or
// down(act(up x)) without a gate. A worker that has computed columns of gate
// and up for all rows activates them and prepares them for down while they are
// in its cache, so that these are one section.
type ffn struct {
	x           *Executor
	hidden      int
	first, last *linear
	gate, up    scratch
	act         func(gate, up []float32) // leaves the activated values in up
}

func bindFFN(b *Bind, p *plan.FFNParams) (Kernel, error) {
	s := ffnSlots{up: "up", upBias: "up_bias", down: "down", downBias: "down_bias"}
	if p.Gated != 0 {
		s.gate, s.gateBias = "gate", "gate_bias"
	}
	f, err := b.ffn(s, int(p.Dim), int(p.Hidden), p.Act)
	if err != nil {
		return nil, err
	}
	in, out := b.In[0], b.Out[0]
	f.first.reads(in)
	return func(s *Step) error {
		if in.count(s) == 0 {
			return nil
		}
		return f.run(s, in, out)
	}, nil
}

// ffnSlots names the weights of a feed-forward layer. Without a gate, gate is
// ""; a bias slot "" means that the op has no bias.
type ffnSlots struct{ gate, gateBias, up, upBias, down, downBias string }

// ffn binds a feed-forward layer.
func (b *Bind) ffn(s ffnSlots, dim, hidden int, act uint32) (*ffn, error) {
	f := &ffn{x: b.x, hidden: hidden, first: b.linear(dim), last: b.linear(hidden)}
	f.up = b.floats(hidden * b.maxRows)
	f.gate = f.up
	if s.gate != "" {
		if err := b.add(f.first, s.gate, s.gateBias, hidden); err != nil {
			return nil, err
		}
		f.gate = b.floats(hidden * b.maxRows)
	}
	if err := b.add(f.first, s.up, s.upBias, hidden); err != nil {
		return nil, err
	}
	if err := b.add(f.last, s.down, s.downBias, dim); err != nil {
		return nil, err
	}
	var err error
	if f.act, err = activation(act, s.gate != ""); err != nil {
		return nil, err
	}
	f.last.parts[0].stride = dim
	for i := range f.first.parts {
		f.first.parts[i].stride = hidden
	}
	return f, nil
}

func (f *ffn) run(s *Step, in, out *register) error {
	rows, up := in.count(s), f.x.floatsOf(f.up)
	f.first.parts[0].dst = f.x.floatsOf(f.gate) // without a gate it is up
	f.first.parts[len(f.first.parts)-1].dst = up
	f.last.parts[0].dst = out.f32(s)
	f.first.prepareRegister(s, in)
	f.last.begin(f.x, up, rows)
	f.first.lower(s)
	if err := f.first.acquire(s); err != nil {
		return err
	}
	s.parallel(f.hidden, f.grain(rows), f)
	f.first.release(s)
	return f.last.multiply(s)
}

// grain returns the smallest number of columns in a piece of work. Pieces of
// 256 are prepared fastest; pieces of 32 divide more evenly among workers,
// which matters more when there are few rows.
func (f *ffn) grain(rows int) int {
	const even, fast = 32, 256
	unit, threads := even, f.x.cfg.Threads
	if n := f.hidden / fast; n%threads == 0 || rows > 8 && n >= 8*threads {
		unit = fast
	}
	least := grainFor(len(f.first.parts) * rows * f.first.cols)
	return (least + unit - 1) / unit * unit
}

// Range computes columns lo to hi of what down multiplies.
func (f *ffn) Range(_, lo, hi int) {
	for i := range f.first.parts {
		f.first.outputs(&f.first.parts[i], lo, hi)
	}
	gate, up := f.x.floatsOf(f.gate), f.x.floatsOf(f.up)
	for r := range f.first.rows {
		at := r * f.hidden
		f.act(gate[at+lo:at+hi], up[at+lo:at+hi])
		for i := range f.last.preps {
			p := &f.last.preps[i]
			p.form.PrepareCols(p.rows[r*p.row:(r+1)*p.row], up[at:at+f.hidden], lo, hi)
		}
	}
}

// activation returns a function that leaves the activated values in up.
func activation(act uint32, gated bool) (func(gate, up []float32), error) {
	if gated {
		if f, ok := gatedActs[act]; ok {
			return func(gate, up []float32) { f(up, gate, up) }, nil
		}
	} else if f, ok := plainActs[act]; ok {
		return func(_, up []float32) { f(up, up) }, nil
	}
	return nil, fmt.Errorf("%w: activation %d (gated %t) is not supported on the CPU yet", plan.ErrUnsupportedOpcode, act, gated)
}

// expertActivation is [activation] of a mixture's experts.
func expertActivation(p *plan.MoEParams) (func(gate, up []float32), error) {
	if p.Act != plan.ActSwiGLUOAI {
		return activation(p.Act, true)
	}
	limit, slope := p.Limit, p.Alpha
	if !(limit > 0 && slope > 0) {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "a clamped activation with limit %g and slope %g", limit, slope)
	}
	return func(gate, up []float32) {
		for i, g := range gate { // g·σ(αg) = silu(αg)/α
			gate[i] = slope * min(g, limit)
			up[i] = (min(max(up[i], -limit), limit) + 1) / slope
		}
		kernel.SiLUMul(up, gate, up)
	}, nil
}
