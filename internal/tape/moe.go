package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A moe is a bound mixture of experts. Rows are put together by expert, so each
// expert is a product with all its rows:
//
//	row   0 1 2 3      places   e0: 0 2 │ e1: 0 1 3 │ e2: 1 2 │ e3: 3
//	best  02 12 20 13  gate, up, act, down of each run of places; y[row] += weight·result
type moe[F Float] struct {
	m                 *Model[F]
	in, out           plan.RegisterRef
	dim, hidden       int
	experts, best     int
	choice            router[F]
	renorm            bool
	eps, scale        F
	act               dense.Activation
	limit, slope      F // of the clamped activation; 0 = act
	router            linear[F]
	gate, up, down    []linear[F]
	shared            bool
	sharedGated       bool
	sGate, sUp, sDown linear[F]
	sRouter           linear[F]
	route             routing[F]
	balanced          bool // in this step
}

// The values that a mixture saves, by place.
const (
	savedProbs = iota // [rows, experts]
	savedGate         // [places, hidden]
	savedUp
	savedSharedGate // [rows, shared hidden]
	savedSharedUp
	savedSharedOut // [rows, dim], only with a gate on the shared expert, and what follows
	savedSharedLogit
)

func bindMoE[F Float](b *Bind[F], p *plan.MoEParams) (recorder[F], error) {
	act, ok := activations[p.Act]
	if !ok && p.Act != plan.ActSwiGLUOAI {
		return nil, b.untrained("activation %d", p.Act)
	}
	e := &moe[F]{m: b.m, in: b.In[0], out: b.Out[0], dim: int(p.Dim), hidden: int(p.Hidden), experts: int(p.Experts), best: int(p.TopK),
		renorm: p.Renorm != 0 || p.Gate == plan.GateTop, eps: exact[F](p.RenormEps), scale: exact[F](p.Scale), act: act}
	if p.Act == plan.ActSwiGLUOAI {
		e.limit, e.slope = exact[F](p.Limit), exact[F](p.Alpha)
	}
	if p.Gate != plan.GateSparse { // whose scores are no probabilities to balance
		if b.m.mixtures++; b.m.mixtures > 1 && b.m.experts != e.experts {
			return nil, b.untrained("layers with %d and with %d experts", b.m.experts, e.experts)
		}
		b.m.experts = e.experts
	}
	var err error
	if e.choice, err = b.router(p); err != nil {
		return nil, err
	}
	if e.router, err = b.linear("router", "router_bias", e.dim, e.experts); err != nil {
		return nil, err
	}
	for _, l := range []struct {
		to         *[]linear[F]
		slot, bias string
		in, out    int
	}{{&e.gate, "gate", "gate_bias", e.dim, e.hidden}, {&e.up, "up", "up_bias", e.dim, e.hidden}, {&e.down, "down", "down_bias", e.hidden, e.dim}} {
		if *l.to, err = b.expertLinears(l.slot, l.bias, l.in, l.out, e.experts); err != nil {
			return nil, err
		}
	}
	return e, e.bindShared(b, int(p.SharedHidden), p.SharedGated != 0)
}

// expertLinears cuts weights that hold those of all experts.
func (b *Bind[F]) expertLinears(slot, bias string, in, out, experts int) ([]linear[F], error) {
	w, err := b.weight(slot, experts*in*out)
	if err != nil {
		return nil, err
	}
	wb, err := b.weight(bias, experts*out)
	if err != nil {
		return nil, err
	}
	ls := make([]linear[F], experts)
	for i := range ls {
		l := &ls[i]
		l.in, l.out = in, out
		l.w = b.m.operand(w, i*in*out, (i+1)*in*out)
		if wb != nil {
			l.bias = b.m.operand(wb, i*out, (i+1)*out)
		}
		b.m.attach(l, w, i*in*out)
	}
	return ls, nil
}

func (e *moe[F]) bindShared(b *Bind[F], hidden int, gated bool) (err error) {
	if hidden == 0 {
		return nil
	}
	e.shared, e.sharedGated = true, gated
	if e.sGate, err = b.linear("shared_gate", "", e.dim, hidden); err != nil {
		return err
	}
	if e.sUp, err = b.linear("shared_up", "", e.dim, hidden); err != nil {
		return err
	}
	if e.sDown, err = b.linear("shared_down", "", hidden, e.dim); err != nil {
		return err
	}
	if gated {
		if e.sRouter, err = b.linear("shared_router", "", e.dim, 1); err != nil {
			return err
		}
	}
	for _, l := range []*linear[F]{&e.sGate, &e.sUp, &e.sDown} {
		if l.w.leaf == nil {
			return b.WeightErrorf("shared_up", "a shared expert needs gate, up and down")
		}
	}
	return nil
}

