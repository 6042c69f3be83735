package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The oracle keeps one number per position and one pointer per page for each
// sequence, and counts owners by searching. It is slow and simple.

type oracle struct {
	pageTokens, window, maxPages int
	seqs                         []*oracleSeq
}

type oracleSeq struct {
	stamps []uint64
	pages  []*oraclePage // nil: behind the window
}

type oraclePage struct{ _ int } // not empty: pointers must differ

func (o *oracle) owners(p *oraclePage) (n int) {
	for _, s := range o.seqs {
		for _, q := range s.pages {
			if q == p {
				n++
			}
		}
	}
	return n
}

func (o *oracle) used() int {
	seen := map[*oraclePage]bool{}
	for _, s := range o.seqs {
		for _, p := range s.pages {
			if p != nil {
				seen[p] = true
			}
		}
	}
	return len(seen)
}

// extend reports the pages that were missing, 0 if it went well.
func (o *oracle) extend(s *oracleSeq, n int, stamp uint64) int {
	last := len(s.pages) - 1
	split := n > 0 && len(s.stamps)%o.pageTokens != 0 && o.owners(s.pages[last]) > 1
	total := (len(s.stamps) + n + o.pageTokens - 1) / o.pageTokens
	need := total - len(s.pages)
	if split {
		need++
	}
	if have := o.maxPages - o.used(); need > have {
		return need
	}
	if split {
		s.pages[last] = new(oraclePage)
	}
	for len(s.pages) < total {
		s.pages = append(s.pages, new(oraclePage))
	}
	for range n {
		s.stamps = append(s.stamps, stamp)
	}
	return 0
}

func (o *oracle) slide(s *oracleSeq, pos int) {
	if o.window == 0 {
		return
	}
	for i := range s.pages {
		if (i+1)*o.pageTokens <= min(pos, len(s.stamps))-o.window+1 {
			s.pages[i] = nil
		}
	}
}

// resumable reports whether every position in the window of a query at n is in a
// page.
func (o *oracle) resumable(s *oracleSeq, n int) bool {
	if n < 0 || n > len(s.stamps) {
		return false
	}
	from := 0
	if o.window > 0 {
		from = max(0, n-o.window+1)
	}
	for pos := from; pos < n; pos++ {
		if s.pages[pos/o.pageTokens] == nil {
			return false
		}
	}
	return true
}

func (o *oracle) truncate(s *oracleSeq, n int) bool {
	// A window of 1 reads no past position, but a position whose page was
	// freed still cannot be written again.
	if !o.resumable(s, n) || n > 0 && n%o.pageTokens != 0 && s.pages[n/o.pageTokens] == nil {
		return false
	}
	if n > 0 && slices.Contains(s.pages[(n+o.pageTokens-1)/o.pageTokens:], nil) {
		return false
	}
	s.stamps = s.stamps[:n]
	s.pages = s.pages[:(n+o.pageTokens-1)/o.pageTokens]
	return true
}

// play runs the operations that the bytes of script spell, on a cache and on
// the oracle, and compares everything after each.
func play(t testing.TB, script []byte) {
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return int(b)
	}
	o := &oracle{pageTokens: 1 + next()%5, window: next() % 12, maxPages: 1 + next()%24}
	c := newCache(t, Config{PageTokens: o.pageTokens, Window: o.window, MaxPages: o.maxPages})
	defer c.Close()
	c.perSlab = min(c.perSlab, 3)
	var seqs []*Seq
	defer func() {
		for _, s := range seqs {
			s.Release()
		}
		if used := c.Stats().Used; used != 0 {
			t.Errorf("%d pages left after everything was released", used)
		}
	}()
	var log []string
	for stamp := uint64(1); len(script) > 0; stamp++ {
		op := next() % 9
		if len(seqs) == 0 {
			op = 0
		}
		k, err := 0, error(nil)
		if op > 0 {
			k = next() % len(seqs)
		}
		note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
		switch op {
		case 0:
			if len(seqs) == 12 {
				continue
			}
			note("new → %d", len(seqs))
			seqs = append(seqs, c.NewSeq())
			o.seqs = append(o.seqs, &oracleSeq{})
		case 1, 2, 3:
			n := next() % 9
			note("%d.extend(%d)", k, n)
			missing := o.extend(o.seqs[k], n, stamp)
			from := seqs[k].Len()
			have := int64(o.maxPages-o.used()) * c.Stats().PageBytes
			switch err = seqs[k].Extend(n); {
			case missing > 0 && !asMemory(err, int64(missing)*c.Stats().PageBytes, have):
				t.Fatalf("%v: got %v, want %d pages of %d bytes missing", log, err, missing, have)
			case missing == 0 && err != nil:
				t.Fatalf("%v: %v", log, err)
			}
			for pos := from; pos < seqs[k].Len(); pos++ {
				write(seqs[k], pos, stamp)
			}
		case 4:
			if len(seqs) == 12 {
				continue
			}
			note("%d.fork → %d", k, len(seqs))
			seqs = append(seqs, seqs[k].Fork())
			s := o.seqs[k]
			o.seqs = append(o.seqs, &oracleSeq{slices.Clone(s.stamps), slices.Clone(s.pages)})
		case 5:
			n := seqs[k].Len() - next()%10 + 1
			note("%d.truncate(%d)", k, n)
			want := o.truncate(o.seqs[k], n)
			err = seqs[k].Truncate(n)
			if _, bad := errors.AsType[*rangeError](err); bad == want || bad != (err != nil) {
				t.Fatalf("%v: got %v, want success %v", log, err, want)
			}
		case 6:
			pos := seqs[k].Len() - next()%6 + 2
			note("%d.slide(%d)", k, pos)
			seqs[k].SlideTo(pos)
			o.slide(o.seqs[k], pos)
		case 7:
			note("%d.release", k)
			seqs[k].Release()
			seqs[k].Release()
			seqs = slices.Delete(seqs, k, k+1)
			o.seqs = slices.Delete(o.seqs, k, k+1)
		case 8:
			note("trim")
			c.Trim()
		}
		compare(t, log, c, seqs, o)
		checkPool(t, log, c, seqs)
	}
}

