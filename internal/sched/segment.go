package sched

import (
	"fmt"

	"atenia/internal/memory/kv"
	"atenia/internal/store/sequence"
)

// segment returns how many tokens of a state are a file; 0 = the state has no positions.
// With a window a file is a page: those behind the window are not there.
func (s *Scheduler) segment(state int) int {
	p := s.storage.pools[state]
	c := p.Cache().Config()
	switch {
	case !p.ByPosition():
		return 0
	case c.Window > 0:
		return c.PageTokens
	}
	return max(segmentTokens, c.PageTokens)
}

// oldestPage returns the first page that a query at position n reads.
func oldestPage(c *kv.Config, n int) int {
	if c.Window == 0 {
		return 0
	}
	return max(0, n-c.Window+1) / c.PageTokens
}

// hashes returns the hash of every beginning of some tokens, for the rotations of a class.
func hashes(class int, tokens []int32) []uint64 {
	out := make([]uint64, len(tokens)+1)
	out[0] = mix(chainSeed, int32(class))
	for i, t := range tokens {
		out[i+1] = mix(out[i], t)
	}
	return out
}

// A found is what the disk has of a prompt.
type found struct {
	n     int // tokens
	ids   []sequence.ID
	bytes int64
}

// onDisk returns the longest beginning of a prompt whose states are all on the disk, if
// it has at least least tokens.
func (s *Scheduler) onDisk(r *Request, least int) (f found) {
	most := len(r.Prompt) - 1
	if len(r.Images) > 0 {
		most = min(most, r.Images[0].At)
	}
	if least = max(least, 1); most < least || r.LowRank != nil {
		return f
	}
	h := hashes(s.x.RopeClass(r.span()), r.Prompt[:most])
	s.kept.disk.folder.View(func(has func(sequence.ID) (int64, bool)) {
		// begins has, for each file of whole segments, the first one of those without a
		// gap up to it.
		begins := make([][]int, len(s.storage.pools))
		for i := range s.storage.pools {
			size := s.segment(i)
			if size == 0 || !s.storage.pools[i].Persistent() {
				continue
			}
			begins[i] = make([]int, most/size)
			for k, from := 0, 0; k < len(begins[i]); k++ {
				if _, ok := has(sequence.ID{State: i, End: (k + 1) * size, Hash: h[(k+1)*size]}); !ok {
					from = k + 1
				}
				begins[i][k] = from
			}
		}
		for n := most; n >= least; n-- {
			if ids, ok := s.needed(n, h, begins, has); ok {
				f.n, f.ids = n, ids
				break
			}
		}
		for _, id := range f.ids {
			bytes, _ := has(id)
			f.bytes += bytes
		}
	})
	return f
}

// needed returns the files that a sequence of n tokens is read from, if all are there.
func (s *Scheduler) needed(n int, h []uint64, begins [][]int, has func(sequence.ID) (int64, bool)) (ids []sequence.ID, ok bool) {
	end := func(i int) bool { // what ends at n
		_, ok := has(sequence.ID{State: i, End: n, Hash: h[n]})
		return ok
	}
	first := func(i, size int) int { // segment
		c := s.storage.pools[i].Cache().Config()
		return oldestPage(&c, n) * c.PageTokens / size
	}
	for i, p := range s.storage.pools { // most positions fail here
		if !p.Persistent() {
			continue
		}
		size := s.segment(i)
		if (size == 0 || n%size != 0) && !end(i) {
			return nil, false
		}
		if size > 0 && n/size > first(i, size) && begins[i][n/size-1] > first(i, size) {
			return nil, false
		}
	}
	for i, p := range s.storage.pools {
		if !p.Persistent() {
			continue
		}
		size := s.segment(i)
		if size > 0 {
			for k := first(i, size); k < n/size; k++ {
				ids = append(ids, sequence.ID{State: i, End: (k + 1) * size, Hash: h[(k+1)*size]})
			}
		}
		if size == 0 || n%size != 0 {
			ids = append(ids, sequence.ID{State: i, End: n, Hash: h[n]})
		}
	}
	return ids, true
}

