package train

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/store/faultfs"
	"atenia/internal/train/data"
)

func testConfig(dir string) Config {
	return Config{
		Rule: grad.AdamW{Decay: 0.01}, Rate: 0.05, Clip: 1, Schedule: grad.Schedule{Warmup: 5}, Steps: 40, Accumulate: 2,
		EvalEvery: 10, EvalBatches: 3, SnapshotEvery: 7, Dir: dir, FS: faultfs.NoSync(),
	}
}

func trainStart(t *testing.T, cfg Config, l Learner) (*Result, error) {
	t.Helper()
	return Run(t.Context(), cfg, l, &stream{seed: 1, rows: 3}, &stream{seed: 2, rows: 5})
}

func finish(t *testing.T, cfg Config, l Learner) *Result {
	t.Helper()
	res, err := trainStart(t, cfg, l)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// bits are all parameters' bytes.
func bits(l Learner) []byte {
	var b bytes.Buffer
	for _, p := range l.Params() {
		binary.Write(&b, binary.LittleEndian, p.Value)
	}
	return b.Bytes()
}

func metrics(t *testing.T, dir string) []Metric {
	t.Helper()
	ms, err := ReadMetrics(nil, filepath.Join(dir, MetricsFile), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ms {
		ms[i].Seconds = 0
		if ms[i].Step != i+1 {
			t.Fatalf("line %d is of step %d", i, ms[i].Step)
		}
	}
	return ms
}

func sameMetrics(t *testing.T, got, want []Metric) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if (g.Eval == nil) != (w.Eval == nil) || g.Eval != nil && *g.Eval != *w.Eval {
			t.Fatalf("step %d: evaluations differ", i+1)
		}
		if g.Eval, w.Eval = nil, nil; g != w {
			t.Fatalf("%+v, want %+v", g, w)
		}
	}
}

func TestLearns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := keeper{newBigram()}
	res := finish(t, testConfig(dir), m)
	ms := metrics(t, dir)
	// A token decides the next three times in four: 0.25 of ln 11 and more.
	if first, last := ms[0].Loss, *ms[39].Eval; first < 2.3 || last > 1.6 || res.Best == nil || *res.Best != last {
		t.Errorf("the loss went from %v to %v, best %v", first, last, *res.Best)
	}
	if res.Steps != 40 || res.Tokens != 40*2*3*12 || res.Early || res.Skipped != 0 {
		t.Errorf("%+v", res)
	}
	for i, want := range map[int]float64{0: 0.01, 4: 0.05, 5: 0.05} {
		if math.Abs(ms[i].Rate-want) > 1e-15 {
			t.Errorf("step %d has rate %v, want %v", i+1, ms[i].Rate, want)
		}
	}
	if again := (keeper{newBigram()}); !bytes.Equal(bits(m), func() []byte { finish(t, testConfig(t.TempDir()), again); return bits(again) }()) {
		t.Error("two runs differ")
	}
	if names, _ := os.ReadDir(filepath.Join(dir, snapshotFolder)); len(names) != 2 {
		t.Errorf("%d snapshots are kept", len(names))
	}
}

