package sample

import (
	"math"
	"slices"
)

// A Divergence compares the distributions of a model with those of a reference,
// row by row.
type Divergence struct {
	KL      Sum // KL(reference ‖ model) in nats
	Log     Sum // log-probabilities of the actual tokens by the reference
	all     []float64
	same    int
	changes float64 // Σ (p-q)² of the actual tokens' probabilities
}

// Add adds the rows of both before a token.
func (d *Divergence) Add(reference, model []float32, token int32) {
	a, b := logSum(reference), logSum(model)
	kl, top, best := 0.0, 0, 0
	for i, x := range reference {
		p, q := float64(x)-a, float64(model[i])-b
		if e := math.Exp(p); e > 0 {
			kl += e * (p - q)
		}
		if x > reference[top] {
			top = i
		}
		if model[i] > model[best] {
			best = i
		}
	}
	kl = max(0, kl) // less is a rounding error
	d.KL.Add(kl)
	d.all = append(d.all, kl)
	if top == best {
		d.same++
	}
	p := float64(reference[token]) - a
	d.Log.Add(p)
	change := math.Exp(p) - math.Exp(float64(model[token])-b)
	d.changes += change * change
}

// Quantile returns the divergence that a share of the rows does not exceed.
func (d *Divergence) Quantile(share float64) float64 {
	if len(d.all) == 0 {
		return 0
	}
	slices.Sort(d.all)
	return d.all[min(len(d.all)-1, int(share*float64(len(d.all))))]
}

// SameTop returns the share of rows in which both find the same token most
// probable.
func (d *Divergence) SameTop() float64 { return float64(d.same) / float64(max(1, d.KL.N)) }

// ChangeRMS returns the root mean square of the change of the actual token's
// probability.
func (d *Divergence) ChangeRMS() float64 { return math.Sqrt(d.changes / float64(max(1, d.KL.N))) }
