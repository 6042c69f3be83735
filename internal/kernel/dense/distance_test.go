package dense_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
)

// paged returns rows of d values in pages, the last of which is short.
func paged(r *rand.Rand, rows, d int) (pages []*float32, flat []float32) {
	flat = random[float32](r, rows*d)
	for i := 0; i < rows; i += dense.PageRows {
		pages = append(pages, &flat[i*d])
	}
	return pages, flat
}

// FuzzDistances checks products and distances to picked rows against sums in
// float64, and that every variant yields the same bits.
func FuzzDistances(f *testing.F) {
	f.Add(uint64(1), uint16(300), uint8(4), uint8(33))
	f.Add(uint64(2), uint16(1), uint8(1), uint8(3))
	best := kernel.Variant()
	f.Cleanup(func() { kernel.SetVariant(best) })
	f.Fuzz(func(t *testing.T, seed uint64, rows16 uint16, d8, n8 uint8) {
		r := rand.New(rand.NewPCG(seed, 3))
		rows, d := 1+int(rows16%700), 16*(1+int(d8%9))
		pages, flat := paged(r, rows, d)
		x, ids := random[float32](r, d), make([]uint32, n8)
		for i := range ids {
			ids[i] = uint32(r.IntN(rows))
		}
		for k, op := range []func(dst, x []float32, pages []*float32, ids []uint32){dense.DotPages, dense.SquaresPages} {
			var first []float32
			for _, variant := range kernel.Variants() {
				kernel.SetVariant(variant)
				got := make([]float32, n8)
				op(got, x, pages, ids)
				if first == nil {
					first = got
				}
				if i := differs(got, first); i >= 0 {
					t.Fatalf("op %d, row %d of %d: %v in %s, %v portable", k, i, n8, got[i], variant, first[i])
				}
			}
			for i, id := range ids {
				want, size := 0.0, 0.0
				for j, v := range flat[int(id)*d:][:d] {
					term := float64(v) * float64(x[j])
					if k == 1 {
						term = (float64(v) - float64(x[j])) * (float64(v) - float64(x[j]))
					}
					want, size = want+term, size+math.Abs(term)
				}
				if math.Abs(float64(first[i])-want) > 1e-6*size+1e-30 {
					t.Fatalf("op %d, row %d: %v, want %v", k, id, first[i], want)
				}
			}
		}
	})
}

// BenchmarkDistances compares a query with the neighbours of a node; the unit is
// one row.
func BenchmarkDistances(b *testing.B) {
	const rows, d, n = 10_000, 64, 16
	r := rand.New(rand.NewPCG(4, 5))
	pages, _ := paged(r, rows, d)
	x, dst, ids := random[float32](r, d), make([]float32, n), make([]uint32, 1<<16)
	for i := range ids {
		ids[i] = uint32(r.IntN(rows))
	}
	at := 0
	for b.Loop() {
		dense.DotPages(dst, x, pages, ids[at:at+n])
		at = (at + n) & (len(ids) - 1)
	}
	perRow := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / n
	b.ReportMetric(perRow, "ns/row")
	b.ReportMetric(2*d/perRow, "GFLOP/s")
}
