package stores

import (
	"math"

	"atenia/grad"
)

// A Mix says how what is recalled is added.
type Mix struct {
	Gain float64
	Clip bool // the norm of what is added is at most that of h_mid
}

// A Recalled is what a recall found: the nearest entries and the weights of their
// snapshots. Its memory is used again by the next recall.
type Recalled[F grad.Float] struct {
	IDs    []uint64
	Soft   []bool
	Weight []F // softmax over all that were found, shadows too

	dim    int
	live   []F // softmax over those that are no shadows
	keys   []F // [n, D]
	snaps  []F // [n, D]
	mid    []F
	added  []F // before the clip
	norm   F   // of h_mid
	length F   // of added
	scale  F   // the clip's factor
	gain   F
	dz     []F
	dAdded []F

	DSnap []F // [n, D], by Backward: gradients of the snapshots
}

// reset makes room for n entries.
func (r *Recalled[F]) reset(n, dim int) {
	r.dim = dim
	r.IDs, r.Soft = fit(r.IDs, n), fit(r.Soft, n)
	r.Weight, r.live = fit(r.Weight, n), fit(r.live, n)
	r.keys, r.snaps = fit(r.keys, n*dim), fit(r.snaps, n*dim)
}

func fit[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Key and Snapshot are the places of an entry's vectors before [Recalled.Add].
func (r *Recalled[F]) key(i int) []F      { return r.keys[i*r.dim : (i+1)*r.dim] }
func (r *Recalled[F]) snapshot(i int) []F { return r.snaps[i*r.dim : (i+1)*r.dim] }

// Set gives the entries to mix, [n, D] each, most similar first.
func (r *Recalled[F]) Set(ids []uint64, keys, snaps []F, soft []bool, dim int) {
	r.reset(len(ids), dim)
	copy(r.IDs, ids)
	copy(r.keys, keys)
	copy(r.snaps, snaps)
	copy(r.Soft, soft)
}

// Add is Step 6 for the entries of r: it fills hKFE with h_mid and the weighted
// snapshots.
func (r *Recalled[F]) Add(hKFE, hMid []F, m Mix) {
	r.mid, r.added = fit(r.mid, r.dim), fit(r.added, r.dim)
	copy(r.mid, hMid)
	clear(r.added)
	r.gain, r.scale = F(m.Gain), 1
	for i := range r.Weight {
		r.Weight[i] = dotKFE(r.key(i), hMid)
		r.live[i] = r.Weight[i]
		if r.Soft[i] {
			r.live[i] = F(math.Inf(-1))
		}
	}
	softmax(r.Weight)
	softmax(r.live)
	for i, w := range r.live {
		if w != 0 {
			for j, s := range r.snapshot(i) {
				r.added[j] += w * s
			}
		}
	}
	for j := range r.added {
		r.added[j] *= r.gain
	}
	r.norm, r.length = norm(hMid), norm(r.added)
	if m.Clip {
		r.scale = min(1, r.norm/max(r.length, 1e-12))
	}
	for j, a := range r.added {
		hKFE[j] = hMid[j] + r.scale*a
	}
}

// Backward adds to the gradient of h_mid and makes those of the snapshots, DSnap,
// which are scaled by the neuron's confidence. The choice of entries is a
// constant; embeddings have no gradient.
func (r *Recalled[F]) Backward(dMid, dKFE []F, conf F) {
	r.dAdded, r.dz, r.DSnap = fit(r.dAdded, r.dim), fit(r.dz, len(r.live)), fit(r.DSnap, len(r.snaps))
	copy(r.dAdded, dKFE)
	for j, g := range dKFE {
		dMid[j] += g
	}
	if r.scale < 1 && r.length > 0 { // added is turned into its direction times the norm of h_mid
		var along F
		for j, g := range dKFE {
			along += g * r.added[j] / r.length
		}
		for j := range r.dAdded {
			r.dAdded[j] = r.scale * (dKFE[j] - along*r.added[j]/r.length)
			if r.norm > 0 {
				dMid[j] += along * r.mid[j] / r.norm
			}
		}
	}
	var mean F
	for i, w := range r.live {
		s, d := r.snapshot(i), r.DSnap[i*r.dim:(i+1)*r.dim]
		r.dz[i] = r.gain * dotKFE(s, r.dAdded)
		mean += w * r.dz[i]
		for j, g := range r.dAdded {
			d[j] = w * r.gain * g * conf
		}
	}
	for i, w := range r.live {
		if d := w * (r.dz[i] - mean); d != 0 {
			for j, e := range r.key(i) {
				dMid[j] += d * e
			}
		}
	}
}

// positive decides on float32 values [R-0.3b].
func positive(w float32, topK int) bool { return w >= 1/float32(topK) }

// softmax turns logits into weights; if all are −∞ they become zeros.
func softmax[F grad.Float](x []F) {
	top := F(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(float64(top), -1) {
		clear(x)
		return
	}
	var sum F
	for i, v := range x {
		x[i] = F(math.Exp(float64(v - top)))
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

func dotKFE[F grad.Float](a, b []F) (s F) {
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

func norm[F grad.Float](a []F) F { return F(math.Sqrt(float64(dotKFE(a, a)))) }

// finite reports whether all values are numbers.
func finite[F grad.Float](x []F) bool {
	for _, v := range x {
		if d := v - v; d != 0 {
			return false
		}
	}
	return true
}
