package ring

import (
	"fmt"
	"hash/crc32"
	"time"

	"atenia/internal/fault"
)

// A expertPiece is one read of an expert.
type expertPiece struct {
	slot, part int32
	at, end    int // in the room of the part
}

// read is the loop of a reader.
func (c *ExpertCache) read() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed {
		p, ok := c.next()
		if !ok {
			c.work.Wait()
			continue
		}
		if c.flying++; c.flying == 1 {
			c.since = time.Now()
		}
		e := &c.all[c.slots[p.slot].expert]
		c.mu.Unlock()
		err := fault.Call(func() error { return c.fetch(e, p) })
		c.mu.Lock()
		if err == nil {
			err = c.complete(e, p)
		}
		if err != nil && c.fail == nil {
			c.fail = err
		}
		if c.flying--; c.flying == 0 {
			c.stats.Busy += time.Since(c.since)
		}
		c.ready.Broadcast()
	}
}

// scanAhead is how many experts a scan reads ahead: enough for the disk, and few,
// because each evicts another.
const scanAhead = 16

// next returns the next piece to read, if there is room for it.
func (c *ExpertCache) next() (expertPiece, bool) {
	if c.halted || c.fail != nil || c.issue >= len(c.list) {
		return expertPiece{}, false
	}
	if c.scan && c.issue-max(c.released, c.found) >= max(2, min(scanAhead, len(c.slots)/2)) {
		return expertPiece{}, false
	}
	id := c.list[c.issue]
	e := &c.all[id]
	if e.slot < 0 && !c.place(id) {
		return expertPiece{}, false
	}
	room := e.parts[c.part : c.part+1].Room()
	p := expertPiece{slot: e.slot, part: int32(c.part), at: c.at, end: min(c.at+c.piece, room)}
	if c.at = p.end; c.at == room {
		c.at = 0
		if c.part++; c.part == len(e.parts) {
			c.part = 0
			c.issue++
		}
	}
	return p, true
}

// place gives an expert a slot: its own, a free one, or that of the expert whose
// last use is the longest ago.
func (c *ExpertCache) place(id int32) bool {
	e := &c.all[id]
	k := e.own
	switch {
	case k >= 0:
	case len(c.free) > 0:
		k = c.free[len(c.free)-1]
		c.free = c.free[:len(c.free)-1]
	default:
		if k = c.recent.oldest(); k < 0 {
			return false
		}
		c.recent.remove(c.slots, k)
		c.all[c.slots[k].expert].slot = -1
		c.stats.Evictions++
		c.slots[k].last = c.scan
	}
	s := &c.slots[k]
	s.expert, s.left, s.ready, s.inUse = id, e.pieces, false, true
	e.slot = k
	return true
}

// fetch reads a piece.
func (c *ExpertCache) fetch(e *expert, p expertPiece) error {
	s := &e.parts[p.part]
	before := int(s.Offset % PageBytes)
	mem := c.block.Bytes[int(p.slot)*c.slot+e.parts[:p.part].Room():]
	return fetch(c.files[s.File], mem[p.at:p.end:p.end], s.Offset-int64(before)+int64(p.at), min(p.end, before+s.Bytes)-p.at)
}

// complete records that a piece has been read. The last one makes its expert
// ready.
func (c *ExpertCache) complete(e *expert, p expertPiece) error {
	c.stats.Read += int64(p.end - p.at)
	c.stats.Reads++
	s := &c.slots[p.slot]
	if s.left--; s.left > 0 {
		return nil
	}
	c.mu.Unlock() // the read still counts as in flight
	err := fault.Call(func() error { return c.finish(e, int(p.slot)) })
	c.mu.Lock()
	s.ready = err == nil
	return err
}

// finish moves the parts of an expert to their alignment, and verifies them.
func (c *ExpertCache) finish(e *expert, slot int) error {
	at, sum := slot*c.slot, uint32(0)
	for k := range e.parts {
		s := &e.parts[k]
		mem := c.block.Bytes[at:]
		before, by := int(s.Offset%PageBytes), shift(s)
		if by != 0 {
			copy(mem[before-by:][:s.Bytes], mem[before:][:s.Bytes])
		}
		if c.verify {
			sum = crc32.Update(sum, castagnoli, mem[before-by:][:s.Bytes])
		}
		at += e.parts[k : k+1].Room()
	}
	if !c.verify {
		return nil
	}
	if e.summed && sum != e.sum {
		s := &e.parts[0]
		return &readError{File: c.files[s.File].Name(), Offset: s.Offset, Bytes: s.Bytes,
			Err: fmt.Errorf("%w: crc32c %08x, then %08x", ErrCorrupt, e.sum, sum)}
	}
	e.sum, e.summed = sum, true
	return nil
}

// ExpertStats are totals since a cache was created.
type ExpertStats struct {
	Bytes     int64         `json:"experts_bytes"` // memory of the cache
	Slots     int           `json:"experts_slots"` // experts that it holds at once
	Experts   int           `json:"experts"`       // of all layers
	Hits      int64         `json:"experts_hits"`  // experts that were in memory when tokens chose them
	Misses    int64         `json:"experts_misses"`
	Evictions int64         `json:"experts_evictions"`
	Late      int64         `json:"experts_late"` // waits for a read
	Read      int64         `json:"experts_read_bytes"`
	Reads     int64         `json:"experts_reads"`
	Passes    int64         `json:"-"`               // steps that ended without an error
	Wall      time.Duration `json:"-"`               // of them
	First     time.Duration `json:"-"`               // of the first of them
	Wait      time.Duration `json:"experts_wait_ns"` // that computing waited
	Busy      time.Duration `json:"experts_busy_ns"` // with at least one read in flight
}

// Stats returns the totals so far.
func (c *ExpertCache) Stats() ExpertStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	if c.flying > 0 {
		s.Busy += time.Since(c.since)
	}
	return s
}

// Since returns the difference to earlier totals.
func (s ExpertStats) Since(t ExpertStats) ExpertStats {
	return ExpertStats{
		Bytes: s.Bytes, Slots: s.Slots, Experts: s.Experts, Hits: s.Hits - t.Hits, Misses: s.Misses - t.Misses,
		Evictions: s.Evictions - t.Evictions, Late: s.Late - t.Late, Read: s.Read - t.Read, Reads: s.Reads - t.Reads,
		Passes: s.Passes - t.Passes, Wall: s.Wall - t.Wall, First: s.First - t.First, Wait: s.Wait - t.Wait, Busy: s.Busy - t.Busy,
	}
}

// HitRate returns the share of chosen experts that were in memory: 1 if none was
// chosen.
func (s ExpertStats) HitRate() float64 {
	if s.Hits+s.Misses == 0 {
		return 1
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}
