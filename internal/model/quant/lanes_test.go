package quant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// draw fills a block with values of some kind.
func draw(rng *rand.Rand, x, w []float32) {
	kind, size := rng.IntN(6), math.Exp(20*rng.Float64()-10)
	for i := range x {
		v := rng.NormFloat64() * size
		switch kind {
		case 1:
			v = math.Abs(v)
		case 2:
			v = math.Round(v/size*2) * size
		case 3:
			if rng.IntN(4) > 0 {
				v = 0
			}
		case 4:
			v = -size
		}
		x[i], w[i] = float32(v), float32(rng.ExpFloat64()*size)
		if kind == 5 && i%16 < 4 {
			x[i], w[i] = 0, 0
		}
	}
}

// FuzzFitLanes compares searches in assembly with those in Go.
func FuzzFitLanes(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := []int{16, 32}[rng.IntN(2)]
		x, w := make([]float32, n*laneCount), make([]float32, n*laneCount)
		draw(rng, x, w)
		tops := []float32{3, 15, 31, 63}
		top := tops[rng.IntN(len(tops))]
		var scale, offset lane8
		for l := range scale {
			scale[l], offset[l] = x[rng.IntN(len(x))]/top, x[rng.IntN(len(x))]
		}
		a := affineState{scale: scale, offset: offset}
		for l := range laneCount {
			for i := l; i < len(x); i += laneCount {
				a.sumOfWeights[l] += w[i]
				a.sumOfRuns[l] += mul(w[i], x[i])
			}
		}
		b, below := a, rng.IntN(2) == 0
		var c, d centredState
		var e, g lane8
		for range 3 {
			affineTrial(x, w, top, &a, below)
			affineTrialGeneric(x, w, top, &b, below)
			part := float32(rng.IntN(40)-20) / 10
			centredTrial(x, w, -top-1, top, &scale, part, &c)
			centredTrialGeneric(x, w, -top-1, top, &scale, part, &d)
			fitLoss(x, w, -top-1, top, &scale, &offset, &e)
			fitLossGeneric(x, w, -top-1, top, &scale, &offset, &g)
			for l := range laneCount {
				for i, p := range [][2]float32{
					{a.scale[l], b.scale[l]}, {a.offset[l], b.offset[l]}, {a.gain[l], b.gain[l]}, {a.best[l], b.best[l]}, {a.bestOffset[l], b.bestOffset[l]}, {a.most[l], b.most[l]},
					{c.best[l], d.best[l]}, {c.most[l], d.most[l]}, {e[l], g[l]},
				} {
					if math.Float32bits(p[0]) != math.Float32bits(p[1]) && p[0] == p[0] {
						t.Fatalf("seed %d, n %d, top %v, below %t, lane %d, result %d: assembly %v, Go %v", seed, n, top, below, l, i, p[0], p[1])
					}
				}
			}
		}
	})
}

// Searches for eight runs find what those for one do.
func TestFitLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var x, w [256]float32
		draw(rng, x[:], w[:])
		for _, n := range []int{16, 32} {
			var r runs
			r.fill(x[:], w[:], n)
			for g := range r.groups() {
				tx, tw := r.group(g)
				for _, top := range []int32{3, 15, 31} {
					scale, offset := fitAffine8(tx, tw, top, true)
					for l := range laneCount {
						at := (g*laneCount + l) * n
						s, o := fitAffine(x[at:at+n], w[at:at+n], top, true)
						if s != scale[l] || o != offset[l] {
							t.Fatalf("affine, top %d, run %d: got %v %v, want %v %v", top, l, scale[l], offset[l], s, o)
						}
					}
				}
				for _, lad := range []*ladder{ladder3, ladder6} {
					got := lad.fit8(tx, tw)
					for l := range laneCount {
						at := (g*laneCount + l) * n
						if s := lad.fit(x[at:at+n], w[at:at+n]); s != got[l] {
							t.Fatalf("centred, run %d: got %v, want %v", l, got[l], s)
						}
					}
				}
			}
		}
	}
}
