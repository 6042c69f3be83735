package dialect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestStoreCounts: after any operations the store has at most what it may, counts what its records
// have, and drops in the order of their use, those that are computed after all others.
func TestStoreCounts(t *testing.T) {
	const most = 64 << 10
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		clock := time.Unix(1e9, 0)
		s, err := NewStore(StoreConfig{Bytes: most, Now: func() time.Time { return clock }})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		runs, cancelled := map[string]*run{}, map[string]bool{}
		for range 400 {
			clock = clock.Add(time.Duration(rng.IntN(60)) * time.Second)
			id := fmt.Sprintf("resp_%032x", rng.IntN(40))
			c := &record{id: id, input: []json.RawMessage{json.RawMessage(strings.Repeat("a", rng.IntN(4000)))}}
			switch n := rng.IntN(10); {
			case n < 5:
				ids = append(ids, id)
				old := runs[id]
				switch {
				case old != nil && !old.ended && cancelled[id]:
					continue // its record is gone, and comes no more
				case old != nil && !old.ended:
					c.run = old // it goes on
				case n == 0:
					c.run = &run{changed: make(chan struct{}), cancel: func(error) { cancelled[id] = true }}
				}
				runs[id], cancelled[id] = c.run, false
				if err := s.put(c); err != nil {
					t.Fatal(err)
				}
			case n < 8 && runs[id] != nil && !runs[id].ended:
				if err := s.tell(runs[id], id, event{"type": "a", "delta": strings.Repeat("b", rng.IntN(3000))}); err != nil {
					t.Fatal(err)
				}
			case n == 8 && runs[id] != nil && !runs[id].ended:
				s.end(runs[id])
			default:
				s.use([]*record{c})
			}
			sum, last := int64(0), clock
			for e := s.byUse.Front(); e != nil; e = e.Next() {
				c := e.Value.(*record)
				n := c.bytes()
				if c.run != nil {
					n += c.run.bytes
				}
				if sum += n; n != c.size || c.used.After(last) || s.records[c.id] != e {
					t.Fatalf("%s has %d bytes of %d, used %v after %v", c.id, n, c.size, c.used, last)
				}
				last = c.used
			}
			if sum != s.bytes || sum > most || len(s.records) != s.byUse.Len() {
				t.Fatalf("%d bytes, counted %d, most %d; %d records of %d", sum, s.bytes, most, s.byUse.Len(), len(s.records))
			}
			for id, n := range runs {
				if there := s.records[id] != nil; n != nil && !n.ended && there == cancelled[id] {
					t.Fatalf("%s is computed: kept %v, cancelled %v", id, there, cancelled[id])
				}
			}
		}
		clock = clock.Add(2 * time.Hour)
		for _, n := range runs {
			if n != nil && !n.ended {
				s.end(n)
			}
		}
		for _, id := range ids {
			if s.look(id) != nil {
				t.Errorf("%s is there after its time", id)
			}
		}
		if s.bytes != 0 {
			t.Errorf("%d bytes of nothing", s.bytes)
		}
	}
}
