package observe

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"atenia/internal/memory/lane"
	"atenia/internal/policy/record"
)

// task sends both ends of a task, in microseconds.
func task(w *TraceWriter, id uint64, l lane.Lane, name, tensor string, from, to int, err error) {
	e := lane.Event{Phase: lane.Begin, ID: id, Lane: l, Name: name, Tensor: tensor, Bytes: 1000, At: time.Duration(from) * time.Microsecond}
	w.Event(e)
	e.Phase, e.At, e.Err = lane.End, time.Duration(to)*time.Microsecond, err
	w.Event(e)
}

func TestWriter(t *testing.T) {
	var out strings.Builder
	w := NewTraceWriter(&out, 1_000_000)
	task(w, 1, lane.IO, "prefetch:w", "w", 1, 11, nil)
	task(w, 2, lane.Transfer, "move:ram->vram:w", "w", 12, 22, nil)
	task(w, 3, lane.Device, "k", "w", 23, 30, nil)
	task(w, 4, lane.IO, "prefetch:w", "w", 31, 41, errors.New("lost"))
	w.Counter("bytes", 5*time.Microsecond, MetricValue{"Ram", 10}, MetricValue{"Vram", math.NaN()})
	w.Counter("pressure", 0, MetricValue{"ram", math.Inf(1)})
	w.Decided(&record.Record{Content: record.Content{Component: "planner", Rule: "HighVramPressure", Target: "CpuFallback", Reason: "VRAM pressure too high"}, TNS: 1_007_000})
	w.Decided(&record.Record{Content: record.Content{Component: "planner", Target: "Gpu"}})
	w.Event(lane.Event{Phase: lane.End, ID: 77}) // it began before the trace
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `[
{"name":"thread_name","ph":"M","pid":1,"tid":1,"ts":0.000,"args":{"name":"SsdPrefetch 0"}},
{"name":"prefetch:w","ph":"X","cat":"Io","pid":1,"tid":1,"ts":1.000,"dur":10.000,"args":{"tensor":"w","bytes":1000,"MB_s":100}},
{"name":"thread_name","ph":"M","pid":1,"tid":2,"ts":0.000,"args":{"name":"H2D 0"}},
{"name":"move:ram->vram:w","ph":"X","cat":"Transfer","pid":1,"tid":2,"ts":12.000,"dur":10.000,"args":{"tensor":"w","bytes":1000,"MB_s":100}},
{"name":"w","ph":"s","cat":"tensor","pid":1,"tid":1,"ts":10.999,"id":1},
{"name":"w","ph":"f","cat":"tensor","pid":1,"tid":2,"ts":12.000,"id":1,"bp":"e"},
{"name":"thread_name","ph":"M","pid":1,"tid":3,"ts":0.000,"args":{"name":"Gpu 0"}},
{"name":"k","ph":"X","cat":"Device","pid":1,"tid":3,"ts":23.000,"dur":7.000,"args":{"tensor":"w","bytes":1000,"MB_s":142.8}},
{"name":"w","ph":"s","cat":"tensor","pid":1,"tid":2,"ts":21.999,"id":2},
{"name":"w","ph":"f","cat":"tensor","pid":1,"tid":3,"ts":23.000,"id":2,"bp":"e"},
{"name":"prefetch:w","ph":"X","cat":"Io","pid":1,"tid":1,"ts":31.000,"dur":10.000,"args":{"tensor":"w","bytes":1000,"MB_s":100,"error":"lost"}},
{"name":"bytes","ph":"C","pid":1,"ts":5.000,"args":{"Ram":10}},
{"name":"FALLBACK","ph":"i","pid":1,"ts":7.000,"s":"g","args":{"component":"planner","reason":"VRAM pressure too high","rule":"HighVramPressure","seq":"0","target":"CpuFallback"}}
]
`
	if out.String() != want {
		t.Errorf("got %s\nwant %s", out.String(), want)
	}
	var events []map[string]any
	if err := json.Unmarshal([]byte(out.String()), &events); err != nil {
		t.Error(err)
	}
}

func TestDirections(t *testing.T) {
	for name, want := range map[string]string{"move:ram->vram:a": "H2D 2", "move:vram->ram:a": "D2H 2", "move:ssd->ram:a": "Transfer 2"} {
		if got := trackOf(&lane.Event{Lane: lane.Transfer, Worker: 2, Name: name}); got != want {
			t.Errorf("%s: track %s, want %s", name, got, want)
		}
	}
}

// broken fails after some bytes.
type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestErrors(t *testing.T) {
	for _, left := range []int{0, 70_000} {
		w := NewTraceWriter(&broken{left}, 0)
		for i := range uint64(2000) {
			task(w, i, lane.IO, "prefetch:w", "w", 1, 11, nil)
		}
		if err := w.Close(); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
	var out strings.Builder
	if err := NewTraceWriter(&out, 0).Close(); err != nil || out.String() != "[]\n" {
		t.Errorf("empty: %q, %v", out.String(), err)
	}
}

func TestConcurrent(t *testing.T) {
	var out strings.Builder
	w := NewTraceWriter(&out, 0)
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for i := range uint64(100) {
				task(w, g<<32|i, lane.Lane(g), "x", "w", int(i), int(i)+1, nil)
				w.Counter("c", time.Duration(i), MetricValue{"v", 1})
				w.Instant("i", time.Duration(i), nil)
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil || !json.Valid([]byte(out.String())) {
		t.Errorf("%v, valid JSON: %v", err, json.Valid([]byte(out.String())))
	}
}
