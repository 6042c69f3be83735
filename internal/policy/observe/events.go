package observe

import (
	"bufio"
	"sync"

	"atenia/internal/memory/lane"
	"atenia/internal/policy/trace"
)

// Attach makes an executor tell the observer what it runs.
func (o *Observer) Attach(c *lane.Config) {
	c.Clock = o.now
	c.Sink = append(lane.Tee{c.Sink}, o.sinks...)
	if o.trace != nil {
		c.Sink = append(c.Sink.(lane.Tee), &depth{w: o.trace})
	}
	mode := lane.TakeTurns
	if !c.Workers { // a machine without concurrent streams
		mode = lane.FallBack
	}
	switch {
	case o.lines != nil:
		c.Timeline = lane.NewTimeline(mode, o.lines)
	case !c.Workers:
		c.Timeline = lane.NewTimeline(mode, nil)
	}
}

// A depth is a sink that counts the reads in flight.
type depth struct {
	w     *trace.Writer
	reads int
}

// Event implements [lane.Sink].
func (d *depth) Event(e lane.Event) {
	if e.Lane != lane.IO {
		return
	}
	if d.reads++; e.Phase == lane.End {
		d.reads -= 2
	}
	d.w.Counter("queue depth", e.At, trace.Value{Name: "reads", Value: float64(d.reads)})
}

// lines is a sink for the lines of a timeline. They are written to the file
// between two steps, since the work waits for whoever takes a line.
type lines struct {
	mu   sync.Mutex
	kept lane.Lines
	w    *bufio.Writer
}

// Line implements [lane.LineSink].
func (l *lines) Line(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.Line(s)
}

// write writes the lines so far; the writer keeps its first error.
func (l *lines) write() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.kept {
		l.w.WriteString(s)
		l.w.WriteByte('\n')
	}
	clear(l.kept)
	l.kept = l.kept[:0]
}

// Ticks returns a timeline, with ids of its own, whose lines are written between
// those of steps; they go nowhere if no timeline is written. It must be used
// between two steps.
func (o *Observer) Ticks() *lane.Timeline {
	if o != nil && o.lines != nil {
		return lane.NewTimeline(lane.TakeTurns, o.lines)
	}
	return lane.NewTimeline(lane.TakeTurns, nil)
}
