package dense_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
)

// FuzzPass checks that passes over vectors, and matrices that meet one, are the
// same bits in every variant, the portable one included.
func FuzzPass(f *testing.F) {
	f.Add(uint64(1), uint16(33), uint16(17), float32(1))
	f.Add(uint64(2), uint16(16), uint16(64), float32(-90))
	f.Add(uint64(3), uint16(301), uint16(1), float32(1e30))
	best := kernel.Variant()
	f.Cleanup(func() { kernel.SetVariant(best) })
	f.Fuzz(func(t *testing.T, seed uint64, n16, m16 uint16, scale float32) {
		n, m := 1+int(n16%700), 1+int(m16%80)
		var first [][]float32
		for _, variant := range kernel.Variants() {
			kernel.SetVariant(variant)
			got := passes(rand.New(rand.NewPCG(seed, 1)), n, m, scale)
			if first == nil {
				first = got
			}
			for i := range got {
				if k := differs(got[i], first[i]); k >= 0 {
					t.Fatalf("pass %d of %d and %d: value %d is %v in %s, %v portable", i, n, m, k, got[i][k], variant, first[i][k])
				}
			}
		}
	})
}

// differs returns the first place where bits differ, NaN for NaN aside, or -1.
func differs(a, b []float32) int {
	for i, v := range a {
		if math.Float32bits(v) != math.Float32bits(b[i]) && (v == v || b[i] == b[i]) {
			return i
		}
	}
	return -1
}

// passes returns the outputs of every pass for the same numbers.
func passes(r *rand.Rand, n, m int, scale float32) (out [][]float32) {
	vector := func(n int) []float32 {
		x := random[float32](r, n)
		for i := range x {
			x[i] *= scale
		}
		return x
	}
	x, y, z := vector(n), vector(n), vector(n)
	keep := func(size int, f func(dst []float32)) {
		dst := vector(size)
		f(dst)
		out = append(out, dst)
	}
	keep(1, func(d []float32) { d[0] = dense.Dot(x, y) })
	keep(1, func(d []float32) { d[0] = dense.LogSumExp(x) })
	keep(n, func(d []float32) { dense.AddMul(d, x, y) })
	keep(n, func(d []float32) { dense.Axpy(d, 0.3, x) })
	keep(n, func(d []float32) { dense.Softmax(d, x) })
	keep(n, func(d []float32) { dense.SoftmaxBack(d, x, y) })
	for a := dense.Identity; a <= dense.Softplus; a++ {
		keep(n, func(d []float32) { dense.Activate(a, d, x) })
		keep(n, func(d []float32) { dense.ActivateBack(a, d, x, y) })
		keep(n, func(d []float32) { dense.ActivateMul(a, d, x, y) })
		keep(2*n, func(d []float32) { dense.ActivateMulBack(a, d[:n], d[n:], x, y, z) })
	}
	matrix, u := vector(m*n), vector(m)
	keep(m, func(d []float32) { dense.AddMatVec(d, matrix, x) })
	keep(n, func(d []float32) { dense.AddMatVecT(d, matrix, u) })
	keep(m*n, func(d []float32) { dense.AddOuter(d, 0.7, u, x) })
	keep(m*n, func(d []float32) { dense.ScaleAddOuter(d, 0.9, -0.7, u, x) })
	w, targets, sums := dense.New[float32](nil), make([]int32, m), make([]float32, m)
	for i := range targets {
		targets[i] = int32(r.IntN(n+1)) - 1
	}
	keep(m*n, func(d []float32) {
		sum, _ := w.CrossEntropy(sums, matrix, targets, m, n)
		w.CrossEntropyBack(d, matrix, sums, targets, m, n, 0.5)
		d[0] += float32(sum)
	})
	return append(out, sums)
}
