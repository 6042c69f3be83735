package grad

import (
	"math"

	"atenia/internal/machine/pool"
)

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter, arXiv
// 1711.05101). A zero field has the customary value, except Decay. It is the
// rule to start with for most models.
//
//	m ← β1·m + (1−β1)·g
//	v ← β2·v + (1−β2)·(g·g)
//	w ← w·(1 − lr·decay) − (lr ÷ (1−β1^t)) · (m ÷ (√v ÷ √(1−β2^t) + ε))
//
// In float32 it is bit for bit what internal/train/offload computes in files.
type AdamW struct {
	Beta1   float64 // 0.9
	Beta2   float64 // 0.999
	Epsilon float64 // 1e-8
	Decay   float64 // weight decay, multiplied by the learning rate in each step
}

func (r AdamW) check() error {
	var f faults
	f.rate("beta1", r.Beta1)
	f.rate("beta2", r.Beta2)
	f.size("epsilon", r.Epsilon)
	f.size("decay", r.Decay)
	return f.err()
}

type adamw[F Float] struct {
	rule         AdamW
	beta1, rest1 F
	beta2, rest2 F
	epsilon      F

	// State of the current step.
	keep, rate, root, scale F
	w, g, m, v              []F
}

func newAdamW[F Float](r AdamW) *adamw[F] {
	r.Beta1, r.Beta2, r.Epsilon = or(r.Beta1, 0.9), or(r.Beta2, 0.999), or(r.Epsilon, 1e-8)
	b1, b2 := F(r.Beta1), F(r.Beta2)
	return &adamw[F]{rule: r, beta1: b1, rest1: 1 - b1, beta2: b2, rest2: 1 - b2, epsilon: F(r.Epsilon)}
}

func (u *adamw[F]) slots() int { return 2 }

func (u *adamw[F]) step(p *pool.Pool, w *Param[F], slots [][]F, t uint64, lr, scale float64) {
	rate := F(lr)
	u.keep = 1
	if w.decays() {
		u.keep = 1 - F(rate*F(u.rule.Decay))
	}
	u.rate = F(float64(rate) / (1 - power(float64(u.beta1), t)))
	u.root = F(math.Sqrt(1 - power(float64(u.beta2), t)))
	u.scale = F(scale)
	u.w, u.g, u.m, u.v = w.Value, w.Grad, slots[0], slots[1]
	p.Range(len(u.w), grain, u)
}

// Range steps elements; see [pool.Ranger].
func (u *adamw[F]) Range(_, lo, hi int) {
	w := u.w[lo:hi]
	g, m, v := u.g[lo:hi][:len(w)], u.m[lo:hi][:len(w)], u.v[lo:hi][:len(w)]
	beta1, rest1, beta2, rest2 := u.beta1, u.rest1, u.beta2, u.rest2
	keep, rate, root, scale, epsilon := u.keep, u.rate, u.root, u.scale, u.epsilon
	for i := range w {
		d := g[i] * scale
		a := F(beta1*m[i]) + F(rest1*d)
		b := F(beta2*v[i]) + F(rest2*F(d*d))
		m[i], v[i] = a, b
		denom := F(math.Sqrt(float64(b)))/root + epsilon
		w[i] = F(w[i]*keep) - F(rate*(a/denom))
	}
}
