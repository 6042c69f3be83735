package neuron

import (
	"fmt"
	"math"

	"atenia/grad"
)

// key is the tape's name of a window.
const key grad.Key = "quila.grid"

// An Outcome is what a window made. Rows are in the order token, session,
// neuron.
type Outcome[F grad.Float] struct {
	X       grad.Ref // [T·B·N, D] h_final after every token
	Conf    grad.Ref // [T·B·N] confidences
	Utility grad.Ref // [T·B·N] moving averages of the utility

	Trace, PTrace []F // [T·B·N] traces after every token, constants; valid until the next window
	RMS           F   // root mean square of h_kfe over the window
}

// Options of a window. The zero value is phase 5, text, and messages that are not
// rounded.
type Options[F grad.Float] struct {
	Phase    int  // of inference
	Modality int  // of the boundary
	FP8      bool // messages are rounded to E4M3, with a straight-through gradient
	Weight   F    // of the phase in the trace; 0 is 1

	// Fire, unless nil, chooses who fires at a tick: it sets fire [N][B], all true
	// before.
	Fire func(tick int, s *State[F], fire []bool)
	// Recall is that of [Tick]. RecallBack adds to dMid, zeros, what h_mid gets from
	// the gradient of h_kfe, and may keep what snapshots get; conf is the
	// confidence before the tick. For every neuron it is called in the
	// reverse of Recall's order. Without it what was recalled is a constant.
	Recall     func(neuron, session int, hMid, hKFE []F)
	RecallBack func(neuron, session int, conf F, dMid, dKFE []F)
}

// Register sets the backward function of windows.
func Register[F grad.Float](r *grad.Registry[F]) { r.Register(key, windowBack[F]) }

// A pending is a window that waits for its gradient.
type pending[F grad.Float] struct {
	g     *Grid[F]
	sp    *space[F]
	order []slot
}

// Window records T tokens of K ticks each on a tape: emb is [T][B][D_e], refs are
// the parameters by the names of the inventory, whose values [Grid.Bind] saw. s
// moves on by the window; no gradient goes into it. The boundary speaks in the
// first tick of a token.
func (g *Grid[F]) Window(t *grad.Tape[F], refs map[string]grad.Ref, s *State[F], emb []F, T int, o Options[F]) (out Outcome[F], err error) {
	c := g.c
	if want := T * s.B * c.DE; len(emb) != want {
		return out, fmt.Errorf("neuron: %d values of embeddings, want %d", len(emb), want)
	}
	g.bindMaps()
	sp := g.space()
	sp.phase = o.Phase
	if sp.phase == 0 {
		sp.phase = 5
	}
	alpha, beta, gamma := Shares(sp.phase, float64(g.bound.alpha), float64(g.bound.raw))
	sp.alpha, sp.beta, sp.gamma = F(alpha), F(beta), F(gamma)
	sp.emb = append(sp.emb[:0], emb...)
	out.X, out.Conf, out.Utility = t.Alloc(T*s.B*c.N, c.D), t.Alloc(T*s.B*c.N), t.Alloc(T*s.B*c.N)
	if err := t.Err(); err != nil {
		return out, err
	}
	sp.trace, sp.ptrace = size(sp.trace, T*s.B*c.N), size(sp.ptrace, T*s.B*c.N)
	out.Trace, out.PTrace = sp.trace, sp.ptrace
	g.roll(sp, s, T, &o, t.Data(out.X), t.Data(out.Conf), t.Data(out.Utility))
	var squares float64
	for n := range sp.cells {
		squares += sp.cells[n].squares
	}
	out.RMS = F(math.Sqrt(squares / float64(T*s.B*c.N*c.D)))

	sp.in.modality = o.Modality
	p := &sp.pending
	p.g, p.sp, p.order, sp.refs = g, sp, p.order[:0], sp.refs[:0]
	for i := range slots {
		if ref, ok := refs[nameOf(i, o.Modality)]; ok {
			p.order, sp.refs = append(p.order, i), append(sp.refs, ref)
		}
	}
	sp.outs = append(sp.outs[:0], out.X, out.Conf, out.Utility)
	err = t.Opaque(key, sp.refs, sp.outs, nil, p)
	if err != nil || !t.Recording() {
		g.giveBack(sp)
	}
	return out, err
}