// Several batches of a step add up to the gradient of their common mean, also
// if they count differently many positions.
func TestAccumulation(t *testing.T) {
	t.Parallel()
	var whole data.Batch
	parts := make([]data.Batch, 3)
	s := &stream{seed: 9, rows: 2}
	for i := range parts {
		if err := s.Next(&parts[i]); err != nil {
			t.Fatal(err)
		}
		for k := range i * 5 {
			parts[i].Labels[k] = data.Ignored
		}
		whole.Tokens = append(whole.Tokens, parts[i].Tokens...)
		whole.Labels = append(whole.Labels, parts[i].Labels...)
		whole.Lens = append(whole.Lens, parts[i].Lens...)
	}
	cfg := testConfig(t.TempDir())
	cfg.Steps, cfg.Accumulate, cfg.EvalEvery, cfg.Clip = 1, 3, 0, 0
	cfg.Schedule = grad.Schedule{}
	cfg.Rule = grad.SGD{} // the first step of AdamW has little but signs
	m := newBigram()
	got, err := Run(t.Context(), cfg, m, &list{batches: parts}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dir, cfg.Accumulate = t.TempDir(), 1
	want := newBigram()
	once, err := Run(t.Context(), cfg, want, &list{batches: []data.Batch{whole}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Loss-once.Loss) > 1e-6 {
		t.Errorf("the loss is %v, want %v", got.Loss, once.Loss)
	}
	for i, p := range m.params {
		for k, x := range p.Value {
			if math.Abs(float64(x-want.params[i].Value[k])) > 1e-7 {
				t.Fatalf("%s[%d] is %v, want %v", p.Name, k, x, want.params[i].Value[k])
			}
		}
	}
}

// The norm of all gradients is limited: so far does a plain step go.
func TestClip(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.Rule, cfg.Rate, cfg.Clip, cfg.Steps, cfg.Accumulate, cfg.EvalEvery = grad.SGD{}, 0.5, 1e-3, 1, 1, 0
	cfg.Schedule = grad.Schedule{}
	m, before := newBigram(), newBigram()
	finish(t, cfg, m)
	far := 0.0
	for i, p := range m.params {
		for k, x := range p.Value {
			d := float64(x) - float64(before.params[i].Value[k])
			far += d * d
		}
	}
	if want := cfg.Rate * cfg.Clip; math.Abs(math.Sqrt(far)-want) > want/100 {
		t.Errorf("the step went %v far, want %v", math.Sqrt(far), want)
	}
}

// A list is a source of given batches.
type list struct {
	batches []data.Batch
	at      int
}

func (l *list) Next(b *data.Batch) error {
	*b = l.batches[l.at%len(l.batches)]
	l.at++
	return nil
}
func (l *list) Cursor() string    { return "" }
func (l *list) Seek(string) error { l.at = 0; return nil }

// The held-out loss is the mean over all counted positions, however many of them each
// batch has, and how many others.
func TestHeldOut(t *testing.T) {
	t.Parallel()
	var whole data.Batch
	parts := make([]data.Batch, 3) // the last has no counted position
	s := &stream{seed: 9, rows: 1}
	for i := range parts {
		if err := s.Next(&parts[i]); err != nil {
			t.Fatal(err)
		}
		for k := range []int{1, 10, 12}[i] {
			parts[i].Labels[k] = data.Ignored
		}
		whole.Tokens = append(whole.Tokens, parts[i].Tokens...)
		whole.Labels = append(whole.Labels, parts[i].Labels...)
	}
	cfg := testConfig(t.TempDir())
	cfg.Steps, cfg.EvalEvery, cfg.Schedule = 1, 1, grad.Schedule{}
	m := newBigram()
	res, err := Run(t.Context(), cfg, m, &stream{seed: 1, rows: 3}, &list{batches: parts})
	if err != nil || res.Best == nil {
		t.Fatal(res, err)
	}
	if want, err := m.Loss(&whole); err != nil || math.Abs(*res.Best-want) > 1e-9 {
		t.Errorf("the held-out loss is %v, want %v: %v", *res.Best, want, err)
	}
}

// A run that is stopped, by its context or by a file system that fails at any
// call, and resumed is the run that was not stopped.
func TestResume(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Config)
		faults []faultfs.Fault
	}{
		"float32": {func(*Config) {}, []faultfs.Fault{faultfs.Fail, faultfs.Stop}},
		"bf16":    {func(c *Config) { c.BF16 = true }, []faultfs.Fault{faultfs.Torn}},
		"best":    {func(c *Config) { c.Patience, c.EvalEvery, c.MinGain = 2, 2, 0.15 }, []faultfs.Fault{faultfs.Stop}},
		"Muon":    {func(c *Config) { c.Rule = grad.Muon{} }, []faultfs.Fault{faultfs.Full}},
		"offload": {func(c *Config) { c.Offload, c.Steps, c.SnapshotEvery = true, 7, 0; c.EvalEvery = 3 }, []faultfs.Fault{faultfs.Stop}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			learner := func() Learner {
				if name == "offload" {
					return newBigram()
				}
				return keeper{newBigram()}
			}
			dir := t.TempDir()
			cfg := testConfig(dir)
			c.change(&cfg)
			want := learner()
			finish(t, cfg, want)
			wantMetrics := metrics(t, dir)

			cfg.Dir = t.TempDir()
			cfg.Resume = true
			for stop := range 6 {
				ctx, cancel := context.WithCancel(t.Context())
				cfg.Watch = func(e Event) {
					if e.Step%7 == stop+1 || e.Step%5 == 4 {
						cancel()
					}
				}
				_, err := Run(ctx, cfg, learner(), &stream{seed: 1, rows: 3}, &stream{seed: 2, rows: 5})
				if cancel(); err != nil && !errors.Is(err, ErrStopped) {
					t.Fatal(err)
				}
			}
			cfg.Watch = nil
			got := learner()
			finish(t, cfg, got)
			if !bytes.Equal(bits(got), bits(want)) {
				t.Error("stopped and resumed: parameters differ")
			}
			sameMetrics(t, metrics(t, cfg.Dir), wantMetrics)

			for _, fault := range c.faults {
				for n := 1; ; n += 1 + n/6 {
					fsys := faultfs.New(n, fault)
					cfg := cfg
					cfg.Dir, cfg.FS = t.TempDir(), fsys
					_, err := trainStart(t, cfg, learner())
					fsys.PowerCut()
					if err == nil && !fsys.Hit() {
						break
					}
					cfg.FS = faultfs.NoSync()
					got := learner()
					finish(t, cfg, got)
					if !bytes.Equal(bits(got), bits(want)) {
						t.Fatalf("fault %d at call %d (%v): parameters differ", fault, n, err)
					}
					sameMetrics(t, metrics(t, cfg.Dir), wantMetrics)
				}
			}
		})
	}
}

