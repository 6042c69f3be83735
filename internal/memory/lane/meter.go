package lane

import (
	"errors"
	"sync"
	"time"
)

// A Meter is a sink that measures how much of the copying was hidden behind
// computation. Its zero value is ready to use.
type Meter struct {
	mu      sync.Mutex
	now     time.Duration // of the last event
	wall    span
	move    span
	compute span
	counts  [laneCount]Count
}

// A Count totals the tasks of a lane.
type Count struct {
	Tasks, Failed, Bytes uint64
}

// A span is the time during which at least one task of some lanes ran.
type span struct {
	running     int
	from, total time.Duration
}

// add changes the number of running tasks.
func (s *span) add(by int, at time.Duration) {
	if s.running > 0 {
		s.total += at - s.from
	}
	s.from = at
	s.running += by
}

// until returns the time until the last event.
func (s span) until(at time.Duration) time.Duration {
	s.add(0, at)
	return s.total
}

// Event updates the measurement. An idle task interrupts the computation that
// its worker is in.
func (m *Meter) Event(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = e.At
	by := 1
	if e.Phase == End {
		by = -1
	}
	switch {
	case e.Idle:
		m.compute.add(-by, e.At)
		return
	case e.Lane == IO || e.Lane == Transfer:
		m.move.add(by, e.At)
	default:
		m.compute.add(by, e.At)
	}
	m.wall.add(by, e.At)
	if e.Phase == End && !errors.Is(e.Err, ErrDropped) {
		c := &m.counts[e.Lane]
		c.Tasks++
		c.Bytes += e.Bytes
		if e.Err != nil {
			c.Failed++
		}
	}
}

// A Report holds the measurements of a [Meter].
type Report struct {
	Wall    time.Duration // while any task ran
	Move    time.Duration // while a task of Io or Transfer ran
	Compute time.Duration // while a task of Compute or Device ran and did not wait
	Lanes   [laneCount]Count
}

// Report returns the measurements up to the last event.
func (m *Meter) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Report{m.wall.until(m.now), m.move.until(m.now), m.compute.until(m.now), m.counts}
}

// Since returns the difference to an earlier report.
func (r Report) Since(t Report) Report {
	r.Wall, r.Move, r.Compute = r.Wall-t.Wall, r.Move-t.Move, r.Compute-t.Compute
	for l := range r.Lanes {
		a, b := &r.Lanes[l], &t.Lanes[l]
		*a = Count{a.Tasks - b.Tasks, a.Failed - b.Failed, a.Bytes - b.Bytes}
	}
	return r
}

// Overlap is the share of the shorter of moving and computing that was hidden
// behind the longer: 1 if the wall time equals the longer one, 0 if it is their
// sum, less if neither ran for a while. It is 0 if either did not happen.
func (r Report) Overlap() float64 {
	long, short := max(r.Move, r.Compute), min(r.Move, r.Compute)
	if short <= 0 {
		return 0
	}
	return 1 - float64(r.Wall-long)/float64(short)
}
