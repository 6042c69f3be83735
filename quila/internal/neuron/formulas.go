package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// alphas are α by phase.
var alphas = [...]float64{1: .2, 2: .5, 3: .7, 4: .7, 5: .9, 6: .9}

// Weighting returns α, β and γ of a phase, from δα and the raw b of a port's
// abg: α of the phase plus δα, within [0, 1], and shares b and 1−b of the rest.
func Weighting[F grad.Float](phase int, abg []F) (alpha, beta, gamma F) {
	alpha = min(max(F(alphas[phase])+abg[0], 0), 1)
	b := sigmoid(abg[1])
	return alpha, (1 - alpha) * b, (1 - alpha) * (1 - b)
}

// DivideByMean writes x divided by the mean of every n values, or ones where the
// mean is 0. One that is shorter repeats.
func DivideByMean[F grad.Float](dst, x []F, n int) {
	for i := 0; i < len(dst); i += n {
		row := dst[i : i+n]
		var sum F
		if len(x) > 0 {
			copy(row, x[i%len(x):])
			for _, v := range row {
				sum += v
			}
		}
		if !(sum > 0) {
			for j := range row {
				row[j] = 1
			}
			continue
		}
		mean := sum / F(n)
		for j := range row {
			row[j] /= mean
		}
	}
}

// Utilities writes α·N·weight + β·trace + γ·ptrace of the neurons, whose traces are
// divided by their means.
func Utilities[F grad.Float](u, weight, trace, ptrace []F, alpha, beta, gamma F) {
	n := F(len(u))
	for i, w := range weight {
		u[i] = alpha*n*w + beta*trace[i] + gamma*ptrace[i]
	}
}

// TopK appends the k largest of u that are allowed, ascending; ties go to the
// smaller index. A nil allowed allows all.
func TopK[F grad.Float](dst []int32, u []F, k int, allowed []bool) []int32 {
	return Top(dst, u, k, allowed)
}

// leastUtility bounds the logarithm of a utility [R-6.2.2b].
const leastUtility = 1e-6

func logUtility[F grad.Float](u F) F { return F(math.Log(max(float64(u), leastUtility))) }

// Attend is a port's attention [R-6.2.2b]: q is Kᵀ·Q·own, x the neurons [N, D], u
// their utilities, bias nil or what is added to their logits, ids those that take
// part, nil for all. It writes the logits and
// weights of the neurons and the weighted mean of their rows; *scratch may grow.
func Attend[F grad.Float](logits, weight, mean, q, x, u, bias []F, ids []int32, scratch *[]F) {
	d := len(q)
	root := F(1 / math.Sqrt(float64(d)))
	clear(mean)
	if ids == nil {
		for j := range logits {
			logits[j] = dense.Dot(q, x[j*d:][:d])*root + logUtility(u[j])
			if bias != nil {
				logits[j] += bias[j]
			}
		}
		copy(weight, logits)
		dense.Softmax(weight, weight)
	} else {
		clear(weight)
		row := sized(scratch, len(ids))
		for a, j := range ids {
			row[a] = dense.Dot(q, x[int(j)*d:][:d])*root + logUtility(u[j])
			if bias != nil {
				row[a] += bias[j]
			}
			logits[j] = row[a]
		}
		dense.Softmax(row, row)
		for a, j := range ids {
			weight[j] = row[a]
		}
	}
	for j, s := range weight {
		if s != 0 {
			dense.Axpy(mean, s, x[j*d:][:d])
		}
	}
}

// align writes back·o + (1−back)·other if o is further than tau from other, else
// o, and reports which.
func align[F grad.Float](dst, o, other, back []F, tau F) bool {
	var sum float64
	for i, x := range o {
		e := float64(x - other[i])
		sum += e * e
	}
	if !(F(math.Sqrt(sum)) > tau) {
		copy(dst, o)
		return false
	}
	for i, x := range o {
		dst[i] = back[i]*x + (1-back[i])*other[i]
	}
	return true
}