// Offloaded state equals state in memory, bit for bit.
func TestOffload(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.BF16, cfg.Steps = true, 12
	poison := func(seen uint64) bool { return seen == 9 }
	memory := newBigram()
	memory.poison = poison
	want := finish(t, cfg, memory)
	cfg.Dir, cfg.Offload = t.TempDir(), true
	files := newBigram()
	files.poison = poison
	got := finish(t, cfg, files)
	if !bytes.Equal(bits(files), bits(memory)) {
		t.Error("parameters differ")
	}
	if got.Skipped != 1 || want.Skipped != 1 || got.Loss != want.Loss || *got.Best != *want.Best {
		t.Errorf("%+v, want %+v", got, want)
	}
	cfg.Rule = grad.Lion{}
	if _, err := trainStart(t, cfg, newBigram()); !errors.Is(err, ErrConfig) {
		t.Errorf("Lion is offloaded: %v", err)
	}
	cfg.Rule = nil
	if _, err := trainStart(t, cfg, keeper{newBigram()}); !errors.Is(err, ErrConfig) {
		t.Errorf("a keeper is offloaded: %v", err)
	}
}

// TestOtherRecipe: a run in files, too, goes on with the recipe that it was begun with,
// also if it was stopped before its first step.
func TestOtherRecipe(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){"memory": func(*Config) {}, "offload": func(c *Config) { c.Offload = true }} {
		for _, batches := range []uint64{1, 2} { // a step has two
			cfg := testConfig(t.TempDir())
			change(&cfg)
			cfg.Recipe, cfg.Schedule = map[string]string{"train.seed": "1"}, grad.Schedule{}
			ctx, stop := context.WithCancel(t.Context())
			m := newBigram()
			m.poison = func(seen uint64) bool {
				if seen == batches {
					stop()
				}
				return false
			}
			if _, err := Run(ctx, cfg, m, &stream{seed: 1, rows: 3}, &stream{seed: 2, rows: 5}); !errors.Is(err, ErrStopped) {
				t.Fatal(err)
			}
			cfg.Resume, cfg.Steps = true, 2
			other := cfg
			other.Recipe = map[string]string{"train.seed": "2"}
			if _, err := trainStart(t, other, newBigram()); !errors.Is(err, ErrResume) || !strings.Contains(err.Error(), "train.seed is 2 and was 1") {
				t.Errorf("%s, stopped in batch %d, another recipe: %v", name, batches, err)
			}
			finish(t, cfg, newBigram())
		}
	}
}

// Steps whose gradients are not finite are skipped, and too many end the run.
func TestNaN(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.Accumulate, cfg.BadSteps = 1, 3
	m := newBigram()
	var before []byte
	m.poison = func(seen uint64) bool {
		if seen == 4 {
			before = bits(m)
		} else if seen == 6 && !bytes.Equal(bits(m), before) {
			t.Error("a bad step changed parameters")
		}
		return seen == 4 || seen == 5
	}
	if res := finish(t, cfg, m); res.Skipped != 2 {
		t.Errorf("%d steps were skipped, want 2", res.Skipped)
	}
	if ms := metrics(t, cfg.Dir); !ms[3].Skipped || ms[2].Skipped || ms[3].Loss != 0 {
		t.Errorf("%+v", ms[3])
	}
	cfg.Dir = t.TempDir()
	m = newBigram()
	m.poison = func(seen uint64) bool { return seen >= 10 }
	if _, err := trainStart(t, cfg, m); !errors.Is(err, errDiverged) || !strings.Contains(err.Error(), "learning rate") {
		t.Errorf("got %v", err)
	}
}

