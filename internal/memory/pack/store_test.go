package pack

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel"
)

// Rows that many workers ask for at once are packed once, products are the
// same bytes before, while and after, and the source is released when the last
// row is packed.
func TestRange(t *testing.T) {
	const rows, cols, workers = 16*9 + 5, 512, 4
	rng := rand.New(rand.NewPCG(1, 2))
	w := matrixOf(rows, cols, func(i int) byte {
		if i%34 == 1 { // a scale's exponent: no NaN
			return byte(0x20 + rng.IntN(8))
		}
		return byte(rng.Uint32())
	})
	x := make([]float32, cols)
	for i := range x {
		x[i] = rng.Float32() - 0.5
	}
	want := make([]float32, rows)
	kernel.MatMul(want, rows, &w, 0, rows, x, cols, 1)

	var released atomic.Int32
	s := New(Config{Mode: InMemory, Release: func(b []byte, evict bool) {
		if &b[0] != &w.Data[0] || len(b) != len(w.Data) || evict {
			t.Error("other bytes were released")
		}
		released.Add(1)
	}})
	m := s.Add("w", w)
	if s.Add("w", w) != m {
		t.Fatal("the same matrix was added twice")
	}
	s.Open(0)
	defer s.Close()
	got := make([]float32, rows)
	var wg sync.WaitGroup
	for k := range workers {
		// Pieces that do not end with tiles, in another order for each worker.
		lo, hi := rows*k/workers, rows*(k+1)/workers
		wg.Go(func() {
			for lo := lo; lo < hi; lo += 7 {
				end := min(lo+7, hi)
				kernel.MatMul(got, rows, m.Range(lo, end), lo, end, x, cols, 1)
			}
		})
	}
	wg.Wait()
	if !slices.Equal(got, want) {
		t.Error("products differ while rows are packed")
	}
	if n := released.Load(); n != 1 {
		t.Errorf("released %d times", n)
	}
	spent := s.Spent()
	clear(got)
	kernel.MatMul(got, rows, m.Range(0, rows), 0, rows, x, cols, 1)
	if !slices.Equal(got, want) {
		t.Error("products differ once all is packed")
	}
	if spent <= 0 || s.Spent() != spent {
		t.Errorf("packing took %v, and once all is packed %v", spent, s.Spent())
	}
	if await.Allocs(10, func() { m.Range(0, rows) }) != 0 {
		t.Error("finding packed rows allocates")
	}
}

// Without packing a matrix is unchanged.
func TestRangeOff(t *testing.T) {
	w := matrixOf(20, 256, func(int) byte { return 0 })
	s := New(Config{Mode: Off, Release: func([]byte, bool) { t.Error("released") }})
	m := s.Add("w", w)
	s.Open(0)
	defer s.Close()
	if got := m.Range(0, 20); got.Tiles != nil || &got.Data[0] != &w.Data[0] {
		t.Errorf("got %+v", got)
	}
}
