// HNSW-INV: the graph after random insertions and deletions.

package conform

import (
	"atenia/quila/internal/index"
	"math"
	"math/rand/v2"
	"slices"
)

// pages is an allocator that counts.
type pages struct{ held int }

func (p *pages) Page(floats int) ([]float32, error) {
	p.held += floats
	return make([]float32, floats), nil
}

func (p *pages) Release(page []float32) { p.held -= len(page) }

func hnswInvariants(t *report) {
	equalVectors(t)
	const ops = 10_000
	r := rand.New(rand.NewPCG(7, 8))
	rows := clustered(r, 4000)
	held := &pages{}
	x := newIndex(t, nil, index.GraphConfig{Pages: held})
	live := map[uint64]bool{}
	inserted, deleted := 0, 0
	for op := range ops {
		label := r.Uint64N(uint64(len(rows)))
		if live[label] {
			t.Must(x.Delete(label))
			delete(live, label)
			deleted++
		} else {
			t.Must(x.Add(label, rows[label]))
			live[label] = true
			inserted++
		}
		if op%1000 == 999 {
			graphInvariants(t, x, len(live))
		}
	}
	sum, queries := 0.0, clustered(rand.New(rand.NewPCG(9, 10)), 100)
	for _, q := range queries {
		hits, err := x.Search(nil, q, k, 0)
		t.Must(err)
		for _, h := range hits {
			if !live[h.Label] {
				t.Errorf("found %d, which was deleted", h.Label)
			}
		}
		sum += share(hits, nearestLabels(rows, q, k, live))
	}
	for label := range live {
		v, err := x.Vector(nil, label)
		t.Must(err)
		if !slices.Equal(v, rows[label]) {
			t.Fatalf("entry %d has another vector", label)
		}
	}
	s := x.Stats()
	if most := (s.Entries + s.Tombstones + 255) / 256 * 256 * dim; held.held > most {
		t.Errorf("%d values are held, at most %d", held.held, most)
	}
	if x.Release(); held.held != 0 {
		t.Errorf("%d values are not given back", held.held)
	}
	t.Figure("%d insertions, %d deletions, levels %v, recall %.4f", inserted, deleted, s.Levels, sum/float64(len(queries)))
	if sum/float64(len(queries)) < .95 {
		t.Errorf("recall %.4f after deletions, at least .95", sum/float64(len(queries)))
	}
}

// equalVectors makes the heuristic keep as few links as it can: all nodes have to
// be reached all the same.
func equalVectors(t *report) {
	rows := make([][]float32, 1000)
	for i := range rows {
		rows[i] = make([]float32, dim)
		rows[i][i%3] = 1
	}
	x := newIndex(t, rows, index.GraphConfig{})
	graphInvariants(t, x, len(rows))
	for label := range uint64(500) {
		t.Must(x.Delete(label))
	}
	graphInvariants(t, x, len(rows)-500)
}

// graphInvariants checks degrees, reachability and levels.
func graphInvariants(t *report, x *index.Graph, live int) {
	s := x.Stats()
	if s.Entries != live || s.Reached != live {
		t.Errorf("%d of %d entries can be reached, %d were put", s.Reached, s.Entries, live)
	}
	if s.Degree > 32 || s.Upper > 16 {
		t.Errorf("degrees %d and %d, at most 32 and 16", s.Degree, s.Upper)
	}
	if top, most := len(s.Levels)-1, int(math.Log(float64(live))); top > most {
		t.Errorf("level %d among %d entries, at most %d", top, live, most)
	}
	if s.Tombstones*5 > s.Entries+s.Tombstones {
		t.Errorf("%d tombstones beside %d entries: swept at a fifth", s.Tombstones, s.Entries)
	}
}