// A run whose held-out loss does not improve ends with the best parameters.
func TestEarly(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.Steps, cfg.EvalEvery, cfg.Patience, cfg.MinGain = 400, 5, 3, 0.01
	var at []byte
	m := newBigram()
	cfg.Watch = func(e Event) {
		if e.Best {
			at = bits(m)
		}
	}
	res := finish(t, cfg, m)
	if !res.Early || res.Steps >= 400 || !bytes.Equal(bits(m), at) {
		t.Errorf("%+v; best parameters: %v", res, bytes.Equal(bits(m), at))
	}
	cfg.Resume = true
	again := newBigram()
	if res := finish(t, cfg, again); !res.Early || !bytes.Equal(bits(again), at) {
		t.Error("a run that ended early goes on when it is resumed")
	}
}

// A holder holds its bias back, but for every third batch.
type holder struct{ *bigram }

func (h holder) Backward(b *data.Batch, share float64) (float64, error) {
	l, err := h.bigram.Backward(b, share)
	h.params[1].Hold = h.seen%3 != 0
	return l, err
}

func TestHold(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.Accumulate, cfg.Steps, cfg.Rule, cfg.Clip = 1, 9, grad.SGD{}, 0
	m := holder{newBigram()}
	var bias []float32
	cfg.Watch = func(e Event) {
		moved := bias != nil && !slices.Equal(bias, m.params[1].Value)
		if bias != nil && moved != (e.Step%3 == 0) {
			t.Errorf("step %d: the bias moved: %v", e.Step, moved)
		}
		if zero := slices.Max(m.params[1].Grad) == 0; zero != (e.Step%3 == 0) {
			t.Errorf("step %d: the bias's gradient was cleared: %v", e.Step, zero)
		}
		bias = slices.Clone(m.params[1].Value)
	}
	finish(t, cfg, m)
	// A run that was stopped keeps what the bias had gathered.
	cfg.Dir, cfg.Watch, cfg.Resume = t.TempDir(), nil, true
	var again holder
	for _, steps := range []int{4, 8, 9} {
		seen := uint64(0)
		if again.bigram != nil {
			seen = again.seen
		}
		ctx, stop := context.WithCancel(t.Context())
		cfg.Watch = func(e Event) {
			if e.Step == steps && steps < cfg.Steps {
				stop()
			}
		}
		again = holder{newBigram()}
		again.seen = seen
		_, err := Run(ctx, cfg, again, &stream{seed: 1, rows: 3}, &stream{seed: 2, rows: 5})
		if stop(); err != nil && !errors.Is(err, ErrStopped) {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(bits(again), bits(m)) {
		t.Error("stopped and resumed: parameters differ")
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.Steps = 8
	finish(t, cfg, newBigram())
	if _, err := trainStart(t, cfg, newBigram()); !errors.Is(err, ErrTaken) {
		t.Errorf("another run's folder: %v", err)
	}
	// The newest snapshot is damaged: the one before serves.
	name := filepath.Join(cfg.Dir, snapshotFolder, snapshotName(8))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-3] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	noted := ""
	cfg.Resume, cfg.Watch = true, func(e Event) { noted += e.Note }
	m := newBigram()
	if res := finish(t, cfg, m); res.Steps != 8 || !strings.Contains(noted, "damaged") {
		t.Errorf("%+v, noted %q", res, noted)
	}
	// Another model's snapshots are rejected.
	other := newBigram()
	other.params[0].Name = "other"
	if _, err := trainStart(t, cfg, other); !errors.Is(err, ErrResume) {
		t.Errorf("another model: %v", err)
	}
	cfg.Rule = grad.Lion{}
	if _, err := trainStart(t, cfg, newBigram()); !errors.Is(err, ErrResume) {
		t.Errorf("another rule: %v", err)
	}
	cfg.Rule, cfg.Resume, cfg.Overwrite = grad.AdamW{Decay: 0.01}, false, true
	again := newBigram()
	if finish(t, cfg, again); !bytes.Equal(bits(again), bits(m)) {
		t.Error("a run that overwrites another differs from it")
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"steps": func(c *Config) { c.Steps = 0 }, "rate": func(c *Config) { c.Rate = -1 }, "folder": func(c *Config) { c.Dir = "" },
		"patience": func(c *Config) { c.Patience, c.EvalEvery = 1, 0 }, "clip": func(c *Config) { c.Clip = math.NaN() }, "keep": func(c *Config) { c.Keep = -1 },
	} {
		cfg := testConfig(t.TempDir())
		change(&cfg)
		if _, err := trainStart(t, cfg, newBigram()); !errors.Is(err, ErrConfig) && !errors.Is(err, grad.ErrOptimizer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
