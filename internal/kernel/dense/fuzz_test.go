package dense_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
)

// FuzzProduct compares products of any shape, by all implementations and with
// threads, with those of portable code on one.
func FuzzProduct(f *testing.F) {
	f.Add(uint64(1), uint16(13), uint16(257), uint16(33))
	f.Add(uint64(2), uint16(1), uint16(16), uint16(16))
	f.Add(uint64(3), uint16(90), uint16(40), uint16(300))
	best := kernel.Variant()
	f.Cleanup(func() { kernel.SetVariant(best) })
	all := works[float32](f)
	f.Fuzz(func(t *testing.T, seed uint64, m16, k16, n16 uint16) {
		m, k, n := 1+int(m16%400), int(k16%600), 1+int(n16%400)
		for m*k*n > 1<<18 {
			m, k, n = (m+1)/2, (k+1)/2, (n+1)/2
		}
		r := rand.New(rand.NewPCG(seed, 0))
		a, b, old := random[float32](r, m*k), random[float32](r, k*n), random[float32](r, m*n)
		for _, do := range []func(w *dense.Work[float32], dst []float32){
			func(w *dense.Work[float32], d []float32) { w.MulT(d, a, b, m, k, n) },
			func(w *dense.Work[float32], d []float32) { w.AddMul(d, a, b, m, k, n) },
			func(w *dense.Work[float32], d []float32) { w.AddTMul(d, a, b, m, k, n) },
		} {
			var first []float32
			for _, variant := range kernel.Variants() {
				kernel.SetVariant(variant)
				for _, w := range all {
					got := slices.Clone(old)
					do(w, got)
					if first == nil {
						first = got
					} else if !slices.Equal(got, first) {
						t.Fatalf("%dx%dx%d: %s or threads change bits", m, k, n, variant)
					}
				}
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	w := works[float32](t)[1]
	r := rand.New(rand.NewPCG(1, 2))
	const m, n = 64, 64
	x, y, z, lens := random[float32](r, m*n), random[float32](r, m*n), random[float32](r, m*n), []int{40, 24}
	inv, grad := random[float32](r, m), random[float32](r, n)
	targets := make([]int32, m)
	h := dense.Heads[float32]{Q: 4, KV: 4, Dim: 16, Scale: 0.25}
	step := func() {
		w.MulT(z, x, y, m, n, m)
		w.AddTMul(z, x, y, m, m, n)
		w.RMSNorm(z, inv, x, grad, m, n, 1e-5, 1)
		w.RMSNormBack(y, grad, x, grad, inv, z, m, n, 1)
		w.ActivateMulBack(dense.SiLU, y, z, x, x, x)
		w.Attention(z, x[:m*4], x, y, x, lens, h)
		w.AttentionBack(y, z, z, x, x, x, x, x[:m*4], x, lens, h)
		w.SoftmaxRows(z, x, m, n)
		w.SoftmaxRowsBack(z, x, y, m, n)
		w.CrossEntropy(inv, x, targets, m, n)
		w.CrossEntropyBack(z, x, inv, targets, m, n, 1)
		dense.MatVec(inv, x, grad)
	}
	got := 1.0
	for try := 0; try < 10 && got != 0; try++ { // a thread that the runtime starts meanwhile counts, too
		got = await.Allocs(20, step)
	}
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}
