package grad

import "atenia/internal/machine/pool"

// Lion moves every element by the learning rate, in the direction of the sign
// of momentum and gradient combined (Chen and others, arXiv 2302.06675). It
// keeps one state array per parameter, half of AdamW's. A zero field has the
// customary value, except Decay.
//
//	u ← sign(β1·m + (1−β1)·g),   w ← w·(1 − lr·decay) − lr·u,   m ← β2·m + (1−β2)·g
//
// Its learning rate should be three to ten times smaller than AdamW's, its
// decay larger by the same factor.
type Lion struct {
	Beta1 float64 // 0.9
	Beta2 float64 // 0.99
	Decay float64 // weight decay, multiplied by the learning rate in each step
}

func (r Lion) check() error {
	var f faults
	f.rate("beta1", r.Beta1)
	f.rate("beta2", r.Beta2)
	f.size("decay", r.Decay)
	return f.err()
}

type lion[F Float] struct {
	rule                       Lion
	beta1, rest1, beta2, rest2 F

	// State of the current step.
	keep, rate, scale F
	w, g, m           []F
}

func newLion[F Float](r Lion) *lion[F] {
	b1, b2 := F(or(r.Beta1, 0.9)), F(or(r.Beta2, 0.99))
	return &lion[F]{rule: r, beta1: b1, rest1: 1 - b1, beta2: b2, rest2: 1 - b2}
}

func (u *lion[F]) slots() int { return 1 }

func (u *lion[F]) step(p *pool.Pool, w *Param[F], slots [][]F, _ uint64, lr, scale float64) {
	u.rate, u.scale, u.keep = F(lr), F(scale), 1
	if w.decays() {
		u.keep = 1 - F(lr*u.rule.Decay)
	}
	u.w, u.g, u.m = w.Value, w.Grad, slots[0]
	p.Range(len(u.w), grain, u)
}

// Range steps elements; see [pool.Ranger].
func (u *lion[F]) Range(_, lo, hi int) {
	w, g, m := u.w[lo:hi], u.g[lo:hi], u.m[lo:hi]
	for i := range w {
		d := F(g[i] * u.scale)
		a := F(w[i] * u.keep)
		switch s := F(u.beta1*m[i]) + F(u.rest1*d); {
		case s > 0:
			a -= u.rate
		case s < 0:
			a += u.rate
		case s != s: // NaN must not become zero
			a = s
		}
		w[i] = a
		m[i] = F(u.beta2*m[i]) + F(u.rest2*d)
	}
}
