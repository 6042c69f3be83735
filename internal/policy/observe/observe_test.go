package observe_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atenia/internal/memory/lane"
	"atenia/internal/memory/ring"
	"atenia/internal/policy/observe"
	"atenia/internal/sched"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// units are read by the ring of these tests: the second slot is that of the
// first again.
var units = []ring.Label{{Name: "blk.0.ffn_up", Bytes: 4096}, {Name: "blk.0.ffn_down", Bytes: 8192}, {Name: "head", Bytes: 4096}}

// newRing returns a ring that reads units from a new file on lanes.
func newRing(t *testing.T, x *lane.Executor) *ring.Ring {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := ring.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c := ring.Config{Files: []ring.Source{f}, Labels: units, Lanes: x}
	at := int64(0)
	for _, u := range units {
		c.Units = append(c.Units, ring.Unit{{Offset: at, Bytes: int(u.Bytes)}})
		at += u.Bytes
	}
	c.Bytes = ring.Floor(c.Units)
	r, err := ring.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		f.Close()
	})
	return r
}

// run makes passes over a new observed ring, and closes ring and observer.
func run(t *testing.T, c observe.Config, passes int, during func()) {
	t.Helper()
	o, err := observe.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var m lane.Meter
	lc := lane.Config{Readers: 2, Computers: -1, Workers: true, Sink: &m}
	o.Attach(&lc)
	x := lane.New(lc)
	r := newRing(t, x)
	passing := lane.NewPasses(x, true)
	o.Begin(observe.Account{Streamed: 16384, Ring: r, Work: m.Report})
	for i := range passes {
		start := time.Now()
		passing.Begin(i > 0, 1)
		if err := r.Begin(nil); err != nil {
			t.Fatal(err)
		}
		for u := range units {
			if err := r.Acquire(u); err != nil {
				t.Fatal(err)
			}
		}
		r.End(true)
		passing.End(nil)
		o.Step(sched.StepInfo{Start: start, Took: time.Since(start), Rows: 1, Decode: i > 0})
	}
	if during != nil {
		during()
	}
	r.Close()
	x.Close() // nothing may happen when the observer is closed
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// A timeline has each unit read before it is used, in the order of use, in
// lines without a clock: equal runs write the same bytes.
func TestTimeline(t *testing.T) {
	var texts [2]string
	for i := range texts {
		file := filepath.Join(t.TempDir(), "timeline")
		run(t, observe.Config{Timeline: file}, 3, nil)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	if texts[0] != texts[1] {
		t.Errorf("equal runs differ:\n%s\n%s", texts[0], texts[1])
	}
	var used []string
	read := map[string]int{}
	for line := range strings.Lines(texts[0]) {
		f := strings.Fields(line)
		if f[0] != "RUN" {
			continue
		}
		_, task, _ := strings.Cut(line, "name=")
		verb, name, _ := strings.Cut(strings.Fields(task)[0], ":")
		if verb == "prefetch" {
			read[name]++
			continue
		}
		if read[name]--; read[name] < 0 {
			t.Errorf("%s is used before it is read", name)
		}
		used = append(used, name)
	}
	want := strings.Repeat("blk.0.ffn_up blk.0.ffn_down head ", 3)
	if got := strings.Join(used, " ") + " "; got != want {
		t.Errorf("used: %s\nwant: %s", got, want)
	}
}

// A trace is JSON whose compute slices begin one after another, with each unit
// used within its pass.
func TestTrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.json")
	run(t, observe.Config{Trace: file}, 2, nil)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name, Ph string
		TS, Dur  float64
	}
	if err := json.Unmarshal(b, &events); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	var uses []string
	last := 0.0
	for _, e := range events {
		if e.Ph != "X" {
			continue
		}
		count[e.Name]++
		if strings.HasPrefix(e.Name, "compute:") {
			uses = append(uses, strings.TrimPrefix(e.Name, "compute:"))
			if e.TS < last {
				t.Errorf("%s begins at %g, before the one before it at %g", e.Name, e.TS, last)
			}
			last = e.TS
		}
	}
	if got, want := strings.Join(uses, " "), "blk.0.ffn_up blk.0.ffn_down head blk.0.ffn_up blk.0.ffn_down head"; got != want {
		t.Errorf("used: %s\nwant: %s", got, want)
	}
	if count["prefill"] != 1 || count["decode"] != 1 {
		t.Errorf("passes: %v", count)
	}
	for _, u := range units {
		if count["prefetch:"+u.Name] < 2 {
			t.Errorf("%s is read %d times in 2 passes", u.Name, count["prefetch:"+u.Name])
		}
	}
}

