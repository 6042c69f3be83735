package ring

import "time"

// read is the loop of reader i.
func (r *Ring) read(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.closed {
		if i >= r.active {
			r.work.Wait()
			continue
		}
		p, use := r.next()
		if p == nil {
			r.work.Wait()
			continue
		}
		r.startRead(i, use)
		k := int(use % uint64(len(r.units)))
		r.emit(Event{EventKind: ReadBegins, Unit: k, Reader: i, Bytes: len(p.mem)})
		r.mu.Unlock()
		err := p.fetch(r.files, r.verify)
		r.mu.Lock()
		if err == nil {
			r.completePiece(i, p, use)
		} else if r.fail == nil {
			r.fail = err
		}
		r.endRead(i)
		end := ReadEnds
		if err != nil {
			end = ReadFails
		}
		r.emit(Event{EventKind: end, Unit: k, Reader: i, Bytes: len(p.mem)})
		r.ready.Broadcast()
	}
}

// next returns the next piece to read, nil if there is no room for it yet.
func (r *Ring) next() (*piece, uint64) {
	if r.halted || r.fail != nil {
		return nil, 0
	}
	if r.issue < r.released { // skipped
		r.issue, r.piece = r.released, 0
	}
	n := uint64(len(r.units))
	k := int(r.issue % n)
	u := &r.units[k]
	if back := uint64(u.back); r.issue >= back && !r.useEnded(r.issue-back) {
		return nil, 0
	}
	if r.piece == 0 {
		r.left[k] = len(u.pieces)
	}
	p, use := &u.pieces[r.piece], r.issue
	if r.piece++; r.piece == len(u.pieces) {
		r.issue, r.piece = r.issue+1, 0
	}
	return p, use
}

// useEnded reports whether all uses up to this one have ended, so that their bytes
// are neither used nor being read.
func (r *Ring) useEnded(use uint64) bool {
	if r.released <= use {
		return false
	}
	for _, f := range r.flight {
		if f != 0 && f-1 <= use {
			return false
		}
	}
	return true
}

func (r *Ring) flying() bool {
	for _, f := range r.flight {
		if f != 0 {
			return true
		}
	}
	return false
}

// startRead and land track the reads in flight, and for how long there were any.
func (r *Ring) startRead(i int, use uint64) {
	if !r.flying() {
		r.since = time.Now()
	}
	r.flight[i] = use + 1
}

func (r *Ring) endRead(i int) {
	r.flight[i] = 0
	if !r.flying() {
		r.stats.Busy += time.Since(r.since)
	}
	r.work.Broadcast() // another reader may wait for this place
}

// completePiece records that a piece has been read. The last piece of a unit makes it
// ready.
func (r *Ring) completePiece(i int, p *piece, use uint64) {
	r.stats.Read += int64(len(p.mem))
	r.stats.Reads++
	k := int(use % uint64(len(r.units)))
	u := &r.units[k]
	if r.left[k]--; r.left[k] > 0 {
		return
	}
	if len(u.moves) > 0 {
		r.mu.Unlock() // the read still counts as in flight
		for _, m := range u.moves {
			copy(m.to, m.from)
		}
		r.mu.Lock()
	}
	r.loaded[k] = use + 1
}

// Stats are totals since a ring was created.
type Stats struct {
	Bytes  int64         `json:"ring_bytes"` // size of the ring
	Passes int64         `json:"passes"`     // completed without an error
	Read   int64         `json:"read_bytes"` // from files
	Reads  int64         `json:"reads"`
	Hits   int64         `json:"hits"` // units that were ready when acquired
	Late   int64         `json:"late"` // units that had to be waited for
	Stall  time.Duration `json:"stall_ns"`
	Busy   time.Duration `json:"busy_ns"`  // time with at least one read in flight
	Wall   time.Duration `json:"wall_ns"`  // of the completed passes
	First  time.Duration `json:"first_ns"` // of the first completed pass, which starts with nothing read ahead
}

// Stats returns the totals so far.
func (r *Ring) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	if r.flying() {
		s.Busy += time.Since(r.since)
	}
	return s
}

// Since returns the difference to earlier totals.
func (s Stats) Since(t Stats) Stats {
	return Stats{
		Bytes: s.Bytes, Passes: s.Passes - t.Passes, Read: s.Read - t.Read, Reads: s.Reads - t.Reads,
		Hits: s.Hits - t.Hits, Late: s.Late - t.Late, Stall: s.Stall - t.Stall, Busy: s.Busy - t.Busy,
		Wall: s.Wall - t.Wall, First: s.First - t.First,
	}
}

// Overlap returns the share of the shorter of reading and computing that was
// hidden behind the other during wall: 1 is all of it.
func (s Stats) Overlap(wall time.Duration) float64 {
	read, compute := s.Busy.Seconds(), (wall - s.Stall).Seconds()
	short := min(read, compute)
	if short <= 0 {
		return 1
	}
	return max(0, min(1, 1-(wall.Seconds()-max(read, compute))/short))
}
