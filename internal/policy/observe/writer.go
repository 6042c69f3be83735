package observe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"atenia/internal/memory/lane"
	"atenia/internal/policy/record"
)

// A TraceWriter writes a trace. It is a [lane.Sink] and a [record.Listener] and
// safe for concurrent use. The first error stops it; [TraceWriter.Close] returns it.
type TraceWriter struct {
	mu     sync.Mutex
	out    *bufio.Writer
	err    error
	any    bool // an event was written
	epoch  int64
	tracks map[string]int // name → tid
	open   map[uint64]lane.Event
	moved  map[string]slice // tensor → the last slice that read or moved it
	flows  uint64
}

// A slice is a finished task on its track.
type slice struct {
	tid int
	end time.Duration
}

// NewTraceWriter returns a writer to w. epoch is the wall-clock time, in nanoseconds
// since 1970, at which the clock of the events read 0; it places decisions,
// which carry only wall-clock times, on the time axis.
func NewTraceWriter(w io.Writer, epoch int64) *TraceWriter {
	return &TraceWriter{
		out: bufio.NewWriterSize(w, 1<<16), epoch: epoch,
		tracks: map[string]int{}, open: map[uint64]lane.Event{}, moved: map[string]slice{},
	}
}

// The fields of an event, in file order.
type event struct {
	Name  string `json:"name"`
	Phase string `json:"ph"`
	Cat   string `json:"cat,omitempty"`
	PID   int    `json:"pid"`
	TID   int    `json:"tid,omitempty"`
	TS    micros `json:"ts"`
	Dur   micros `json:"dur,omitempty"`
	ID    uint64 `json:"id,omitempty"`
	Scope string `json:"s,omitempty"`
	Bind  string `json:"bp,omitempty"`
	Args  any    `json:"args,omitempty"`
}

// micros formats as microseconds with three decimals.
type micros time.Duration

func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// put writes one event.
func (w *TraceWriter) put(e event) {
	if w.err != nil {
		return
	}
	var b bytes.Buffer
	if w.any {
		b.WriteString(",\n")
	} else {
		b.WriteString("[\n")
	}
	w.any = true
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	e.PID = 1
	if w.err = enc.Encode(&e); w.err == nil {
		_, w.err = w.out.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	}
}

// track returns the number of a track, and names it on first use.
func (w *TraceWriter) track(name string) int {
	if tid, ok := w.tracks[name]; ok {
		return tid
	}
	tid := len(w.tracks) + 1
	w.tracks[name] = tid
	w.put(event{Name: "thread_name", Phase: "M", TID: tid, Args: map[string]string{"name": name}})
	return tid
}

// trackOf names the track of a task.
func trackOf(e *lane.Event) string {
	name := e.Lane.String()
	switch {
	case e.Lane == lane.IO:
		name = "SsdPrefetch"
	case e.Lane == lane.Compute:
		name = "Cpu"
	case e.Lane == lane.Device:
		name = "Gpu"
	case strings.Contains(e.Name, "->vram:"):
		name = "H2D"
	case strings.Contains(e.Name, ":vram->"):
		name = "D2H"
	}
	return fmt.Sprintf("%s %d", name, e.Worker)
}

// sliceArgs describes what a task moved or used.
type sliceArgs struct {
	Tensor string  `json:"tensor,omitempty"`
	Bytes  uint64  `json:"bytes,omitempty"`
	MBps   float64 `json:"MB_s,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Event writes a task when it ends, unless it did nothing.
func (w *TraceWriter) Event(e lane.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Phase == lane.Begin {
		w.open[e.ID] = e
		return
	}
	begin, ok := w.open[e.ID]
	if !ok {
		return
	}
	delete(w.open, e.ID)
	if errors.Is(e.Err, lane.ErrDropped) {
		return
	}
	tid := w.track(trackOf(&e))
	took := e.At - begin.At
	args := sliceArgs{Tensor: e.Tensor, Bytes: e.Bytes}
	if took > 0 {
		args.MBps = float64(e.Bytes*10/uint64(max(took/time.Microsecond, 1))) / 10
	}
	if e.Err != nil {
		args.Error = e.Err.Error()
	}
	w.put(event{Name: e.Name, Phase: "X", Cat: e.Lane.String(), TID: tid, TS: micros(begin.At), Dur: micros(took), Args: args})
	w.arrow(&e, begin.At, tid)
}

// arrow draws an arrow to this slice from the one that last read or moved its
// tensor.
func (w *TraceWriter) arrow(e *lane.Event, begin time.Duration, tid int) {
	if e.Tensor == "" {
		return
	}
	from, ok := w.moved[e.Tensor]
	if ok && from.end <= begin {
		w.flows++
		const inside = time.Nanosecond // an arrow attaches to the slice that encloses its time
		w.put(event{Name: e.Tensor, Phase: "s", Cat: "tensor", TID: from.tid, TS: micros(max(from.end-inside, 0)), ID: w.flows})
		w.put(event{Name: e.Tensor, Phase: "f", Cat: "tensor", TID: tid, TS: micros(begin), ID: w.flows, Bind: "e"})
	}
	switch {
	case e.Lane == lane.IO || e.Lane == lane.Transfer:
		w.moved[e.Tensor] = slice{tid, e.At}
	default:
		delete(w.moved, e.Tensor) // used: the next pass reads it again
	}
}

// A MetricValue is one line of a counter.
type MetricValue struct {
	Name  string
	Value float64
}

// counterArgs preserves the order of values.
type counterArgs []MetricValue

func (c counterArgs) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(v.Name)
		if err != nil {
			return nil, err
		}
		num, err := json.Marshal(v.Value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), num...)
	}
	return append(b, '}'), nil
}

// Counter records values that hold from the given time on: bytes of each tier, a
// pressure, the depth of a queue. It omits NaN and infinite values.
func (w *TraceWriter) Counter(name string, at time.Duration, values ...MetricValue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var args counterArgs
	for _, v := range values {
		if v.Value-v.Value == 0 { // neither NaN nor infinite
			args = append(args, v)
		}
	}
	if len(args) > 0 {
		w.put(event{Name: name, Phase: "C", TS: micros(at), Args: args})
	}
}

// Instant marks a moment across all tracks.
func (w *TraceWriter) Instant(name string, at time.Duration, args map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instant(name, at, args)
}

func (w *TraceWriter) instant(name string, at time.Duration, args map[string]string) {
	e := event{Name: name, Phase: "i", Scope: "g", TS: micros(max(at, 0))}
	if args != nil {
		e.Args = args // a nil map is not a nil value
	}
	w.put(e)
}

// Decided marks the decisions that change what a user sees: FALLBACK if work is
// degraded from a device to the processor, OFFLOAD_PLAN if tensors are evicted,
// SWITCH if a learned preference changes.
func (w *TraceWriter) Decided(r *record.Record) {
	name := ""
	switch {
	case fallback(r):
		name = "FALLBACK"
	case r.Component == "offload" && r.Target != "":
		name = "OFFLOAD_PLAN"
	case r.Rule == "LearnedScore":
		name = "SWITCH"
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instant(name, time.Duration(r.TNS-w.epoch), map[string]string{
		"component": r.Component, "rule": r.Rule, "target": r.Target, "reason": r.Reason, "seq": fmt.Sprint(r.Seq),
	})
}

// Close completes the file, without closing the underlying writer, and returns
// the first error of the trace.
func (w *TraceWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	end := "\n]\n"
	if !w.any {
		end = "[]\n"
	}
	if _, err := w.out.WriteString(end); err != nil {
		return err
	}
	return w.out.Flush()
}