// The metrics are in Prometheus's format, and count uses.
func TestMetrics(t *testing.T) {
	var at net.Addr
	run(t, observe.Config{Metrics: "127.0.0.1:0", Listening: func(a net.Addr) { at = a }}, 4, func() {
		resp, err := http.Get("http://" + at.String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		p := expfmt.NewTextParser(model.UTF8Validation)
		families, err := p.TextToMetricFamilies(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		uses := 0.0
		for _, m := range families["atenia_prefetch_total"].GetMetric() {
			uses += m.GetCounter().GetValue()
		}
		if uses != float64(4*len(units)) {
			t.Errorf("%g uses are counted, want %d", uses, 4*len(units))
		}
		for _, name := range []string{"atenia_tier_bytes", "atenia_overlap_ratio", "atenia_move_bytes_total", "atenia_plan_error_ratio"} {
			if f := families[name]; f == nil || f.GetHelp() == "" {
				t.Errorf("%s has no help", name)
			}
		}
	})
	if _, err := http.Get("http://" + at.String() + "/metrics"); err == nil {
		t.Error("metrics are served after Close")
	}
}

// The next run extends what was learned.
func TestLearning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "learned")
	var texts [2]string
	for i := range texts {
		run(t, observe.Config{Learning: file}, 3, nil)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	if texts[0] == "" || texts[1] == "" || texts[0] == texts[1] {
		t.Errorf("after each run the file is %q", texts)
	}
}

// An empty Config makes no observer, and a nil observer may be used and closed.
func TestNothing(t *testing.T) {
	o, err := observe.Open(t.Context(), observe.Config{Listening: func(net.Addr) { t.Error("something listens") }})
	if o != nil || err != nil {
		t.Fatalf("%v, %v", o, err)
	}
	if l := o.Listeners(); len(l) > 0 {
		t.Errorf("%d listeners", len(l))
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// An error names the field, its value and the accepted values, and all files are
// closed.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte("not what was learned\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	nowhere := filepath.Join(dir, "no", "such", "folder")
	for field, c := range map[string]observe.Config{
		"Trace":    {Trace: nowhere},
		"Timeline": {Trace: filepath.Join(dir, "t.json"), Timeline: nowhere},
		"Metrics":  {Timeline: filepath.Join(dir, "t.txt"), Metrics: taken.Addr().String()},
		"Learning": {Learning: nowhere},
	} {
		o, err := observe.Open(t.Context(), c)
		f, ok := errors.AsType[*observe.Fault](err)
		if o != nil || !ok || f.Field != field || f.Value == "" || f.Err == nil {
			t.Errorf("%s: %v, %v", field, o, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, field) || !strings.Contains(text, f.Value) || !strings.Contains(text, f.Want) {
			t.Errorf("%s: %s", field, text)
		}
	}
	o, err := observe.Open(t.Context(), observe.Config{Learning: foreign})
	if f, ok := errors.AsType[*observe.Fault](err); !ok || f.Field != "Learning" || f.Value != foreign {
		t.Errorf("a file of something else: %v, %v", o, err)
	}
	if b, err := os.ReadFile(foreign); err != nil || string(b) != "not what was learned\n" {
		t.Errorf("the file is %q, %v", b, err)
	}
}
