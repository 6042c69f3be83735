// HNSW-INV: the graph after random insertions and deletions.

package indexes

import (
	"math"
	"math/rand/v2"

	"atenia/quila/internal/conform"
	"atenia/quila/internal/hnsw"
)

func hnswInvariants(t *conform.T) {
	const ops = 10_000
	r := rand.New(rand.NewPCG(7, 8))
	rows := clustered(r, 4000)
	x := index(t, nil, hnsw.Config{})
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
		sum += share(hits, nearest(rows, q, k, live))
	}
	s := x.Stats()
	t.Figure("%d insertions, %d deletions, levels %v, recall %.4f", inserted, deleted, s.Levels, sum/float64(len(queries)))
	if sum/float64(len(queries)) < .95 {
		t.Errorf("recall %.4f after deletions, at least .95", sum/float64(len(queries)))
	}
}

// graphInvariants checks degrees, reachability and levels.
func graphInvariants(t *conform.T, x *hnsw.Index, live int) {
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
