package index_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel"
	"atenia/quila/internal/index"
	"atenia/quila/internal/weights"
)

// TestExact: below the threshold results are all of the true ones in order, and
// both ways of search order alike.
func TestExact(t *testing.T) {
	data, queries := gaussian(1, 500, 30), gaussian(2, 50, 30) // 30: rows are padded
	for _, metric := range []index.Metric{index.Cosine, index.L2} {
		scan := built(t, data, index.GraphConfig{Metric: metric, ExactBelow: 2000})
		graph := built(t, data, index.GraphConfig{Metric: metric})
		if s := scan.Stats(); s.Linked != 0 {
			t.Errorf("%d slots are in a graph that is not needed", s.Linked)
		}
		for _, q := range queries.rows {
			hits, err := scan.Search(nil, q, 10, 0)
			if err != nil {
				t.Fatal(err)
			}
			if want := truth(data, q, 10, metric); !slices.Equal(labels(hits), want) {
				t.Fatalf("found %v, want %v", labels(hits), want)
			}
			wide, err := graph.Search(nil, q, 10, 500)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(wide, hits) {
				t.Fatalf("the graph found %v, the scan %v", wide, hits)
			}
		}
	}
}

// TestThreshold: the entry that reaches it makes the graph of all.
func TestThreshold(t *testing.T) {
	data := gaussian(1, 300, 16)
	x := built(t, set{16, data.rows[:255]}, index.GraphConfig{ExactBelow: 256})
	if s := x.Stats(); s.Linked != 0 {
		t.Fatalf("%+v", s)
	}
	for i, v := range data.rows[255:] {
		if err := x.Add(uint64(255+i), v); err != nil {
			t.Fatal(err)
		}
	}
	if s := x.Stats(); s.Linked != 300 || s.Reached != 300 {
		t.Fatalf("%+v", s)
	}
	var a, b bytes.Buffer
	for out, y := range map[*bytes.Buffer]*index.Graph{&a: x, &b: built(t, data, index.GraphConfig{})} {
		if _, err := y.Write(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("linked at once, the graph is another one")
	}
}

// check holds an index against the invariants.
func check(t *testing.T, x *index.Graph) {
	t.Helper()
	s, m := x.Stats(), x.Config().M
	if s.Degree > 2*m || s.Upper > m {
		t.Errorf("degrees %d and %d, at most %d and %d", s.Degree, s.Upper, 2*m, m)
	}
	if s.Reached != s.Entries {
		t.Errorf("%d of %d entries can be reached", s.Reached, s.Entries)
	}
	if n := s.Entries + s.Tombstones; n > 0 && len(s.Levels) > int(math.Log(float64(n)))+1 {
		t.Errorf("%d levels of %d slots", len(s.Levels), n)
	}
	if s.Tombstones*5 > s.Entries+s.Tombstones {
		t.Errorf("%d tombstones beside %d entries", s.Tombstones, s.Entries)
	}
}

// TestChanges adds and deletes at random, and compares what is found.
func TestChanges(t *testing.T) {
	ops := 4000
	if testing.Short() {
		ops = 1000
	}
	for _, m := range []int{4, 16} {
		data := clustered(5, 3000, 16)
		x := built(t, set{16, nil}, index.GraphConfig{M: m, EfConstruction: 60})
		r := rand.New(rand.NewPCG(8, 9))
		live := map[uint64]bool{}
		for op := range ops {
			label := r.Uint64N(uint64(len(data.rows)) / 2)
			if op > ops/2 {
				label += uint64(len(data.rows)) / 2 // the first half disappears
			}
			var err error
			if live[label] {
				err = x.Delete(label)
			} else {
				err = x.Add(label, data.rows[label])
			}
			if err != nil {
				t.Fatal(err)
			}
			if live[label] = !live[label]; !live[label] {
				delete(live, label)
			}
			if op > ops/2 && op%2 == 0 {
				for label := range live {
					if label < uint64(len(data.rows))/2 {
						if err := x.Delete(label); err != nil {
							t.Fatal(err)
						}
						delete(live, label)
						break
					}
				}
			}
			if op%200 != 0 {
				continue
			}
			check(t, x)
			if x.Len() != len(live) {
				t.Fatalf("%d entries, want %d", x.Len(), len(live))
			}
			hits, err := x.Search(nil, data.rows[label], 20, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i, h := range hits {
				if !live[h.Label] {
					t.Fatalf("op %d: found %d, which was deleted", op, h.Label)
				}
				if i > 0 && h.Distance < hits[i-1].Distance {
					t.Fatalf("distances %v", hits)
				}
			}
			if len(hits) != min(20, len(live)) {
				t.Fatalf("op %d: %d hits of %d entries", op, len(hits), len(live))
			}
		}
		check(t, x)
		got, n := 0.0, 0
		for _, q := range clustered(6, 50, 16).rows {
			hits, _ := x.Search(nil, q, 10, 0)
			var want []uint64
			for _, label := range truth(data, q, len(data.rows), index.Cosine) {
				if live[label] && len(want) < 10 {
					want = append(want, label)
				}
			}
			got, n = got+shared(labels(hits), want), n+1
		}
		if got /= float64(n); got < .95 {
			t.Errorf("M %d: recall %.3f after deletions", m, got)
		}
		for label := range live {
			if err := x.Delete(label); err != nil {
				t.Fatal(err)
			}
		}
		if hits, err := x.Search(nil, data.rows[0], 3, 0); err != nil || len(hits) > 0 {
			t.Errorf("an empty index found %v, %v", hits, err)
		}
		if err := x.Add(1, data.rows[1]); err != nil || x.Len() != 1 {
			t.Errorf("%v, %d entries", err, x.Len())
		}
	}
}

// TestDuplicatesOfOneVector: equal vectors all have to stay connected, although
// the heuristic would keep one link to each.
func TestDuplicatesOfOneVector(t *testing.T) {
	one := gaussian(1, 1, 16).rows[0]
	s := set{dim: 16}
	for range 500 {
		s.rows = append(s.rows, one)
	}
	x := built(t, s, index.GraphConfig{M: 4})
	check(t, x)
	for label := range uint64(400) {
		if err := x.Delete(label); err != nil {
			t.Fatal(err)
		}
	}
	check(t, x)
}

// TestRefusals: each fault has its error.
func TestRefusals(t *testing.T) {
	data := gaussian(1, 3, 16)
	x := built(t, data, index.GraphConfig{})
	nan := slices.Clone(data.rows[0])
	nan[3] = float32(math.NaN())
	_, short := x.Search(nil, data.rows[0][:15], 1, 0)
	_, none := x.Search(nil, data.rows[0], 0, 0)
	_, unknown := x.Vector(nil, 9)
	var configs []error
	for _, c := range []index.GraphConfig{{}, {Dim: 1 << 20}, {Dim: 8, M: 1}, {Dim: 8, M: 65}, {Dim: 8, Ef: -1}, {Dim: 8, ExactBelow: 255}, {Dim: 8, Metric: 2}} {
		_, err := index.NewGraph(c)
		configs = append(configs, err)
	}
	for _, c := range []struct{ got, want error }{
		{x.Add(0, data.rows[0]), index.ErrDuplicate}, {x.Add(9, nan), index.ErrVector}, {x.Add(9, nil), index.ErrVector},
		{x.Delete(9), index.ErrUnknown}, {short, index.ErrVector}, {none, index.ErrConfig}, {unknown, index.ErrUnknown},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	for i, err := range configs {
		if !errors.Is(err, index.ErrConfig) {
			t.Errorf("config %d: %v", i, err)
		}
	}
	if v, err := x.Vector(nil, 2); err != nil || !slices.Equal(v, data.rows[2]) {
		t.Errorf("%v, %v", v, err)
	}
}

// TestHeuristic compares the links of the last node with the rule of hnswlib's
// getNeighborsByHeuristic2, written plainly over all others.
func TestHeuristic(t *testing.T) {
	const n, m, dim = 150, 8, 16
	data := clustered(21, n, dim)
	x := built(t, data, index.GraphConfig{M: m, EfConstruction: 200})
	var b bytes.Buffer
	if _, err := x.Write(&b); err != nil {
		t.Fatal(err)
	}
	distance := func(a, b uint64) float64 {
		sum := 1.0
		for i, v := range data.rows[a] {
			sum -= float64(v) * float64(data.rows[b][i])
		}
		return sum
	}
	var want []uint64
next:
	for _, c := range truth(data, data.rows[n-1], n, index.Cosine) {
		if c == n-1 || len(want) == m {
			continue
		}
		for _, w := range want {
			if distance(c, w) < distance(c, n-1) {
				continue next
			}
		}
		want = append(want, c)
	}
	at := b.Bytes()[96+(n-1)*(4+8*m+4*dim+8):]
	var got []uint64
	for i := range int(at[0]) {
		got = append(got, uint64(binary.LittleEndian.Uint32(at[4+4*i:])))
	}
	if !slices.Equal(got, want) {
		t.Errorf("links %v, want %v", got, want)
	}
}

// pages counts what is allocated, and refuses at a limit.
type pages struct{ held, most int }

var errPages = errors.New("no more pages")

func (p *pages) Page(floats int) ([]float32, error) {
	if p.held+floats > p.most {
		return nil, errPages
	}
	p.held += floats
	page := make([]float32, floats)
	for i := range page {
		page[i] = float32(math.NaN()) // memory may hold anything
	}
	return page, nil
}

func (p *pages) Release(page []float32) { p.held -= len(page) }

// TestPages: vectors take the allocator's memory, a refusal changes nothing, and
// all is given back.
func TestPages(t *testing.T) {
	data := gaussian(1, 600, 17)
	p := &pages{most: 2*256*32 + 31}
	x, err := index.NewGraph(index.GraphConfig{Dim: 17, ExactBelow: 2000, Pages: p})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range data.rows[:512] {
		if err := x.Add(uint64(i), v); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		if i == 9 && p.held != 16*32 {
			t.Errorf("ten entries hold %d values", p.held)
		}
	}
	if err := x.Add(512, data.rows[512]); !errors.Is(err, errPages) || x.Len() != 512 {
		t.Errorf("%v, %d entries", err, x.Len())
	}
	for i := range uint64(300) {
		if err := x.Delete(i); err != nil {
			t.Fatal(err)
		}
	}
	for i, q := range data.rows[300:512] {
		if hits, err := x.Search(nil, q, 1, 0); err != nil || hits[0].Label != uint64(300+i) {
			t.Fatalf("%v, %v", hits, err)
		}
	}
	if x.Release(); p.held != 0 {
		t.Errorf("%d values are not given back", p.held)
	}
}

// TestReaders searches while entries come and go.
func TestReaders(t *testing.T) {
	data := clustered(3, 1500, 16)
	x := built(t, set{16, data.rows[:500]}, index.GraphConfig{EfConstruction: 40})
	done := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Go(func() {
			var hits []index.Hit
			for n := i; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				var err error
				if hits, err = x.Search(hits[:0], data.rows[n%1500], 10, 0); err != nil || len(hits) != 10 {
					t.Errorf("%d hits, %v", len(hits), err)
					return
				}
			}
		})
	}
	for i := 500; i < 1500; i++ {
		if err := errors.Join(x.Add(uint64(i), data.rows[i]), x.Delete(uint64(i-400))); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
	check(t, x)
}

// TestVariants: the graph and the results do not depend on the kernels.
func TestVariants(t *testing.T) {
	best := kernel.Variant()
	t.Cleanup(func() { kernel.SetVariant(best) })
	data := clustered(3, 400, 32)
	var first []byte
	for _, v := range kernel.Variants() {
		kernel.SetVariant(v)
		var b bytes.Buffer
		if _, err := built(t, data, index.GraphConfig{}).Write(&b); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		}
		if !bytes.Equal(first, b.Bytes()) {
			t.Errorf("%s: another graph", v)
		}
	}
}

// TestAllocs: a search allocates nothing, exact or not.
func TestAllocs(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: allocations are not counted under -short")
	}
	data := clustered(3, 1000, 64)
	for _, below := range []int{0, 2000} {
		x := built(t, data, index.GraphConfig{ExactBelow: below})
		hits := make([]index.Hit, 0, 32)
		if n := await.Allocs(50, func() { hits, _ = x.Search(hits[:0], data.rows[7], 32, 0) }); n > 0 {
			t.Errorf("exact below %d: %v allocations a search", below, n)
		}
	}
}

// BenchmarkSearch looks for 32 neighbours, at the sizes on both sides of the
// threshold.
func BenchmarkSearch(b *testing.B) {
	for _, c := range []struct {
		name  string
		n     int
		below int
	}{{"graph/10000x64", 10_000, 0}, {"graph/2000x64", 2000, 0}, {"scan/2000x64", 2000, 2001}, {"scan/64x64", 64, 2000}} {
		x := built(b, clustered(1, c.n, 64), index.GraphConfig{ExactBelow: c.below, Stream: weights.Stream{Seed: 1}})
		queries := clustered(2, 256, 64)
		b.Run(c.name, func(b *testing.B) {
			hits, i := make([]index.Hit, 0, 32), 0
			for b.Loop() {
				hits, _ = x.Search(hits[:0], queries.rows[i&255], 32, 64)
				i++
			}
		})
	}
}
