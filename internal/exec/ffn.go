package exec

import (
	"fmt"

	"atenia/internal/kernel"
	"atenia/plan"
)

// Gated activations: dst = act(gate) ⊙ up. Plain ones: dst = act(src).
var (
	gatedActs = map[uint32]func(dst, gate, up []float32){
		plan.ActSiLU:     kernel.SiLUMul,
		plan.ActGELUTanh: kernel.GELUTanhMul,
		plan.ActGELUErf:  kernel.GELUErfMul,
	}
	plainActs = map[uint32]func(dst, src []float32){
		plan.ActSiLU:     kernel.SiLU,
		plan.ActGELUTanh: kernel.GELUTanh,
		plan.ActGELUErf:  kernel.GELUErf,
		plan.ActReLU2:    kernel.ReLU2,
		plan.ActReLU:     kernel.ReLU,
	}
)

// bindFFN binds down(act(gate x) ⊙ up x), or down(act(up x)) without a gate.
func bindFFN(b *Bind) (Kernel, error) {
	p := b.Params.(*plan.FFNParams)
	dim, hidden := int(p.Dim), int(p.Hidden)
	first, last := b.linear(dim), b.linear(hidden)
	up := b.floats(hidden * b.maxRows)
	gate := up
	if p.Gated != 0 {
		if err := b.add(first, "gate", "gate_bias", hidden); err != nil {
			return nil, err
		}
		gate = b.floats(hidden * b.maxRows)
	}
	if err := b.add(first, "up", "up_bias", hidden); err != nil {
		return nil, err
	}
	if err := b.add(last, "down", "down_bias", dim); err != nil {
		return nil, err
	}
	act, err := activation(p)
	if err != nil {
		return nil, err
	}
	in, out, x := b.In[0], b.Out[0], b.x
	last.parts[0].stride = dim
	for i := range first.parts {
		first.parts[i].stride = hidden
	}
	activate := overRows(in, 16*hidden, func(s *Step, _, lo, hi int) {
		lo, hi = lo*hidden, hi*hidden
		act(x.floatsOf(gate)[lo:hi], x.floatsOf(up)[lo:hi])
	})
	return func(s *Step) error {
		rows := in.count(s)
		if rows == 0 {
			return nil
		}
		g, u := x.floatsOf(gate), x.floatsOf(up)
		first.parts[0].dst = g // without a gate g is u
		first.parts[len(first.parts)-1].dst = u
		first.run(s, in.f32(s), rows)
		if err := activate(s); err != nil {
			return err
		}
		last.parts[0].dst = out.f32(s)
		last.run(s, u, rows)
		return nil
	}, nil
}

// activation returns a function that leaves the activated values in up.
func activation(p *plan.FFNParams) (func(gate, up []float32), error) {
	if p.Gated != 0 {
		if f, ok := gatedActs[p.Act]; ok {
			return func(gate, up []float32) { f(up, gate, up) }, nil
		}
	} else if f, ok := plainActs[p.Act]; ok {
		return func(_, up []float32) { f(up, up) }, nil
	}
	return nil, fmt.Errorf("%w: activation %d (gated %d) is not supported on the CPU yet", plan.ErrUnsupportedOpcode, p.Act, p.Gated)
}
