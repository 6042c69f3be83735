package atenia_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/machine/cpu"
	"atenia/internal/policy/decide"
	"atenia/place"
)

// observed runs a golden model that does not fit its budget, and returns it
// closed.
func observed(t *testing.T, o atenia.Observation, during func()) *atenia.Model {
	t.Helper()
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	cfg := &atenia.Config{BatchTokens: 4, Slots: 1, Context: 32, Threads: 1, Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}}}
	cfg.Budget.Reserve.Runtime = 1 << 16
	p, err := atenia.OpenPlan(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Place()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Budget.RAM = 1 << 17
	if p, err = atenia.OpenPlan(path, cfg); err != nil {
		t.Fatal(err)
	}
	_, err = p.Place()
	floor, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatal(err)
	}
	cfg.Budget.RAM = (floor.Floor + all.RAM()) / 2
	cfg.Observe = o
	m, err := atenia.Open(t.Context(), path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.EachLogits(t.Context(), []int32{1, 2, 3, 4, 5, 6}, atenia.LogitsOptions{Step: 3}, func(int, []float32) {}); err != nil {
		t.Fatal(err)
	}
	if during != nil {
		during()
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if m.Streaming().Read == 0 {
		t.Fatal("nothing was streamed")
	}
	return m
}

// A trace is valid, what happens within a pass lies within its slice, and reads
// have the bytes that were counted.
func TestTrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.json")
	m := observed(t, atenia.Observation{Trace: file}, nil)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name, Ph string
		TID      int
		TS, Dur  float64
		Args     struct {
			Name   string
			Tensor string
			Bytes  int64
		}
	}
	if err := json.Unmarshal(b, &events); err != nil {
		t.Fatal(err)
	}
	tracks := map[int]string{}
	type slice struct{ from, to float64 }
	var passes, inner []slice
	var read int64
	arrows := map[string]int{}
	last := map[int]slice{}
	for _, e := range events {
		x := slice{e.TS, e.TS + e.Dur}
		switch {
		case e.Ph == "M":
			tracks[e.TID] = e.Args.Name
		case e.Ph != "X":
			arrows[e.Ph]++
		case strings.HasPrefix(tracks[e.TID], "SsdPrefetch"):
			if strings.HasPrefix(e.Name, "prefetch:") { // weights that stay are pinned
				read += e.Args.Bytes
			}
			if x.from < last[e.TID].to-.002 {
				t.Errorf("%s begins at %g, within another read of %s", e.Name, x.from, tracks[e.TID])
			}
			last[e.TID] = x
		case e.Name == "prefill" || e.Name == "decode":
			passes = append(passes, x)
		default:
			inner = append(inner, x)
		}
	}
	if want := m.Streaming().Read; read != want {
		t.Errorf("%d bytes are read in the trace, %d were", read, want)
	}
	if len(passes) != 4 || arrows["s"] == 0 || arrows["s"] != arrows["f"] || arrows["C"] == 0 {
		t.Errorf("%d passes, %v", len(passes), arrows)
	}
	for _, x := range inner {
		within := 0
		for _, p := range passes {
			if p.from-.002 <= x.from && x.to <= p.to+.002 {
				within++
			}
		}
		if within != 1 {
			t.Errorf("%+v lies in %d passes", x, within)
		}
	}
	if len(inner) == 0 {
		t.Error("no unit was used")
	}
}

// A trace counts the instructions of every step and of all, which are those whose outputs
// the caller sees.
func TestTraceCounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.json")
	m, err := atenia.Open(t.Context(), filepath.Join(golden.Family(t, "parity"), "llama3"), &atenia.Config{Context: 32, Threads: 2, Observe: atenia.Observation{Trace: file}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := map[int]float64{}
	o := atenia.LogitsOptions{Step: 3, Trace: func(o atenia.TracedOutput) {
		if o.Output == 0 {
			want[o.Step]++
		}
	}}
	if err := m.EachLogits(t.Context(), []int32{1, 2, 3, 4, 5, 6}, o, func(int, []float32) {}); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name, Ph string
		Args     struct{ Step, Total float64 }
	}
	if err := json.Unmarshal(b, &events); err != nil {
		t.Fatal(err)
	}
	steps, total := map[string]int{}, map[string]float64{}
	for _, e := range events {
		if e.Name != "dispatches" && e.Name != "launches" {
			continue
		}
		total[e.Name] += e.Args.Step
		if e.Ph != "C" || e.Args.Step <= 0 || e.Args.Total != total[e.Name] || e.Name == "dispatches" && e.Args.Step != want[steps[e.Name]] {
			t.Errorf("step %d: %+v, want %g", steps[e.Name], e, want[steps[e.Name]])
		}
		steps[e.Name]++
	}
	if len(want) != 4 || steps["dispatches"] != 4 || steps["launches"] != 4 {
		t.Errorf("%v of %d steps", steps, len(want))
	}
}

