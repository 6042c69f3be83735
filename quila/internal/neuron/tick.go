package neuron

import (
	"atenia/grad"
)

// A Tick is what one step of the grid reads besides weights and state. The zero
// value, with HIn and the utility's weights, is a deterministic tick at which all
// neurons fire.
type Tick[F grad.Float] struct {
	HIn                []F    // [N][B][D]: W_in·B' + b_in
	Phase              int    // of inference; 2 opens all masks and runs DRC to its cap. 0 is 5
	Streams            string // streams that run; "" is the configuration's
	Weight             F      // of the phase in the trace; 0 is 1
	Alpha, Beta, Gamma F      // weights of the utility, the Planner's
	Temperature        F      // of step 11, thermal scale included
	NoiseCM, NoiseOut  []F    // [N][B][D] unit normals, or nil
	Fire               []bool // [N][B] who fires; nil is all

	// Recall, unless nil, writes what step 6 makes of h_mid to hKFE, which
	// already has its values. It may be called by several threads at once, for
	// different neurons.
	Recall func(neuron, session int, hMid, hKFE []F)

	// Of those who fire, unless nil: the utility of h_smooth [N][B], what stream D
	// changed [N][B][D], and stream A's attention [N][B][G][G].
	Utility, DRC, Attention []F

	Seen *Trace[F] // receives intermediates, unless nil
}

// A Trace is the intermediates of a tick by the names of the reference, [N][B][…]
// but gate and h_res, which are [N][…].
type Trace[F grad.Float] struct {
	Values map[string][]F
	Counts map[string][]int // mask (0 or 1), drc_n, drc_done
}

// A jobKind is what threads do to neurons.
type jobKind int

const (
	jobBind jobKind = iota
	jobMaps
	jobBegin
	jobTick
	jobEnd
	jobClear
	jobBack
	jobCollect
	jobGuard
)

// A job is work on a range of neurons.
type job[F grad.Float] struct {
	g    *Grid[F]
	kind jobKind
	sp   *space[F]
	s    *State[F]
	t    *Tick[F]
	k    int
}

// Range implements [grad.Ranger].
func (j *job[F]) Range(worker, lo, hi int) {
	for n := lo; n < hi; n++ {
		l := &j.g.lanes[worker]
		l.reset()
		switch j.kind {
		case jobBind:
			j.g.bind(l, n)
		case jobMaps:
			j.g.mapsOf(n)
		case jobBegin:
			j.g.begin(l, j.sp, j.s, n)
			if j.sp.in.composite && !j.sp.in.fp8 {
				j.g.embed(l, j.sp, n)
			}
		case jobTick:
			j.g.forward(l, j.sp, j.s, j.t, n, j.k)
		case jobEnd:
			j.g.end(&j.sp.cells[n], j.s, n)
		case jobClear:
			j.sp.adjoints[n].clearFor(j.g, j.sp, n)
		case jobBack:
			j.g.backward(l, j.sp, n, j.k)
		case jobCollect:
			j.g.collect(l, j.sp, n)
		case jobGuard:
			j.g.guard(l, n)
		}
	}
}

// each lets the threads do a job to all neurons.
func (g *Grid[F]) each(kind jobKind, sp *space[F], s *State[F], t *Tick[F], k int) {
	g.job = job[F]{g: g, kind: kind, sp: sp, s: s, t: t, k: k}
	g.threads.Range(g.c.N, 1, &g.job)
}

// tick runs tick k of a space that has begun.
func (g *Grid[F]) tick(sp *space[F], s *State[F], t *Tick[F], k int) {
	copy(sp.hFinal, s.HFinal)
	copy(sp.sent, s.Sent)
	for b := range s.B {
		sp.sHat[b], sp.pHat[b] = inverseMean(s.Trace, s.N, s.B, b), inverseMean(s.PTrace, s.N, s.B, b)
	}
	g.each(jobTick, sp, s, t, k)
}

// inverseMean is 1 ÷ the mean of a session's traces over the grid, 0 if there is
// none.
func inverseMean[F grad.Float](v []F, n, sessions, b int) F {
	var sum F
	for i := range n {
		sum += v[i*sessions+b]
	}
	if sum <= 0 {
		return 0
	}
	return F(n) / sum
}