// roll runs the ticks of a window and copies what ports read.
func (g *Grid[F]) roll(sp *space[F], s *State[F], T int, o *Options[F], x, conf, utility []F) {
	c := g.c
	ticks, d := T*c.K, c.D
	g.prepare(sp, ticks, s.B)
	sp.sentLog = size(sp.sentLog, ticks*c.N*s.B)
	if o.FP8 {
		sp.hLog = size(sp.hLog, ticks*c.N*s.B*d)
	}
	sp.in = input[F]{composite: true, modality: o.Modality, fp8: o.FP8}
	sp.tickOf = Tick[F]{Phase: sp.phase, Weight: o.Weight, Alpha: sp.alpha, Beta: sp.beta, Gamma: sp.gamma, Recall: o.Recall}
	sp.recallBack = o.RecallBack
	if o.Fire != nil {
		sp.fire = size(sp.fire, c.N*s.B)
		sp.tickOf.Fire = sp.fire
	}
	g.each(jobBegin, sp, s, nil, 0)
	for k := range ticks {
		sp.in.speaks, sp.in.token, sp.in.last = k%c.K == 0, k/c.K, (k+1)%c.K == 0
		if o.Fire != nil {
			for i := range sp.fire {
				sp.fire[i] = true
			}
			o.Fire(k, s, sp.fire)
		}
		copy(sp.sentLog[k*c.N*s.B:(k+1)*c.N*s.B], s.Sent)
		if o.FP8 {
			copy(sp.hLog[k*c.N*s.B*d:(k+1)*c.N*s.B*d], s.HFinal)
		}
		g.tick(sp, s, &sp.tickOf, k)
		if !sp.in.last {
			continue
		}
		for n := range c.N {
			for b := range s.B {
				at, i := ((k/c.K)*s.B+b)*c.N+n, n*s.B+b
				copy(x[at*d:(at+1)*d], s.HFinal[i*d:])
				conf[at], utility[at], sp.trace[at], sp.ptrace[at] = s.Conf[i], s.Utility[i], s.Trace[i], s.PTrace[i]
			}
		}
	}
	g.each(jobEnd, sp, s, nil, 0)
}

// wasSent reports whether a neuron had sent before tick k.
func (sp *space[F]) wasSent(k, n, b int) bool {
	return sp.sentLog[(k*len(sp.cells)+n)*sp.b+b]
}

// windowBack is the gradient of a window: all ticks in reverse, then the weights.
func windowBack[F grad.Float](b *grad.OpaqueBack[F]) {
	p := b.Aux.(*pending[F])
	g, sp := p.g, p.sp
	sp.grads = [slots][]F{}
	for i, s := range p.order {
		sp.grads[s] = b.DIn(i)
	}
	sp.dX, sp.dConf, sp.dUtil = nil, nil, nil
	if b.DOutUsed(0) {
		sp.dX = b.DOut(0)
	}
	if b.DOutUsed(1) {
		sp.dConf = b.DOut(1)
	}
	if b.DOutUsed(2) {
		sp.dUtil = b.DOut(2)
	}
	if sp.adjoints == nil {
		sp.adjoints = make([]adjoint[F], g.c.N)
	}
	g.each(jobClear, sp, nil, nil, 0)
	for k := sp.ticks - 1; k >= 0; k-- {
		g.each(jobBack, sp, nil, nil, k)
	}
	g.each(jobCollect, sp, nil, nil, 0)
	g.collectShared(b.Work(), sp)
	sp.dX, sp.dConf, sp.dUtil, sp.grads = nil, nil, nil, [slots][]F{}
	g.giveBack(sp)
}
