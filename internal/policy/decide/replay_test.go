package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/internal/machine/hw"
	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/memory/place"
	"atenia/internal/policy/record"

	"atenia/internal/memory/lane"
	"atenia/internal/memory/memorytest"
)

// A logger is a listener that keeps lines.
type logger struct {
	bytes.Buffer
	t    testing.TB
	last *record.Record
}

func (l *logger) Decided(r *record.Record) {
	line, err := r.AppendLine(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Write(append(line, '\n'))
	last := *r
	l.last = &last
}

// endOf is the end mark of a log whose last record is r, as a line.
func endOf(r *record.Record) string { return string(record.EndAfter(r).AppendLine(nil)) + "\n" }

func ptr[T any](v T) *T { return &v }

// log records some decisions of every component.
func log(t testing.TB, rounds int) string {
	out := &logger{t: t}
	now := int64(1000)
	r := &Recorder{Journal: record.NewJournal(record.Config{
		Listeners: []record.Listener{out}, Now: func() int64 { now++; return now },
	})}
	rng := rand.New(rand.NewPCG(1, 2))
	pressure := func() *float32 {
		return []*float32{nil, ptr(float32(math.NaN())), ptr(float32(0.97)), ptr(float32(0.2)), ptr(rng.Float32())}[rng.IntN(5)]
	}
	m, o := memory.New(memory.Config{}), memory.NewOffload(memory.OffloadConfig{VRAMHigh: .9, VRAMLow: .8, RAMHigh: .9, RAMLow: .8, Cooldown: 2, MaxActions: 2, Promote: true})
	for i, at := range []memory.Tier{memory.RAM, memory.RAM, memory.VRAM, memory.SSD} {
		if err := m.Register(fmt.Sprint("t", i), uint64(100*i), at); err != nil {
			t.Fatal(err)
		}
	}
	loop := NewLoop(LoopConfig{Cooldown: 2})
	policy, _ := newPolicy(policyConfig{})
	picker, _ := newPicker(PickConfig{First: 2, Every: 4, Share: 1}, "", nil)
	threads := picker.At(Place{Model: "m", Class: "decode"}, PickConfig{}, []Option{{Name: "4"}, {Name: "3"}, {Name: "2"}})
	for round := range rounds {
		s := hw.Snapshot{Pressure: hw.Pressure{VRAM: pressure(), RAM: pressure()}}
		if rng.IntN(3) > 0 {
			s.GPUs = []hw.GPU{{ID: "gpu1", ComputeScore: ptr(float32(2))}, {ID: "gpu0"}}
			s.Reliability = map[string]hw.Reliability{"gpu1": {OK: 3, Fail: 1, LastErrorEpochMS: ptr(uint64(7))}, "gpu9": {}}
		}
		ts := memory.Snapshot{VRAM: memory.Status{Pressure: pressure()}, RAM: memory.Status{Pressure: pressure()}}
		r.Place(memory.TensorProfile{Name: "w", Elements: rng.Uint64N(1 << 31), ElementBytes: 2, Cost: pressure()}, &s, rng.IntN(2) == 0)
		r.Target(Kernel{Name: "k", Kind: KernelKind(rng.IntN(4))}, []memory.Tier{memory.RAM}, ts, Executors{GPU: rng.IntN(2) == 0})
		r.Bind(Bound{To: memory.Tier(rng.IntN(4)), Because: "x", At: memory.Tier(rng.IntN(3)), Rule: "fits", Tensors: 2, Bytes: 3, Executors: Executors{Idle: []string{"", "cuda:0 has 1.0 GiB free; nothing computes there"}[rng.IntN(2)]}})
		routeKernel(t, r, ts, rng)
		r.Backward(&BackwardNode{ID: 3, Forward: Target(rng.IntN(3)), Inputs: []Gradient{{ID: "g", Tier: memory.Tier(rng.IntN(2))}}}, rng.IntN(3) > 0)
		p := r.Offload(o, ts, []string{"t0", "t1", "t2", "t3", "t9", "t0"}, m)
		for _, a := range p.Actions {
			if err := m.Register(a.ID, 100, a.To); err != nil {
				t.Fatal(err)
			}
		}
		c := Context{GPU: rng.IntN(4) > 0, VRAM: 0.3, RAM: 0.8}
		r.Recommend(loop.Trainer(), c.Bucket())
		if round >= 10 { // the log of testdata is older than such choices
			pick(&threads, r)
			traced(t, r, rng)
		}
		r.Loop(loop, Tick{Context: c, Planned: []checkpoint.Decision{{Reason: []string{"gpu", ""}[rng.IntN(2)]}}, Result: Result{OK: true, Score: int32(rng.IntN(9))}})
		choice := r.Choose(policy, c, "decode")
		if err := policy.Observe(Episode{Context: c, Class: "decode", Backend: choice.Backend, Latency: time.Duration(1 + rng.IntN(1e9))}); err != nil {
			t.Fatal(err)
		}
		r.Tick++
	}
	warm(r, m)
	in := place.Input{RAM: 64 << 20, Reserves: []place.Reserve{{Name: "act", Bytes: 1 << 20}}, Rates: place.Rates{SSD: 1e9, RAM: 1e10, FLOPS: 1e11}, FLOP: 1e9}
	for i := range 6 {
		in.Tensors = append(in.Tensors, place.Tensor{Name: fmt.Sprint("blk.", i), Bytes: 20 << 20, Uses: 1, Unit: i})
	}
	in.Pins = append(in.Pins, must(place.ParsePin(`blk\.3=ram`)))
	plan, err := r.Budget(in)
	if err != nil {
		t.Fatal(err)
	}
	file := plan.File()
	file.Tensors[5].Tier = memory.SSD
	if _, err := r.Reload(in, file); err != nil {
		t.Fatal(err)
	}
	in.RAM = 1 << 20
	if _, err := r.Budget(in); err == nil {
		t.Fatal("a plan below the floor")
	}
	graph := &RouteGraph{}
	graph.AddTensors(Kernel{Name: "a"}, []string{"t0", "t3"}, []memory.Tier{memory.RAM, memory.SSD})
	graph.AddTensors(Kernel{Name: "b", Kind: small}, []string{"t2"}, []memory.Tier{memory.VRAM})
	full := memory.Snapshot{RAM: memory.Status{Pressure: ptr(float32(0.97))}}
	r.Graph(graph, m, full, Executors{GPU: true})
	r.OffloadNow(o, full, []string{"t0", "t1", "t2", "t3"}, m)
	return out.String() + endOf(out.last)
}

// warm records the advice of a warm start under either set of rules.
func warm(r *Recorder, m *memory.Manager) {
	var entries []checkpoint.Entry
	for i, want := range []*memory.Tier{nil, ptr(memory.VRAM), ptr(memory.VRAM), ptr(memory.RAM), ptr(memory.SSD)} {
		entries = append(entries, checkpoint.Entry{ID: fmt.Sprint("w", i), Tier: memory.SSD, Hint: memory.Hint{Desired: want}})
	}
	m.SetHint("w4", memory.Hint{Desired: ptr(memory.RAM)})
	reports := []checkpoint.Report{{ID: "w2", Drifts: []checkpoint.Drift{
		{Kind: checkpoint.MissingBackend}, {Kind: checkpoint.TierDowngrade, Desired: memory.VRAM, Restored: memory.RAM, Cause: checkpoint.SafeRestorePolicy},
	}}}
	r.WarmStart(m, entries, reports, true, checkpoint.SeedRules)
	r.WarmStart(m, entries, reports, true, checkpoint.DefaultRules)
}

// pick records a choice among numbers of threads, of which the fewest are the
// fastest.
func pick(h *Handle, r *Recorder) {
	r.Picked(h.Pick())
	option := h.Follow(h.Pick().Decide())
	h.Observe(option, map[string]float64{"4": 4, "3": 3, "2": 2}[option], true)
}

// routeKernel records the route of a kernel, of which a tensor may fail to move.
func routeKernel(t testing.TB, r *Recorder, s memory.Snapshot, rng *rand.Rand) {
	v := &memorytest.FakeVRAM{Fail: func(_ memorytest.Call, id string) error {
		if id == "b" {
			return errors.New("b is broken")
		}
		return nil
	}}
	v.SetAvailable(rng.IntN(3) > 0)
	m := memory.New(memory.Config{Adapter: v})
	for i, id := range []string{"a", "b", "c"}[:rng.IntN(4)] {
		if _, err := m.RegisterData(id, []byte{1, byte(i)}, memory.RAM); err != nil {
			t.Fatal(err)
		}
	}
	gpu := rng.IntN(4) > 0
	q := r.Watch(lane.NewTimeline(0, new(lane.Lines)), s, Executors{GPU: gpu})
	if _, err := RouteTensors(t.Context(), q, m, Kernel{Name: "mm"}, []string{"a", "b", "c", "a"}, s, Executors{GPU: gpu}); err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// first joins the first n lines, or all.
func first(lines []string, n int) string {
	return strings.TrimSuffix(strings.Join(lines[:min(n, len(lines))], ""), "\n") + "\n"
}

// after returns a checker that has read good lines, as [CheckLog] would have at the one
// that follows them. What is altered there is found without reading them again.
func after(t *testing.T, lines []string) checker {
	t.Helper()
	c := checker{list: components(), history: history{results: map[uint64]any{}}}
	if r, err := run(strings.NewReader(strings.Join(lines, "")), c.check); err != nil || len(r.Differences) > 0 || r.Records != len(lines) {
		t.Fatalf("%v: %+v", err, r)
	}
	return c
}

// then checks the lines that follow. The checker stays where it is.
func (c checker) then(log string) (*ReplayReport, error) {
	c.history.results = maps.Clone(c.history.results)
	return run(strings.NewReader(log), c.check)
}

// noticed reports whether a check finds anything, except that the end is missing.
func noticed(log string) bool {
	r, err := CheckLog(strings.NewReader(log))
	return err != nil || len(r.Differences) > 0
}

func TestCheck(t *testing.T) {
	text := log(t, 50)
	r, err := CheckLog(strings.NewReader(text))
	if err != nil || len(r.Differences) > 0 || r.Records != strings.Count(text, "\n")-1 || r.Cut != nil {
		t.Fatalf("%v, %d records, differences %+v", err, r.Records, r.Differences)
	}
	for _, c := range components() {
		if !strings.Contains(text, `"component":"`+c.name+`"`) {
			t.Errorf("the log has nothing of %s", c.name)
		}
	}
	rules := map[string]bool{}
	for l := range record.Read(strings.NewReader(text)) {
		rules[l.Component+" "+l.Rule] = true
	}
	if len(rules) < 20 {
		t.Errorf("only %d rules decided anything", len(rules))
	}
	r, err = CheckLog(strings.NewReader(text[:len(text)-10]))
	if err != nil || len(r.Differences) > 0 || !errors.Is(r.Cut, record.ErrCut) {
		t.Errorf("cut: %v, %+v", err, r)
	}
	if _, err := CheckLog(strings.NewReader("{}\n")); !errors.Is(err, record.ErrForeign) {
		t.Errorf("no record: %v", err)
	}
}

var update = flag.Bool("update", false, "rewrite testdata")

// The format of a log is that of the file, byte for byte.
func TestLogFile(t *testing.T) {
	const file = "testdata/log.jsonl"
	got := log(t, 1)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%v: rerun with -update and look at the difference; got\n%s", err, got)
	}
}

// scalars returns where the scalars of JSON text begin and end.
func scalars(t *testing.T, text string) (out [][2]int) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if err != nil {
			return out
		}
		if _, ok := tok.(json.Delim); ok {
			continue
		}
		end := int(d.InputOffset())
		begin := end - 1
		for begin > 0 && !strings.ContainsRune(`{[,:`, rune(text[begin-1])) || inString(text[:begin]) {
			begin--
		}
		out = append(out, [2]int{begin, end})
	}
}