// compare checks everything a user can see against the oracle.
func compare(t testing.TB, log []string, c *Cache, seqs []*Seq, o *oracle) {
	t.Helper()
	for i, s := range seqs {
		w := o.seqs[i]
		if s.Len() != len(w.stamps) || len(s.Pages()) != len(w.pages) {
			t.Fatalf("%v: sequence %d: len %d in %d pages, want %d in %d", log, i, s.Len(), len(s.Pages()), len(w.stamps), len(w.pages))
		}
		oldest := len(w.stamps)
		for pos := len(w.stamps) - 1; pos >= 0; pos-- {
			kept := w.pages[pos/o.pageTokens] != nil
			if (s.Pages()[pos/o.pageTokens] != nil) != kept {
				t.Fatalf("%v: sequence %d position %d: kept %v, want %v", log, i, pos, !kept, kept)
			}
			if !kept {
				break
			}
			oldest = pos
			if got := read(s, pos); got != w.stamps[pos] {
				t.Fatalf("%v: sequence %d position %d holds %d, want %d", log, i, pos, got, w.stamps[pos])
			}
		}
		if s.Oldest() != oldest {
			t.Fatalf("%v: sequence %d: oldest %d, want %d", log, i, s.Oldest(), oldest)
		}
		if !s.Resumable(s.Len()) {
			t.Fatalf("%v: sequence %d cannot go on", log, i)
		}
	}
	if st := c.Stats(); st.Used != o.used() || st.Free != o.maxPages-st.Used || st.Seqs != len(seqs) {
		t.Fatalf("%v: %+v, want %d pages used", log, st, o.used())
	}
}

// checkPool checks the pool's invariants: reference counts are right, free pages
// have none, no page is freed twice or leaked, and a writable page has one
// owner.
func checkPool(t testing.TB, log []string, c *Cache, seqs []*Seq) {
	t.Helper()
	owners := make([]int32, c.carved)
	for i, s := range seqs {
		for p, id := range s.table {
			if (id == noPage) != (p < s.first) || (id == noPage) != (s.views[p] == nil) {
				t.Fatalf("%v: sequence %d page %d: id %d, first %d", log, i, p, id, s.first)
			}
			if id != noPage {
				owners[id-1]++
				if &s.views[p][0] != &c.page(id)[0] {
					t.Fatalf("%v: sequence %d page %d: the view is of another page", log, i, p)
				}
			}
		}
	}
	if !slices.Equal(owners, c.refs) {
		t.Fatalf("%v: owners %v, counted %v", log, owners, c.refs)
	}
	shared, used := 0, 0
	for _, n := range owners {
		if n > 0 {
			used++
		}
		if n > 1 {
			shared++
		}
	}
	if shared != c.shared || used+len(c.free)+c.gone != c.carved || c.carved > c.limit {
		t.Fatalf("%v: shared %d (counted %d), used %d + free %d + gone %d of %d, limit %d", log, shared, c.shared, used, len(c.free), c.gone, c.carved, c.limit)
	}
	seen := make([]bool, c.carved)
	for _, id := range c.free {
		if owners[id-1] != 0 || seen[id-1] {
			t.Fatalf("%v: page %d is free and used, or free twice", log, id)
		}
		seen[id-1] = true
	}
}

func TestPagePoolInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		script := make([]byte, 3+r.IntN(600))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		play(t, script)
	}
}

func FuzzOps(f *testing.F) {
	f.Add([]byte{3, 0, 9, 0, 1, 0, 7, 4, 0, 1, 0, 2, 1, 1, 3, 5, 1, 4, 7, 0})     // fork, diverge, truncate
	f.Add([]byte{3, 6, 9, 0, 1, 0, 8, 1, 0, 8, 6, 0, 2, 5, 0, 3, 4, 0, 7, 0})     // window
	f.Add([]byte{0, 0, 1, 0, 1, 0, 1, 1, 0, 8, 0, 1, 1, 1, 7, 0, 1, 0, 2})        // no room
	f.Add([]byte{4, 1, 20, 0, 1, 0, 8, 6, 0, 2, 5, 0, 3, 1, 0, 4, 4, 0, 1, 1, 5}) // a window of one
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 2000 {
			t.Skip("long scripts only take time")
		}
		play(t, script)
	})
}
