package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// activations are those of feed-forward layers that have gradients.
var activations = map[uint32]dense.Activation{
	plan.ActSiLU:     dense.SiLU,
	plan.ActGELUTanh: dense.GELUTanh,
	plan.ActGELUErf:  dense.GELUErf,
	plan.ActReLU2:    dense.ReLU2,
	plan.ActReLU:     dense.ReLU,
}

// An ffn is a bound feed-forward layer: down(act(gate x) ⊙ up x), or
// down(act(up x)) without a gate.
type ffn[F Float] struct {
	m              *Model[F]
	in, out        plan.RegisterRef
	gate, up, down linear[F]
	gated          bool
	act            dense.Activation
}

func bindFFN[F Float](b *Bind[F], p *plan.FFNParams) (recorder[F], error) {
	act, ok := activations[p.Act]
	if !ok {
		return nil, b.untrained("activation %d", p.Act)
	}
	dim, hidden := int(p.Dim), int(p.Hidden)
	f := &ffn[F]{m: b.m, in: b.In[0], out: b.Out[0], gated: p.Gated != 0, act: act}
	var err error
	if f.gated {
		if !b.Has("gate") {
			return nil, b.WeightErrorf("gate", "absent")
		}
		if f.gate, err = b.linear("gate", "gate_bias", dim, hidden); err != nil {
			return nil, err
		}
	}
	if f.up, err = b.linear("up", "up_bias", dim, hidden); err != nil {
		return nil, err
	}
	f.down, err = b.linear("down", "down_bias", hidden, dim)
	return f, err
}

func (f *ffn[F]) record(s *step[F]) error {
	s.begin(f.in)
	f.gate.use(s)
	f.up.use(s)
	f.down.use(s)
	rows, x := s.count(f.in), s.value(f.in)
	y := s.output(f.out)
	if y == nil {
		return s.t.Err()
	}
	up := s.keep(rows * f.up.out)
	f.up.forward(s, up, x, rows)
	var gate []F
	if f.gated {
		gate = s.keep(len(up))
		f.gate.forward(s, gate, x, rows)
	}
	h := f.m.scratch.take(len(up))
	f.activate(s.w, h, gate, up)
	f.down.forward(s, y, h, rows)
	return s.end(keyFFN, f)
}

func (f *ffn[F]) activate(w *dense.Work[F], h, gate, up []F) {
	if f.gated {
		w.ActivateMul(f.act, h, gate, up)
	} else {
		w.Activate(f.act, h, up)
	}
}

func ffnBack[F Float](b *grad.OpaqueBack[F]) {
	f := b.Aux.(*ffn[F])
	w, scratch := dense.Of[F](b.Work()), &f.m.scratch
	scratch.reset()
	up := b.Saved(0)
	var gate, dgate []F
	if f.gated {
		gate, dgate = b.Saved(1), scratch.zeros(len(up))
	}
	h, dh, dup := scratch.take(len(up)), sink[F]{g: scratch.take(len(up))}, scratch.zeros(len(up))
	rows := len(up) / f.up.out
	f.activate(w, h, gate, up)
	f.down.back(b, &dh, b.DOut(0), h, rows)
	if f.gated {
		w.ActivateMulBack(f.act, dgate, dup, gate, up, dh.g)
	} else {
		w.ActivateBack(f.act, dup, up, dh.g)
	}
	x, dx := b.In(0), sinkOf(b, 0)
	if f.gated {
		f.gate.back(b, &dx, dgate, x, rows)
	}
	f.up.back(b, &dx, dup, x, rows)
}