// Equal runs write equal timelines, in which a unit is read before it is used.
func TestTimeline(t *testing.T) {
	var texts []string
	for i := range 2 {
		file := filepath.Join(t.TempDir(), fmt.Sprint(i))
		observed(t, atenia.Observation{Timeline: file}, nil)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	if texts[0] != texts[1] {
		t.Errorf("two timelines:\n%s\n%s", texts[0], texts[1])
	}
	read, used := map[string]int{}, 0
	for line := range strings.Lines(texts[0]) {
		f := strings.Fields(line)
		if f[0] != "RUN" {
			continue
		}
		verb, name, _ := strings.Cut(strings.TrimPrefix(f[4], "name="), ":")
		if read[name]++; verb == "compute" {
			used++
			if read[name] -= 2; read[name] != 0 {
				t.Errorf("read %d times too often before %s", read[name], line)
			}
		}
	}
	if used == 0 {
		t.Errorf("nothing is used in\n%s", texts[0])
	}
}

// Metrics are served while the model is open, with what was decided, read and
// used so far.
func TestMetrics(t *testing.T) {
	var at net.Addr
	var text string
	observed(t, atenia.Observation{Metrics: "127.0.0.1:0", Listening: func(a net.Addr) { at = a }}, func() {
		r, err := http.Get("http://" + at.String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	})
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		var v float64
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, ' '); at > 0 && line[0] != '#' {
			name, value := line[:at], line[at+1:]
			if _, err := fmt.Sscan(value, &v); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			values[name] = v
		}
	}
	for _, name := range []string{
		`atenia_tier_bytes{state="used",tier="ram"}`, `atenia_tier_bytes{state="reserved",tier="ram"}`, `atenia_tier_bytes{state="budget",tier="ram"}`,
		`atenia_tier_bytes{state="used",tier="ssd"}`, `atenia_move_bytes_total{from="ssd",to="ram"}`, `atenia_move_seconds_count`,
		`atenia_decisions_total{component="budget",rule="ssd"}`,
		`atenia_dispatches_total`, `atenia_launches_total`, `atenia_step_dispatches`, `atenia_step_launches`,
	} {
		if values[name] <= 0 {
			t.Errorf("%s is %g in\n%s", name, values[name], text)
		}
	}
	for _, name := range []string{`atenia_overlap_ratio`, `atenia_plan_error_ratio`, `atenia_trainer_regret`, `atenia_cache_corrupt_total`, `atenia_ssd_written_bytes_total`} {
		if _, ok := values[name]; !ok {
			t.Errorf("no %s in\n%s", name, text)
		}
	}
	if n := values[`atenia_prefetch_total{result="hit"}`] + values[`atenia_prefetch_total{result="late"}`]; n == 0 {
		t.Error("no prefetch was counted")
	}
	if _, err := http.Get("http://" + at.String() + "/metrics"); err == nil {
		t.Error("a closed model serves metrics")
	}
}

// What is learned adds up from run to run, and can be explained.
func TestLearning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "learning")
	for run := range 2 {
		observed(t, atenia.Observation{Learning: file}, nil)
		trainer, r := decide.Load(file)
		if r.Status != decide.StatusOK {
			t.Fatalf("%+v", r)
		}
		var n uint32
		for _, b := range trainer.Buckets() {
			s, _ := trainer.Stats(b, decide.CPU)
			n += s.Count
		}
		if want := uint32(3 * (run + 1)); n != want { // tokens that were decoded
			t.Errorf("%d episodes after run %d, want %d", n, run, want)
		}
	}
	e, err := atenia.Explain(file)
	if err != nil || len(e.Buckets) == 0 || !e.Buckets[0].Learned {
		t.Errorf("%+v, %v", e, err)
	}
}

// What cannot be written or served is an error before the model is looked for.
func TestObserveRefused(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for field, o := range map[string]atenia.Observation{
		"Trace":    {Trace: filepath.Join(dir, "no", "t.json")},
		"Timeline": {Timeline: dir},
		"Metrics":  {Metrics: "nowhere"},
		"Learning": {Learning: filepath.Join(dir, "no", "learning")},
	} {
		_, err := atenia.Open(t.Context(), filepath.Join(dir, "none.gguf"), &atenia.Config{Observe: o})
		if e, ok := errors.AsType[*atenia.ConfigError](err); !ok || e.Field != "Observe."+field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := atenia.Open(t.Context(), "", &atenia.Config{Observe: atenia.Observation{Learning: foreign}})
	if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
		t.Errorf("a file of another kind: %v", err)
	}
}

// Without a budget passes are observed, too.
func TestObserveMapped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.log")
	m, err := atenia.Open(t.Context(), "", &atenia.Config{Strict: true, Observe: atenia.Observation{Timeline: file}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.EachLogits(t.Context(), []int32{1, 2, 3}, atenia.LogitsOptions{}, func(int, []float32) {}); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	const want = "ENQUEUE stream=Cpu id=1 kind=Compute name=compute:prefill cost=3\nRUN stream=Cpu id=1 kind=Compute name=compute:prefill cost=3\n"
	if err != nil || string(b) != want {
		t.Errorf("%v\n%s", err, b)
	}
}

// A strict model that had more memory than its budget fails when it is closed.
func TestStrict(t *testing.T) {
	cfg := &atenia.Config{Strict: true, BatchTokens: 4, Slots: 1, Context: 32}
	cfg.Budget.RAM, cfg.Budget.Reserve.Runtime = 3<<20, 1
	m, err := atenia.Open(t.Context(), filepath.Join(golden.Family(t, "parity"), "llama3"), cfg)
	if errors.Is(err, atenia.ErrStrict) {
		return // no direct reads here, which is the other thing to refuse
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); !errors.Is(err, atenia.ErrStrict) && cpu.PeakResident() > 0 {
		t.Errorf("a process of %d bytes: %v", cpu.PeakResident(), err)
	}
}
