package observe

import (
	"bufio"

	"atenia/internal/memory/ring"
	"atenia/internal/memory/timeline"
)

// An orderWriter writes in which order units are read and computed with.
type orderWriter struct {
	w     *bufio.Writer
	lines *timeline.Timeline
	units []ring.Label
	lead  func(unit int) int
	base  int // the use of unit 0 in this pass
	next  int // the use that is read next
}

// Ticks returns a timeline, with ids of its own, whose lines are written between
// those of steps; they go nowhere if no timeline is written. It must be used
// between two steps.
func (o *Observer) Ticks() *timeline.Timeline {
	if o != nil && o.timeline != nil {
		return timeline.NewTimeline(timeline.TakeTurns, lines{o.timeline.w})
	}
	return timeline.NewTimeline(timeline.TakeTurns, nowhere{})
}

// nowhere drops lines.
type nowhere struct{}

// Line implements [timeline.Sink].
func (nowhere) Line(string) {}

func newOrderWriter(w *bufio.Writer) *orderWriter {
	return &orderWriter{w: w, lines: timeline.NewTimeline(timeline.TakeTurns, lines{w})}
}

// lines is a sink of lines; the writer keeps its first error.
type lines struct{ w *bufio.Writer }

// Line implements [timeline.Sink].
func (l lines) Line(s string) {
	l.w.WriteString(s)
	l.w.WriteByte('\n')
}

// setUnits sets what is read: lead is how many uses before its own the place of a
// unit is free.
func (t *orderWriter) setUnits(units []ring.Label, lead func(int) int) {
	t.units, t.lead, t.base, t.next = units, lead, 0, 0
}

// step writes a pass that used units in that order. Units read while one is
// computed are those that have room beside it.
func (t *orderWriter) step(kind string, rows int, used []int) {
	n := len(t.units)
	if n == 0 {
		t.lines.Submit(timeline.Task{Queue: timeline.CPU, Kind: timeline.Compute, Name: "compute:" + kind, Cost: uint64(rows)})
		t.lines.Run()
		return
	}
	for _, u := range used {
		use := t.base + u
		t.next = max(t.next, use) // skipped units are not read
		for t.next <= use {
			t.read()
		}
		t.lines.Run()
		t.lines.Submit(timeline.Task{
			Queue: timeline.CPU, Kind: timeline.Compute, Name: "compute:" + t.units[u].Name, Cost: uint64(t.units[u].Bytes) * uint64(rows),
		})
		for t.next-t.lead(t.next%n) < use {
			t.read()
		}
		t.lines.Run()
	}
	t.base += n
}

// read is the next read.
func (t *orderWriter) read() {
	u := &t.units[t.next%len(t.units)]
	t.lines.Submit(timeline.Task{Queue: timeline.SSDPrefetch, Kind: timeline.IO, Name: "prefetch:" + u.Name, Cost: uint64(u.Bytes)})
	t.next++
}