func inString(s string) bool { return strings.Count(strings.ReplaceAll(s, `\"`, ""), `"`)%2 == 1 }

// other returns a scalar that is not s.
func other(s string) string {
	switch {
	case s == "true":
		return "false"
	case s == "false":
		return "true"
	case s == "null":
		return "0"
	case s[0] == '"':
		return s[:len(s)-1] + `x"`
	case strings.ContainsAny(s, ".e"):
		return s + "1"
	}
	return s + "1"
}

// Every scalar of every field, inputs and outcomes alike, is altered in turn;
// then again with a matching hash, which the parent of the next record reveals.
func TestAltered(t *testing.T) {
	t.Parallel()
	text := log(t, 1)
	if noticed(text) {
		t.Fatal("not a good log")
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	count := 0
	for i, line := range lines {
		seen := func(altered []string) bool { return noticed(first(altered, len(altered))) }
		if i < len(lines)-1 { // the end is that of all records
			c := after(t, lines[:i])
			seen = func(altered []string) bool {
				r, err := c.then(first(altered[i:], 2))
				return err != nil || len(r.Differences) > 0
			}
		}
		for _, s := range scalars(t, line) {
			if strings.HasSuffix(line[:s[0]], `"t_ns":`) || line[s[1]] == ':' && line[s[1]-1] == '"' { // a key, too, but the clock's
				if strings.HasPrefix(line[s[0]:], `"t_ns"`) || strings.HasSuffix(line[:s[0]], `"t_ns":`) {
					continue
				}
			}
			altered := slices.Clone(lines)
			altered[i] = line[:s[0]] + other(line[s[0]:s[1]]) + line[s[1]:]
			count++
			if !seen(altered) {
				t.Errorf("nothing noticed: %s", altered[i])
			}
			r, err := record.Parse([]byte(altered[i]))
			if err != nil || i == len(lines)-1 {
				continue
			}
			forged := must(record.Make(&record.Draft{
				Tick: r.Tick, Component: r.Component, Rule: r.Rule, Evaluated: r.Evaluated, Target: r.Target, Device: r.Device, Reason: r.Reason, Inputs: r.Inputs,
			}, r.Seq, r.Parent, r.TNS))
			forged.ConfigHash = r.ConfigHash
			altered[i] = string(must(forged.AppendLine(nil))) + "\n"
			if altered[i] != line && !seen(altered) {
				t.Errorf("forged, nothing noticed: %s", altered[i])
			}
		}
		if i < len(lines)-1 && !noticed(first(slices.Delete(slices.Clone(lines), i, i+1), len(lines))) {
			t.Errorf("line %d was removed: nothing noticed", i+1)
		}
	}
	if count < 300 {
		t.Errorf("only %d alterations", count)
	}
}

// Every byte but those of the clock matters.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	lines := slices.Collect(strings.Lines(log(t, 1)))
	for at, line := range lines {
		check := func(line string) (*ReplayReport, error) {
			return CheckLog(strings.NewReader(strings.Join(lines[:at], "") + line))
		}
		if r, err := record.Parse([]byte(strings.TrimSuffix(line, "\n"))); err == nil { // not the end, which is that of all records
			c, end := after(t, lines[:at]), endOf(&r)
			check = func(line string) (*ReplayReport, error) { return c.then(line + end) }
		}
		for i := 0; i < len(line); i += 13 {
			if strings.Contains(line[:i], `"t_ns":`) && line[i] != '}' && line[i] != '\n' {
				continue
			}
			b := []byte(line)
			b[i] ^= 1
			r, err := check(string(b))
			if err == nil && len(r.Differences) == 0 && r.Cut == nil {
				t.Fatalf("byte %d of %q: nothing noticed", i, line)
			}
		}
	}
}