// space returns memory that no window holds.
func (g *Grid[F]) space() *space[F] {
	if n := len(g.spaces); n > 0 {
		sp := g.spaces[n-1]
		g.spaces = g.spaces[:n-1]
		return sp
	}
	return &space[F]{}
}

// giveBack lets the next step or window use a space.
func (g *Grid[F]) giveBack(sp *space[F]) { g.spaces = append(g.spaces, sp) }

// Step runs one tick and moves the state on.
func (g *Grid[F]) Step(s *State[F], t *Tick[F]) {
	sp := g.space()
	sp.in = input[F]{}
	g.once(sp, s, t)
	g.giveBack(sp)
}

// once runs a single tick in a space whose input is set.
func (g *Grid[F]) once(sp *space[F], s *State[F], t *Tick[F]) {
	g.prepare(sp, 1, s.B)
	g.each(jobBegin, sp, s, nil, 0)
	g.tick(sp, s, t, 0)
	g.each(jobEnd, sp, s, nil, 0)
	if t.Seen != nil {
		g.see(t.Seen, sp, s, t)
	}
}

// Run runs one tick whose step 1 is that of the composite maps: the neighbours'
// last h_final, and unless emb is nil the embeddings [B][D_e] of a boundary's
// codes.
func (g *Grid[F]) Run(s *State[F], t *Tick[F], emb []F, modality int) {
	g.bindMaps()
	sp := g.space()
	sp.emb = append(sp.emb[:0], emb...)
	sp.in = input[F]{composite: true, speaks: emb != nil, last: true, modality: modality}
	g.once(sp, s, t)
	g.giveBack(sp)
}

// see copies a tick's intermediates, all rows of which fired, to a trace.
func (g *Grid[F]) see(out *Trace[F], sp *space[F], s *State[F], t *Tick[F]) {
	c := g.c
	d, groups := c.D, c.D/c.G
	out.Values, out.Counts = map[string][]F{}, map[string][]int{}
	put := func(name string, v []F) { out.Values[name] = append(out.Values[name], v...) }
	for n := range sp.cells {
		p := &sp.cells[n]
		m := p.rows
		if t.HIn != nil {
			put("h_in", t.HIn[n*s.B*d:(n+1)*s.B*d])
		}
		put("h", p.h[p.base*d:(p.base+m)*d])
		for name, v := range map[string][]F{"out_a": p.outA, "out_b": p.outB, "out_c": p.outC, "out_d": p.outD, "wkv": p.wkv, "wkv_weights": p.p,
			"fused": p.fused, "h_mid": p.mid, "h_kfe": p.kfe, "h_clean": p.clean, "h_smooth": p.hs} {
			put(name, v[:m*d])
		}
		for name, v := range map[string][]F{"conf": p.conf, "activation": p.mean, "util_now": p.util} {
			put(name, v[:m])
		}
		if c.CM != "off" {
			put("cm1", p.first.y[:m*d])
		}
		if c.SSM == "window" {
			put("ssm", p.ssm[:m*d*c.NS])
		} else {
			put("ssm", s.SSM[n*s.B*d*c.NS:(n+1)*s.B*d*c.NS])
		}
		put("attn_a", p.attn[:m*groups*groups])
		for _, on := range p.mask[:m*d] {
			v := 0
			if on {
				v = 1
			}
			out.Counts["mask"] = append(out.Counts["mask"], v)
		}
		for r := range m {
			out.Counts["drc_n"] = append(out.Counts["drc_n"], int(p.drc.n0[r]))
			out.Counts["drc_done"] = append(out.Counts["drc_done"], int(p.drc.done[r]))
		}
		var gate [4]F
		gateOf(gate[:], g.bound.logits[4*n:4*n+4], g.liveOf(t))
		for _, i := range g.liveOf(t) {
			put("gate", gate[i:i+1])
		}
	}
	put("h_res", g.bound.h)
	put("num", s.Num)
	put("den", s.Den)
	put("residual", s.Residual)
	put("h_final", s.HFinal)
}

// liveOf are the streams that run in a tick.
func (g *Grid[F]) liveOf(t *Tick[F]) []int {
	if t.Streams != "" {
		return streams(t.Streams)
	}
	return g.live
}
