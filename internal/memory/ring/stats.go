package ring

import "time"

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
	if r.reading > 0 {
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

// Plus returns the sum with the totals of an earlier ring, whose size does not
// count any more.
func (s Stats) Plus(t Stats) Stats {
	sum := Stats{
		Bytes: s.Bytes, Passes: s.Passes + t.Passes, Read: s.Read + t.Read, Reads: s.Reads + t.Reads,
		Hits: s.Hits + t.Hits, Late: s.Late + t.Late, Stall: s.Stall + t.Stall, Busy: s.Busy + t.Busy,
		Wall: s.Wall + t.Wall, First: t.First,
	}
	if t.Passes == 0 {
		sum.First = s.First
	}
	return sum
}
