package sched

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLookup compares look-up with a search through the whole sequence, as it grows.
func TestLookup(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	found := 0
	for round := range 60 {
		var l lookup
		l.reset(300)
		l.reset(200) // what another sequence left
		tokens := []int32{1, 2}
		vocab := 2 + rng.Int32N(60)
		for len(tokens) < 300 {
			if rng.IntN(4) == 0 && len(tokens) > 10 { // copies
				from := rng.IntN(len(tokens) - 8)
				tokens = append(tokens, tokens[from:from+3+rng.IntN(5)]...)
			} else {
				tokens = append(tokens, rng.Int32N(vocab))
			}
			ids, match := l.find(tokens, make([]int32, 0, 1+rng.IntN(9)))
			want, longest := 0, 0
			for e := len(tokens) - 1; e >= gramTokens; e-- {
				if n := commonSuffix(tokens[:e], tokens, longestLookup); n >= gramTokens && n > longest {
					want, longest = e, n
				}
			}
			if match > longest || vocab > 20 && match != longest { // of few tokens, chains have more than are compared
				t.Fatalf("round %d: a match of %d, want %d", round, match, longest)
			}
			if match == 0 {
				continue
			}
			found++
			if len(ids) != cap(ids) {
				t.Fatalf("%d of %d tokens", len(ids), cap(ids))
			}
			if vocab > 20 {
				all := append(slices.Clone(tokens), ids...)
				for i, id := range ids {
					if id != all[want+i] {
						t.Fatalf("round %d: draft %v after %v", round, ids, tokens[want-match:want])
					}
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d matches", found)
	}
}

// TestLookupForgets: positions beyond the window are not found, and nothing within it
// is lost.
func TestLookupForgets(t *testing.T) {
	var l lookup
	l.reset(10 * lookupWindow)
	if len(l.heads) != lookupWindow || len(l.prev) != lookupWindow {
		t.Fatalf("an index of %d and %d", len(l.heads), len(l.prev))
	}
	tokens := []int32{-1, -2, -3, -4}
	for len(tokens) < lookupWindow-10 {
		tokens = append(tokens, int32(len(tokens)))
	}
	end := []int32{-1, -2, -3}
	ids, match := l.find(append(tokens, end...), make([]int32, 0, 1))
	if match != 3 || ids[0] != -4 {
		t.Errorf("within the window: %d, %v", match, ids)
	}
	for len(tokens) < 3*lookupWindow {
		tokens = append(tokens, int32(len(tokens)))
	}
	l.end = gramTokens
	clear(l.heads)
	if ids, match = l.find(append(tokens, end...), ids[:0]); match != 0 {
		t.Errorf("beyond the window: %d, %v", match, ids)
	}
}

// TestGain: rows that cost nothing are all used, rows that cost a step each are not,
// and between them so many that no other number gives a token in less time.
func TestGain(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for round := range 300 {
		const rows = 16
		answers := 1 + rng.IntN(3)
		g := gain{times: times{took: make([]timing, rows+1)}}
		cost, base := rng.Float64(), 1e6
		if round < 2 {
			cost = float64(round)
		}
		for n := 1; n <= rows; n++ {
			g.observe(n, time.Duration(base*(1+cost*float64(n-answers))), 1)
		}
		var slots []*slot
		var chances []float64
		for range answers {
			sl := &slot{}
			sl.draft.ids = sl.draft.buf[:1+rng.IntN(mostDrafts)]
			sl.draft.acceptance[0] = acceptance{float32(rng.IntN(40)), 40}
			slots, chances = append(slots, sl), append(chances, sl.draft.chance())
		}
		most := rows - answers
		g.choose(slots, answers, most, 1)
		each := func(keep []int) float64 {
			tokens, n := float64(answers), answers
			for i, k := range keep {
				next := 1.0
				for range k {
					next *= chances[i]
					tokens += next
				}
				n += k
			}
			return float64(g.took[n].d) / tokens
		}
		got, total := make([]int, answers), 0
		for i, sl := range slots {
			got[i] = sl.draft.best
			total += got[i]
		}
		took := each(got)
		if answers > 1 && g.took[answers+total].d > 2*g.took[answers].d {
			t.Errorf("round %d: answers wait for more than two steps", round)
		}
		for range 200 {
			other, n := make([]int, answers), 0
			for i, sl := range slots {
				other[i] = min(len(sl.draft.ids), rng.IntN(most-n+1))
				n += other[i]
			}
			if answers > 1 && g.took[answers+n].d > 2*g.took[answers].d {
				continue
			}
			if each(other)*leastGain < took*0.999 {
				t.Errorf("round %d: %v takes %.0f ns for a token, %v takes %.0f", round, got, took, other, each(other))
			}
		}
		if cost == 1 && answers == 1 && total > 0 {
			t.Errorf("round %d: %d rows of drafts that cost a step each", round, total)
		}
	}
}

// TestGainTries: with only a plain step timed, more rows are tried by and by, and when
// they turn out to cost as much as steps, no more.
func TestGainTries(t *testing.T) {
	for _, cheap := range []bool{true, false} {
		g := gain{times: times{took: make([]timing, 17)}}
		sl := &slot{}
		step, tried, last := uint64(0), 0, 0
		g.observe(1, 1e6, step)
		for range 40 {
			step++
			sl.draft.ids = sl.draft.buf[:15]
			g.choose([]*slot{sl}, 1, 15, step)
			if last = sl.draft.best; last > 2*g.most {
				t.Errorf("%d rows after at most %d were timed", 1+last, g.most)
			}
			took := time.Duration(1e6)
			if !cheap {
				took *= time.Duration(1 + last)
			}
			if last > 0 {
				tried++
				for range last {
					sl.recordAcceptance(true)
				}
			}
			g.observe(1+last, took, step)
		}
		if cheap && last != 15 || !cheap && (last > 0 || tried > 3) {
			t.Errorf("cheap %t: %d tries, %d rows in the end", cheap, tried, last)
		}
	}
}
