package network

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// CrossEntropy writes −ln p of every row's target to nll and returns their mean.
// hit, unless nil, receives 1 where the target has the largest logit (the first
// of equals) and 0 elsewhere.
func CrossEntropy[F grad.Float](dlogits, nll, hit, logits []F, targets []int32, scale F) F {
	rows := len(targets)
	if rows == 0 {
		return 0
	}
	v := len(logits) / rows
	per := scale / F(rows)
	var sum float64
	for r, target := range targets {
		x := logits[r*v : (r+1)*v]
		best := 0
		for i, l := range x {
			if l > x[best] {
				best = i
			}
		}
		if hit != nil {
			hit[r] = 0
			if best == int(target) {
				hit[r] = 1
			}
		}
		if dlogits == nil {
			nll[r] = dense.LogSumExp(x) - x[target]
		} else {
			nll[r] = entropyBack(dlogits[r*v:(r+1)*v], x, int(target), per)
		}
		sum += float64(nll[r])
	}
	return F(sum / float64(rows))
}

// entropyBack adds the gradient of one row and returns its −ln p.
func entropyBack[F grad.Float](d, x []F, target int, per F) F {
	lse := dense.LogSumExp(x)
	for i, l := range x {
		d[i] += per * F(exp(l-lse))
	}
	d[target] -= per
	return lse - x[target]
}

func exp[F grad.Float](x F) F { return F(math.Exp(float64(x))) }
