package lane

import (
	"sync"
	"time"
)

// A Meter is a sink that measures how much of the copying was hidden behind
// computation. Its zero value is ready to use.
type Meter struct {
	mu       sync.Mutex
	any      bool
	from, to time.Duration
	move     span
	compute  span
	counts   [laneCount]Count
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

func (s *span) event(e Event) {
	if e.Phase == Begin {
		if s.running == 0 {
			s.from = e.At
		}
		s.running++
		return
	}
	if s.running--; s.running == 0 {
		s.total += e.At - s.from
	}
}

// Event updates the measurement.
func (m *Meter) Event(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.any {
		m.any, m.from = true, e.At
	}
	m.to = e.At
	if e.Lane == IO || e.Lane == Transfer {
		m.move.event(e)
	} else {
		m.compute.event(e)
	}
	if e.Phase == End {
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
	Wall    time.Duration // from the first event to the last
	Move    time.Duration // while a task of Io or Transfer ran
	Compute time.Duration // while a task of Compute or Device ran
	Lanes   [laneCount]Count
}

// Take returns the measurements since the previous call and resets the meter.
// Call it when no task is running.
func (m *Meter) Take() Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := Report{m.to - m.from, m.move.total, m.compute.total, m.counts}
	m.any, m.from, m.to, m.counts = false, 0, 0, [laneCount]Count{}
	m.move.total, m.compute.total = 0, 0
	return r
}

// Overlap is the share of the shorter of moving and computing that was hidden
// behind the longer: 1 if the wall time equals the longer one, 0 if it is their
// sum, less if there were gaps. It is 0 if either did not happen.
func (r Report) Overlap() float64 {
	long, short := max(r.Move, r.Compute), min(r.Move, r.Compute)
	if short <= 0 {
		return 0
	}
	return 1 - float64(r.Wall-long)/float64(short)
}