func (e *moe[F]) record(s *step[F]) error {
	s.begin(e.in)
	e.useRouter(s)
	for i := range e.experts {
		e.gate[i].use(s)
		e.up[i].use(s)
		e.down[i].use(s)
	}
	if e.shared {
		e.sGate.use(s)
		e.sUp.use(s)
		e.sDown.use(s)
		e.sRouter.use(s)
	}
	rows, x, scratch := s.count(e.in), s.value(e.in), &e.m.scratch
	y := s.output(e.out)
	probs := s.keep(rows * e.experts)
	gate, up := s.keep(rows*e.best*e.hidden), s.keep(rows*e.best*e.hidden)
	if y == nil {
		return s.t.Err()
	}
	e.router.forward(s, probs, x, rows)
	e.choice.scores(s.w, probs, rows)
	r := &e.route
	r.choose(e, probs, rows)
	xs := r.collect(scratch.take(len(r.rows)*e.dim), x, e.dim)
	h, ys := scratch.take(len(up)), scratch.take(len(xs))
	for i := range e.experts {
		lo, hi := r.first[i], r.first[i+1]
		n := hi - lo
		if n == 0 {
			continue
		}
		e.gate[i].forward(s, gate[lo*e.hidden:hi*e.hidden], xs[lo*e.dim:hi*e.dim], n)
		e.up[i].forward(s, up[lo*e.hidden:hi*e.hidden], xs[lo*e.dim:hi*e.dim], n)
		e.activate(s.w, h[lo*e.hidden:hi*e.hidden], gate[lo*e.hidden:hi*e.hidden], up[lo*e.hidden:hi*e.hidden])
		e.down[i].forward(s, ys[lo*e.dim:hi*e.dim], h[lo*e.hidden:hi*e.hidden], n)
	}
	clear(y)
	for p, row := range r.rows {
		dense.Axpy(y[int(row)*e.dim:(int(row)+1)*e.dim], r.weights[p], ys[p*e.dim:(p+1)*e.dim])
	}
	if e.shared {
		e.sharedForward(s, y, x, rows)
	}
	if err := s.balanceOf(e, probs, rows); err != nil {
		return err
	}
	return s.end(keyMoE, e)
}

// sharedForward adds the shared expert, which processes all rows.
func (e *moe[F]) sharedForward(s *step[F], y, x []F, rows int) {
	n := rows * e.sUp.out
	gate, up := s.keep(n), s.keep(n)
	e.sGate.forward(s, gate, x, rows)
	e.sUp.forward(s, up, x, rows)
	h := e.m.scratch.take(n)
	e.activate(s.w, h, gate, up)
	if !e.sharedGated {
		out := e.m.scratch.take(rows * e.dim)
		e.sDown.forward(s, out, h, rows)
		add(y, out)
		return
	}
	out, logit := s.keep(rows*e.dim), s.keep(rows)
	e.sDown.forward(s, out, h, rows)
	e.sRouter.forward(s, logit, x, rows)
	open := e.m.scratch.take(rows)
	dense.Activate(dense.Sigmoid, open, logit)
	for r, g := range open {
		dense.Axpy(y[r*e.dim:(r+1)*e.dim], g, out[r*e.dim:(r+1)*e.dim])
	}
}

func moeBack[F Float](b *grad.OpaqueBack[F]) {
	e := b.Aux.(*moe[F])
	w, scratch, r := dense.Of[F](b.Work()), &e.m.scratch, &e.route
	scratch.reset()
	probs, gate, up := b.Saved(savedProbs), b.Saved(savedGate), b.Saved(savedUp)
	x, dy, rows := b.In(0), b.DOut(0), len(probs)/e.experts
	r.choose(e, probs, rows) // as on the way forward
	places := len(r.rows)
	xs := r.collect(scratch.take(places*e.dim), x, e.dim)
	ds := r.collect(scratch.take(places*e.dim), dy, e.dim)
	h, dh := scratch.take(len(up)), scratch.take(len(up))
	dgate, dup, dxs := scratch.zeros(len(up)), scratch.zeros(len(up)), scratch.take(places*e.dim)
	dweights := scratch.take(places)
	for i := range e.experts {
		lo, hi := r.first[i], r.first[i+1]
		n := hi - lo
		if n == 0 {
			continue
		}
		wide := func(v []F) []F { return v[lo*e.hidden : hi*e.hidden] }
		row := func(v []F) []F { return v[lo*e.dim : hi*e.dim] }
		// dh of an unweighted result gives the gradient of its weight; weighing
		// h and dh then gives the rest.
		e.activate(w, wide(h), wide(gate), wide(up))
		hidden := sink[F]{g: wide(dh)}
		e.weighDown(b, i, &hidden, row(ds), wide(h), dweights[lo:hi], r.weights[lo:hi])
		e.activateBack(w, wide(dgate), wide(dup), wide(gate), wide(up), wide(dh))
		dx := sink[F]{g: row(dxs)}
		e.gate[i].back(b, &dx, wide(dgate), row(xs), n)
		e.up[i].back(b, &dx, wide(dup), row(xs), n)
	}
	dx := sinkOf(b, 0)
	if g := dx.sum(); g != nil {
		w.ScatterAdd(g, dxs, r.rows, e.dim)
	}
	dlogits := scratch.zeros(len(probs))
	e.routerBack(b, dlogits, probs, dweights, rows)
	e.router.back(b, &dx, dlogits, x, rows)
	if e.shared {
		e.sharedBack(b, &dx, dy, x, rows)
	}
}