func TestWhatIf(t *testing.T) {
	text := log(t, 20)
	count := func(policy string) map[string]int {
		r, err := WhatIf(strings.NewReader(text), policy)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for _, d := range r.Differences {
			if d.Fields[0].Name == "error" {
				t.Errorf("%s: %+v", policy, d)
			}
			n[d.Component]++
		}
		return n
	}
	for _, p := range Policies() {
		if len(count(p[0])) == 0 {
			t.Errorf("policy %s changes nothing", p[0])
		}
	}
	if n := count("budget.ram=200000000"); n["budget"] < 2 || n["budget_tensor"] < 5 /* one is pinned */ || len(n) != 2 {
		t.Errorf("more RAM: %v", n)
	}
	if n := count("planner.kernel.name=x"); len(n) != 0 {
		t.Errorf("another name: %v", n)
	}
	if n := count("planner.kernel.kind=Small autoloop.last=\"Gpu\""); n["planner"] == 0 || n["autoloop"] == 0 || len(n) != 2 {
		t.Errorf("two changes: %v", n)
	}
	for _, bad := range []string{"", "x", "x.y=1", "budget=1", "budget.ram"} {
		if _, err := WhatIf(strings.NewReader(text), bad); !errors.Is(err, ErrPolicy) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	r, err := WhatIf(strings.NewReader(text), "offload.x.y=1")
	if err != nil || len(r.Differences) == 0 || r.Differences[0].Fields[0].Name != "error" {
		t.Errorf("no such input: %v, %+v", err, r)
	}
}

// A recorder without a journal decides the same.
func TestNoJournal(t *testing.T) {
	var r Recorder
	got := r.Place(memory.TensorProfile{Elements: 1, ElementBytes: 4}, new(hw.Snapshot), false)
	if want := memory.Decide(memory.TensorProfile{Elements: 1, ElementBytes: 4}, hw.Snapshot{}, false); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if r.Journal.Len() != 0 {
		t.Error("recorded somewhere")
	}
}

func FuzzCheck(f *testing.F) {
	whole := log(f, 1)
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)-1]))
	f.Add([]byte(whole + endOf(nil)))
	f.Add([]byte(endOf(nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = CheckLog(bytes.NewReader(data))
		_, _ = WhatIf(bytes.NewReader(data), "no-gpu")
	})
}

// traced records a backward pass whose gradients are anywhere and whose moves may fail.
func traced(t testing.TB, r *Recorder, rng *rand.Rand) {
	t.Helper()
	device := &memorytest.FakeVRAM{}
	if rng.IntN(2) == 0 {
		device.Fail = memorytest.Refuse(map[memorytest.Call][]string{memorytest.Upload: {"g1"}})
	}
	n := BackwardNode{ID: rng.Uint64N(9), Forward: Target(rng.IntN(3)), Reason: []string{"", "r"}[rng.IntN(2)]}
	at := tiers{}
	for _, id := range []string{"g0", "g1", "g2"} {
		if rng.IntN(4) > 0 { // others are unknown to the manager
			at[id] = []memory.Tier{memory.RAM, memory.SSD}[rng.IntN(2)]
		}
		n.Inputs = append(n.Inputs, Gradient{id, memory.VRAM})
	}
	n.Outputs = n.Inputs[:1] // one is met twice
	_, err := r.ExecuteBackward(t.Context(), lane.NewTimeline(lane.TakeTurns, nil), manager(t.(*testing.T), device, nil, at), []BackwardNode{n}, rng.IntN(3) > 0)
	if err != nil {
		t.Fatal(err)
	}
}
