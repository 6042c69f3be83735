package parked

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/stores"
)

type book struct {
	rows [][]float64
	mean []float64
}

func newBook(n, dim int) *book {
	b, r := &book{mean: make([]float64, dim)}, rand.New(rand.NewPCG(1, 2))
	for range n {
		row := make([]float64, dim)
		for i := range row {
			row[i] = r.NormFloat64()
			b.mean[i] += row[i] / float64(n)
		}
		b.rows = append(b.rows, row)
	}
	return b
}

func (b *book) Len() int               { return len(b.rows) }
func (b *book) Dim() int               { return len(b.mean) }
func (b *book) Row(c uint32) []float64 { return b.rows[c] }
func (b *book) Mean() []float64        { return b.mean }
func (b *book) Sum256() [32]byte       { return [32]byte{} }

func builder(t *testing.T, block int, m *stores.Memory, c *Cache[float64]) *Builder[float64] {
	b, err := NewBuilder(newBook(16, 4), block, m, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRefusals(t *testing.T) {
	b := builder(t, 8, nil, nil)
	if _, err := b.Build([]uint32{1, 16}); !errors.Is(err, errCode) {
		t.Errorf("an unknown code: %v", err)
	}
	x, err := b.Build([]uint32{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Refine([]int{1}); !errors.Is(err, errNoNode) {
		t.Errorf("an unknown block: %v", err)
	}
	if _, err := x.Query(nil, make([]float64, 3), 1); !errors.Is(err, errShape) {
		t.Errorf("a short query: %v", err)
	}
	if _, err := x.Query(nil, []float64{1, 2, 3, math.NaN()}, 1); !errors.Is(err, errNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	if hits, err := x.Query(nil, []float64{1, 2, 3, 4}, 100); err != nil || len(hits) != 1 {
		t.Errorf("more than there are: %v, %v", hits, err)
	}
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Error(err)
	}
	empty, err := b.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	if hits, err := empty.Query(nil, []float64{1, 2, 3, 4}, 1); err != nil || len(hits) != 0 {
		t.Errorf("an empty context: %v, %v", hits, err)
	}
	if _, err := builder(t, 8, stores.NewMemory(stores.TierConfig{Account: ledger.New(nil, 10)}), nil).Build([]uint32{1}); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("no room: %v", err)
	}
	if _, err := NewBuilder(newBook(1, 1), 0, nil, nil); !errors.Is(err, errShape) {
		t.Errorf("blocks of nothing: %v", err)
	}
}

// TestQuery compares with a scan of all nodes, of both levels, ties by id.
func TestQuery(t *testing.T) {
	codes := make([]uint32, 100)
	for i := range codes {
		codes[i] = uint32(i*i) % 16 // blocks repeat
	}
	x, err := builder(t, 16, nil, nil).Build(codes)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Refine([]int{6, 0, 3, 0}); err != nil {
		t.Fatal(err)
	}
	q := []float64{.5, -1, 2, .25}
	hits, err := x.Query(nil, q, 6)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]int, len(x.Nodes))
	for i := range want {
		want[i] = i
	}
	slices.SortStableFunc(want, func(a, b int) int {
		switch d := float32(dot(q, x.Nodes[b].Embedding)) - float32(dot(q, x.Nodes[a].Embedding)); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	for i, h := range hits {
		if h.Dot != float32(dot(q, x.Nodes[want[i]].Embedding)) {
			t.Errorf("rank %d is node %d, a scan finds %d", i, h.ID, want[i])
		}
	}
}

// TestCache: the least recently used blocks go, and calls may share a cache.
func TestCache(t *testing.T) {
	cache := NewCache[float64](4)
	codes := func(first uint32, n int) []uint32 {
		c := make([]uint32, 8*n)
		c[0] = first
		return c
	}
	build := func(c []uint32) int {
		x, err := builder(t, 8, nil, cache).Build(c)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer x.Close()
		return x.Reused
	}
	build(codes(1, 2))
	build(codes(2, 2))
	if n := build(codes(1, 3)); n != 2 {
		t.Errorf("%d blocks reused, want 2", n)
	}
	if n := build(codes(2, 2)); n != 1 {
		t.Errorf("%d blocks of the older context, want its beginning alone", n)
	}
	var wg sync.WaitGroup
	for w := range uint32(4) {
		wg.Go(func() {
			for i := range uint32(20) {
				build(codes((w+i)%5, 3))
			}
		})
	}
	wg.Wait()
	if len(cache.rows) > 4 {
		t.Errorf("%d blocks are kept", len(cache.rows))
	}
}
