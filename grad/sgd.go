package grad

import "atenia/internal/machine/pool"

// SGD is gradient descent, optionally with momentum: Polyak's, or Nesterov's as
// formulated by Sutskever and others (ICML 2013).
//
//	m ← μ·m + g,   w ← w·(1 − lr·decay) − lr·m      Nesterov: − lr·(g + μ·m)
type SGD struct {
	Momentum float64
	Nesterov bool
	Decay    float64 // weight decay, multiplied by the learning rate in each step
}

func (r SGD) check() error {
	var f faults
	f.rate("momentum", r.Momentum)
	f.size("decay", r.Decay)
	f.need(!r.Nesterov || r.Momentum > 0, "Nesterov momentum needs a momentum")
	return f.err()
}

type sgd[F Float] struct {
	rule SGD

	// State of the current step.
	keep, rate, scale F
	w, g, m           []F
}

func (u *sgd[F]) slots() int {
	if u.rule.Momentum == 0 {
		return 0
	}
	return 1
}

func (u *sgd[F]) step(p *pool.Pool, w *Param[F], slots [][]F, _ uint64, lr, scale float64) {
	u.rate, u.scale, u.keep = F(lr), F(scale), 1
	if w.decays() {
		u.keep = 1 - F(lr*u.rule.Decay)
	}
	u.w, u.g, u.m = w.Value, w.Grad, nil
	if len(slots) > 0 {
		u.m = slots[0]
	}
	p.Range(len(u.w), grain, u)
}

// Range steps elements; see [pool.Ranger].
func (u *sgd[F]) Range(_, lo, hi int) {
	w, g := u.w[lo:hi], u.g[lo:hi]
	keep, rate, scale, mu := u.keep, u.rate, u.scale, F(u.rule.Momentum)
	if u.m == nil {
		for i := range w {
			w[i] = F(w[i]*keep) - F(rate*F(g[i]*scale))
		}
		return
	}
	m := u.m[lo:hi]
	for i := range w {
		d := F(g[i] * scale)
		a := F(mu*m[i]) + d
		m[i] = a
		if u.rule.Nesterov {
			a = d + F(mu*a)
		}
		w[i] = F(w[i]*keep) - F(rate*a)
	}
}
