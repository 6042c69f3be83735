package network

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// Prior is ½‖z − want‖².
func Prior[F grad.Float](dz, z, want []F, scale F) F {
	var sum float64
	for i, x := range z {
		d := x - want[i]
		sum += float64(d) * float64(d)
		if dz != nil {
			dz[i] += scale * d
		}
	}
	return F(sum / 2)
}

// smallest keeps the length of a zero vector from being divided by, as usual for
// cosine similarities.
const smallest = 1e-8

// Align is the mean over rows [rows, n] of 1 − cos(shard, out). Gradients go to
// the shards alone.
func Align[F grad.Float](dshards, shards, outs []F, rows int, scale F) F {
	if rows == 0 {
		return 0
	}
	n := len(shards) / rows
	var sum float64
	for r := range rows {
		x, y := shards[r*n:(r+1)*n], outs[r*n:(r+1)*n]
		lx, ly := max(dense.Norm(x), smallest), max(dense.Norm(y), smallest)
		cos := dense.Dot(x, y) / (lx * ly)
		sum += 1 - float64(cos)
		if dshards == nil {
			continue
		}
		per := -scale / F(rows)
		for i := range x {
			dshards[r*n+i] += per * (y[i]/(lx*ly) - cos*x[i]/(lx*lx))
		}
	}
	return F(sum / float64(rows))
}

// Drift is the mean binary cross-entropy between σ(a·(theta − cos)) and whether
// the stage really switched there; detector is a and theta, and so is its
// gradient.
func Drift[F grad.Float](ddetector, detector, cos, switched []F, scale F) F {
	if len(cos) == 0 {
		return 0
	}
	a, theta := detector[0], detector[1]
	n := F(len(cos))
	var sum float64
	for i, c := range cos {
		x := float64(a * (theta - c))
		// ln(1 + eˣ) − s·x, which neither overflows nor loses the small side.
		sum += math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) - float64(switched[i])*x
		if ddetector != nil {
			d := scale / n * (F(1/(1+math.Exp(-x))) - switched[i])
			ddetector[0] += d * (theta - c)
			ddetector[1] += d * a
		}
	}
	return F(sum / float64(n))
}

// Diversity is Σ p ln p of p = softmax(logits).
func Diversity[F grad.Float](dlogits, logits []F, scale F) F {
	lse := dense.LogSumExp(logits)
	var mean F
	for _, l := range logits {
		mean += exp(l-lse) * (l - lse)
	}
	if dlogits != nil {
		for i, l := range logits {
			dlogits[i] += scale * exp(l-lse) * (l - lse - mean)
		}
	}
	return mean
}
