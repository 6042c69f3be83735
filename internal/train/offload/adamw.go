package offload

import (
	"encoding/binary"
	"math"

	"atenia/internal/fault"
	"atenia/tensor"
)

// An Optimizer holds the hyperparameters of AdamW that are constant over a run
// (Loshchilov and Hutter, "Decoupled weight decay regularization"). A zero field
// selects the usual value, except Decay.
type Optimizer struct {
	Beta1   float32 // 0.9
	Beta2   float32 // 0.999
	Epsilon float32 // 1e-8
	Decay   float32 // of weights, per step at a learning rate of 1; 0 is plain Adam
}

func (o Optimizer) withDefaults() Optimizer {
	if o.Beta1 == 0 {
		o.Beta1 = 0.9
	}
	if o.Beta2 == 0 {
		o.Beta2 = 0.999
	}
	if o.Epsilon == 0 {
		o.Epsilon = 1e-8
	}
	return o
}

// factors holds the coefficients of one step of one layer. All arithmetic is
// float32 in the order that update states; every product is rounded before it is
// added, so that processors with fused multiply-add give the same results as
// those without.
type factors struct {
	beta1, rest1 float32 // β1 and 1 − β1
	beta2, rest2 float32
	epsilon      float32
	keep         float32 // 1 − lr × decay
	rate         float32 // lr ÷ (1 − β1^t)
	root         float32 // √(1 − β2^t)
	scale        float32 // of gradients
}

// factors returns those of step t, counted from 1.
func (o Optimizer) factors(t uint64, u Update, noDecay bool) factors {
	decay := o.Decay
	if noDecay {
		decay = 0
	}
	c1 := 1 - power(float64(o.Beta1), t)
	c2 := 1 - power(float64(o.Beta2), t)
	return factors{
		beta1: o.Beta1, rest1: 1 - o.Beta1,
		beta2: o.Beta2, rest2: 1 - o.Beta2,
		epsilon: o.Epsilon,
		keep:    1 - float32(u.LR*decay),
		rate:    float32(float64(u.LR) / c1),
		root:    float32(math.Sqrt(c2)),
		scale:   u.Scale,
	}
}

// power returns x^n by squaring; unlike math.Pow, its result is the same on
// every processor.
func power(x float64, n uint64) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

// update steps a chunk's master, m and v, and rounds params from master. g holds
// the last gradients, nil if all were accumulated before.
//
//	g ← (sum + g) × scale
//	m ← β1·m + (1−β1)·g
//	v ← β2·v + (1−β2)·(g·g)
//	w ← w·(1 − lr·decay) − (lr ÷ (1−β1^t)) · (m ÷ (√v ÷ √(1−β2^t) + ε))
func (f *factors) update(c *chunk, g []float32, workers int) {
	const least = 1 << 14 // elements that amortize a goroutine
	n := len(c.params) / paramBytes
	piece := max((n+workers-1)/workers, least)
	if piece >= n {
		f.piece(c, g, 0, n)
		return
	}
	var wg fault.Group
	for from := 0; from < n; from += piece {
		wg.Go(func() { f.piece(c, g, from, min(from+piece, n)) })
	}
	wg.Wait()
}

func (f *factors) piece(c *chunk, g []float32, from, to int) {
	for i := from; i < to; i++ {
		var d float32
		if c.sum != nil {
			d = load(c.sum, i)
		}
		if g != nil {
			d += g[i]
		}
		d *= f.scale
		m := float32(f.beta1*load(c.m, i)) + float32(f.rest1*d)
		v := float32(f.beta2*load(c.v, i)) + float32(f.rest2*float32(d*d))
		denom := float32(math.Sqrt(float64(v)))/f.root + f.epsilon
		w := float32(load(c.master, i)*f.keep) - float32(f.rate*(m/denom))
		store(c.m, i, m)
		store(c.v, i, v)
		store(c.master, i, w)
		binary.LittleEndian.PutUint16(c.params[2*i:], tensor.F32ToBF16(w))
	}
}

func load(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}

func store(b []byte, i int, x float32) {
	binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
}
