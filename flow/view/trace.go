package view

import (
	"io"
	"time"

	"atenia/flow"
	"atenia/internal/memory/lane"
	"atenia/internal/policy/observe"
)

// A Call is one call of a node.
type Call struct {
	Node   string
	Mode   flow.Mode
	Worker int // thread that made the call
	Start  time.Duration
	Took   time.Duration
	Block  int64
	Tokens int
}

// A Trace writes calls in the Chrome trace format, with a track for each
// thread. [NewTrace] makes one.
type Trace struct {
	w   *observe.TraceWriter
	ids uint64
}

// NewTrace returns a trace to w. Close it to complete the file.
func NewTrace(w io.Writer) *Trace { return &Trace{w: observe.NewTraceWriter(w, 0)} }

// Call adds a call.
func (t *Trace) Call(c Call) {
	t.ids++
	e := lane.Event{Phase: lane.Begin, ID: t.ids, Lane: lane.Compute, Worker: c.Worker, Name: c.Node, At: c.Start}
	if c.Mode == flow.Backward {
		e.Name += " ∇"
	}
	t.w.Event(e)
	e.Phase, e.At = lane.End, c.Start+c.Took
	t.w.Event(e)
}

// Snapshot adds the counters of a snapshot: heat, frames in channels, late
// blocks and gradients.
func (t *Trace) Snapshot(at time.Duration, s *Snapshot) {
	joules := make([]observe.MetricValue, 0, len(s.Metrics.Nodes))
	for _, n := range s.Metrics.Nodes {
		joules = append(joules, observe.MetricValue{Name: n.Name, Value: n.Joules[flow.Forward] + n.Joules[flow.Backward]})
	}
	t.w.Counter("joules", at, joules...)
	frames := make([]observe.MetricValue, 0, len(s.Channels))
	for _, c := range s.Channels {
		frames = append(frames, observe.MetricValue{Name: c.Edge, Value: float64(c.Used)})
	}
	t.w.Counter("frames in channels", at, frames...)
	t.w.Counter("blocks", at, observe.MetricValue{Name: "late", Value: float64(s.Late)}, observe.MetricValue{Name: "muted", Value: float64(s.Muted)})
	norms := make([]observe.MetricValue, 0, len(s.Gradients))
	for _, g := range s.Gradients {
		norms = append(norms, observe.MetricValue{Name: g.Node + "." + g.Parameter, Value: g.Norm})
	}
	t.w.Counter("gradient norms", at, norms...)
}

// Late marks a block that missed its deadline.
func (t *Trace) Late(at time.Duration) { t.w.Instant("LATE", at, nil) }

// Close completes the trace and returns the first error. It does not close the
// underlying writer.
func (t *Trace) Close() error { return t.w.Close() }