// extent returns which pages of a state are in the file that ends with some tokens.
func (s *Scheduler) extent(state, end int) (first, pages int) {
	size := s.segment(state)
	if size == 0 {
		return 0, 1
	}
	c := s.storage.pools[state].Cache().Config()
	first = (end - 1) / size * size / c.PageTokens
	return first, (end+c.PageTokens-1)/c.PageTokens - first
}

// items returns the files of a sequence, whose states nobody changes.
func (s *Scheduler) items(p *prefix) (items []sequence.Item) {
	h, key := hashes(s.x.RopeClass(p.span), p.tokens[:p.done]), s.kept.disk.key()
	add := func(state, end int, pages [][]byte) {
		first, n := s.extent(state, end)
		if first+n > len(pages) {
			return
		}
		for _, b := range pages[first : first+n] {
			if b == nil { // behind the window
				return
			}
		}
		items = append(items, sequence.Item{
			ID: sequence.ID{State: state, End: end, Hash: h[end]},
			Header: sequence.Header{
				Key: key, Span: p.span, Tokens: p.tokens[:end],
				Runs: []sequence.Run{{State: state, First: first, Pages: n, At: end, Bytes: s.storage.pools[state].Cache().Config().PageBytes}},
			},
			Pages: pages[first : first+n],
		})
	}
	for i, x := range p.states {
		if !s.storage.pools[i].Persistent() || x.Len() < p.done {
			continue
		}
		size := s.segment(i)
		for end := size; size > 0 && end <= p.done; end += size {
			add(i, end, x.Pages())
		}
		if size == 0 || p.done%size != 0 {
			add(i, p.done, x.Pages())
		}
		for _, m := range p.snapshots {
			switch {
			case m.at >= p.done:
			case size == 0:
				add(i, m.at, m.states[i].Pages())
			case m.at%size != 0:
				add(i, m.at, x.Pages())
			}
		}
	}
	return items
}

// startSave writes a sequence, which nobody changes meanwhile, on a goroutine.
func (s *Scheduler) startSave(p *prefix) *transfer {
	items := s.items(p)
	return s.transfer(p, func(t *transfer) error { return s.kept.disk.folder.Put(items, t.stop.Load) })
}

// startLoad fills the pages of a sequence on a goroutine.
func (s *Scheduler) startLoad(p *prefix, f found) *transfer {
	pages := make([][][]byte, len(p.states))
	for i, x := range p.states {
		pages[i] = x.Pages()
	}
	folder := s.kept.disk.folder
	return s.transfer(p, func(t *transfer) error {
		for _, id := range f.ids {
			err := folder.Read(id, p.tokens[:id.End], func(r *sequence.Reader) error {
				return s.readPages(t, r, id, pages[id.State])
			})
			if err != nil {
				return err
			}
		}
		folder.Use(f.ids)
		t.bytes = f.bytes
		return nil
	})
}

// readPages reads a file into the pages of a state.
func (s *Scheduler) readPages(t *transfer, r *sequence.Reader, id sequence.ID, to [][]byte) error {
	first, n := s.extent(id.State, id.End)
	c := s.storage.pools[id.State].Cache().Config()
	if x := r.Runs[0]; x.First != first || x.Pages != n || x.Bytes != c.PageBytes {
		return &sequence.Error{Kind: sequence.ErrDamaged, Path: r.Path, Offset: r.RunOffset(0), Why: fmt.Sprintf("it has pages %d to %d of %d bytes, want %d to %d of %d", x.First, x.First+x.Pages-1, x.Bytes, first, first+n-1, c.PageBytes)}
	}
	for k := range n {
		if t.stop.Load() {
			return errStopped
		}
		if err := r.ReadPage(k, to[first+k]); err != nil {
			return err
		}
	}
	return nil
}
