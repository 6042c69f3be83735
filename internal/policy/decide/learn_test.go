package decide

import (
	"atenia/internal/memory/checkpoint"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"atenia/internal/store/faultfs"
)

var (
	low  = NewContext(true, 0.1, 0.1)
	zero = NewContext(true, 0, 0)
)

// An ep is n equal episodes.
type ep struct {
	k     Backend
	n     int
	score int32
	ok    bool
	drift bool
}

func train(c Context, eps ...ep) *Trainer {
	t := &Trainer{}
	for _, e := range eps {
		for range e.n {
			t.Record(c, e.k, e.ok, e.score, e.drift)
		}
	}
	return t
}

func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func TestTrainer(t *testing.T) {
	t.Run("ST-1", func(t *testing.T) {
		for p, want := range map[float32]Band{0.4999: 0, 0.5: 1, 0.75: 2, 0.9: 3} {
			check(t, "band", BandOf(p), want)
		}
		for b := range Band(bands) {
			check(t, "band of its pressure", BandOf(b.Pressure()), b)
		}
	})
	t.Run("ST-2", func(t *testing.T) {
		c := NewContext(false, 0.1, 0.1)
		check(t, "no device", train(c, ep{GPU, 3, 10, true, false}).Recommend(c.Bucket()), CPU)
	})
	t.Run("ST-3", func(t *testing.T) {
		for _, c := range []struct {
			eps  []ep
			want Backend
		}{
			{[]ep{{GPU, 3, 10, true, false}, {CPU, 2, 2, true, false}}, GPU},
			{[]ep{{GPU, 3, 5, true, true}, {CPU, 3, 4, true, false}}, CPU},
			{[]ep{{GPU, 1, 4, true, false}, {CPU, 1, 4, true, false}}, CPU},
			{nil, CPU},
		} {
			check(t, "recommendation", train(low, c.eps...).Recommend(low.Bucket()), c.want)
		}
	})
	t.Run("ST-4", func(t *testing.T) {
		for _, c := range []struct {
			s    Stats
			want int64
		}{
			{Stats{Count: 2, Score: 7}, 3},
			{Stats{Count: 2, Score: -7}, -3},
			{Stats{Count: 10, Drift: 1}, 0},
			{Stats{Count: 10, Drift: 2}, -1},
			{Stats{}, 0},
			{Stats{Count: 1, Score: math.MinInt64, Drift: 1}, math.MinInt64},
		} {
			check(t, "value", c.s.Value(defaultDriftPenalty), c.want)
		}
		check(t, "device untried", train(low, ep{CPU, 1, -1, false, false}).Recommend(low.Bucket()), GPU)
	})
	t.Run("ST-5", func(t *testing.T) {
		check(t, "rows", train(low, ep{GPU, 1, 7, true, true}).Rows(), []Row{{Bucket{true, 0, 0}, GPU, Stats{1, 1, 7, 1}}})
	})
	t.Run("ST-6", func(t *testing.T) {
		check(t, "clamped", NewContext(true, 2, -1), Context{true, 1, 0})
		nan := float32(math.NaN())
		check(t, "NaN", NewContext(true, nan, nan), Context{true, 0, 0})
	})
}

// A loopRun plays plans of one reason each, with score 10.
func loopRun(cfg LoopConfig, c Context, reasons ...string) (*Loop, []string) {
	l := NewLoop(cfg)
	var got []string
	for _, r := range reasons {
		k := l.OnTick(Tick{Context: c, Planned: []checkpoint.Decision{{Reason: r}}, Result: Result{true, 10}})
		got = append(got, k.String()+" "+l.LastReason())
	}
	return l, got
}

func TestLoop(t *testing.T) {
	t.Run("AL-1", func(t *testing.T) {
		_, got := loopRun(LoopConfig{Cooldown: 3}, low, "gpu", "cpu", "cpu", "cpu")
		check(t, "choices", got, []string{
			"Gpu switch: cpu->gpu due to learned score", "Gpu hold: cooldown active",
			"Gpu hold: cooldown active", "Cpu switch: gpu->cpu due to learned score",
		})
	})
	t.Run("AL-2", func(t *testing.T) {
		none := NewContext(false, 0.1, 0.1)
		l, got := loopRun(LoopConfig{Cooldown: 2}, none, "gpu", "gpu", "gpu", "gpu", "gpu")
		for _, g := range got {
			check(t, "choice", g, "Cpu hold: gpu unavailable")
		}
		check(t, "episodes", l.Trainer().Snapshot().Summary.TotalEpisodes, 5)
		_, a := loopRun(LoopConfig{}, low, "gpu", "x", "gpu")
		_, b := loopRun(LoopConfig{}, low, "gpu", "x", "gpu")
		check(t, "equal runs", a, b)
	})
	t.Run("executed", func(t *testing.T) { // what ran counts, not what the plan's words suggest
		l, cpu := NewLoop(LoopConfig{}), CPU
		l.OnTick(Tick{Context: low, Planned: []checkpoint.Decision{{Reason: "Desired VRAM but GPU unavailable"}}, Executed: &cpu, Result: Result{true, 1}})
		if _, ok := l.Trainer().Stats(low.Bucket(), GPU); ok {
			t.Error("counted as an episode of the device")
		}
	})
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestAutosave(t *testing.T) {
	t.Run("AS-1", func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "sub", "table")
		every := func(n uint64) LoopConfig { return LoopConfig{Autosave: Autosave{Path: file, EveryTicks: n}} }
		loopRun(LoopConfig{}, low, "gpu", "gpu", "gpu")
		check(t, "no configuration", exists(file), false)
		l, _ := loopRun(every(2), low, "gpu")
		check(t, "after tick 1", exists(file), false)
		l.OnTick(Tick{Context: low, Result: Result{OK: true}})
		check(t, "after tick 2", exists(file), true)
		l, _ = loopRun(every(1), low, "gpu")
		saved, err := l.TryAutosave(0)
		if saved || err != nil {
			t.Errorf("nothing new: got %v, %v", saved, err)
		}
		file = dir
		_, got := loopRun(every(1), low, "gpu")
		check(t, "directory", got, []string{"Gpu autosave: failed (io)"})
	})
	t.Run("foreign", func(t *testing.T) { // a file of another version moves aside
		file := filepath.Join(t.TempDir(), "table")
		for i, text := range []string{"ATENIA_SELFTRAINER_V2\nx\n", "V3\n"} {
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			loopRun(LoopConfig{Autosave: Autosave{Path: file, EveryTicks: 1}}, low, "gpu")
			bak, err := os.ReadFile(file + []string{".bak-1", ".bak-2"}[i])
			if err != nil || string(bak) != text {
				t.Errorf("moved aside: %q, %v", bak, err)
			}
			if _, r := Load(file); r.Status != StatusOK {
				t.Errorf("written: %+v", r)
			}
		}
	})
	t.Run("unreadable", func(t *testing.T) { // a file too long to be read is not overwritten
		file := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, maxFileBytes+1); err != nil {
			t.Fatal(err)
		}
		l, got := loopRun(LoopConfig{Autosave: Autosave{Path: file, EveryTicks: 1}}, low, "gpu")
		check(t, "reason", got, []string{"Gpu autosave: failed (io)"})
		check(t, "decision", l.LastDecisionReason(), "switch: cpu->gpu due to learned score")
		if _, err := l.TryAutosave(0); !errors.Is(err, ErrIO) {
			t.Errorf("got %v", err)
		}
		if st, err := os.Stat(file); err != nil || st.Size() != maxFileBytes+1 {
			t.Error("the file was changed")
		}
	})
	t.Run("faults", func(t *testing.T) { // the old table or the new one, whatever call fails
		for fault := range faultfs.Full + 1 {
			for n, fsys := range faultfs.Each(fault) {
				file := filepath.Join(t.TempDir(), "table")
				old := train(low, ep{CPU, 3, 1, true, false})
				if err := old.Save(file); err != nil {
					t.Fatal(err)
				}
				l := NewLoop(LoopConfig{Autosave: Autosave{Path: file, EveryTicks: 2, FS: fsys}})
				l.LoadLearning(file)
				l.trainer.Record(low, GPU, true, 1, false)
				l.dirty = true
				err := l.Save()
				fsys.PowerCut()
				got, r := Load(file)
				if s := got.String(); r.Skipped > 0 || s != old.String() && s != l.Trainer().String() || err == nil && s != l.Trainer().String() {
					t.Fatalf("fault %d at call %d: error %v, file %q", fault, n, err, s)
				}
			}
		}
	})
	t.Run("seconds", func(t *testing.T) {
		file, five := filepath.Join(t.TempDir(), "table"), uint64(5)
		l := NewLoop(LoopConfig{Autosave: Autosave{Path: file, EverySeconds: &five}})
		for _, c := range []struct {
			at   uint64
			want bool
		}{{4, false}, {5, true}, {9, false}, {10, true}} {
			l.dirty = true
			saved, err := l.TryAutosave(c.at)
			if saved != c.want || err != nil {
				t.Errorf("at %d s: got %v, %v", c.at, saved, err)
			}
		}
	})
}

func TestFile(t *testing.T) {
	const line = "gpu_avail=1;vram_band=0;ram_band=0;backend=gpu;count=1;success=1;score_sum=7;drift=1\n"
	one := train(low, ep{GPU, 1, 7, true, true})
	t.Run("SP-1", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "deep", "er", "table")
		for range 2 {
			if err := one.Save(path); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != header+"\n"+line {
				t.Fatalf("got %q, %v", got, err)
			}
			back, r := Load(path)
			check(t, "report", r, Report{Status: StatusOK})
			check(t, "table", back.Rows(), one.Rows())
			one = &back
		}
	})
	t.Run("SP-2", func(t *testing.T) {
		got, r := Parse([]byte(header + "\ngarbage\n" + line))
		check(t, "rows", got.Rows(), one.Rows())
		check(t, "report", r, Report{Status: StatusOK, Skipped: 1, First: LineError{2, "gpu_avail: want 0 or 1, got \"\""}})
		none, r := Load(filepath.Join(t.TempDir(), "none"))
		check(t, "missing", r, Report{Status: StatusMissing})
		check(t, "rows", none.Rows(), []Row{})
	})
	t.Run("faults", func(t *testing.T) {
		for _, c := range [][2]string{
			{strings.Replace(line, "vram_band=0", "vram_band=4", 1), "vram_band: want a number up to 3"},
			{strings.Replace(line, "ram_band=0;backend", "backend", 1), "no ram_band"},
			{strings.Replace(line, "=gpu", "=tpu", 1), "no backend"},
			{strings.Replace(line, "count=1", "count=+1", 1), "count: want a number"},
			{strings.Replace(line, "sum=7", "sum=9223372036854775808", 1), "score_sum: want"},
			{strings.Replace(line, "drift=1", "drift=", 1), "drift: want"},
		} {
			if _, r := Parse([]byte(header + "\n" + c[0])); r.Skipped != 1 || !strings.Contains(r.First.Error(), "line 2: "+c[1]) {
				t.Errorf("%q: %+v", c[0], r)
			}
		}
	})
	t.Run("damaged", func(t *testing.T) { // more successes than episodes: kept as it is, not believed, not overwritten
		text := header + "\n" + strings.Replace(line, "success=1", "success=2", 1)
		got, r := Parse([]byte(text))
		check(t, "report", r, Report{Status: StatusOK, Damaged: 1, First: LineError{2, "success: want at most count, which is 1, got 2"}})
		check(t, "printed", got.String(), text)
		sound := got.Sound()
		check(t, "sound", sound.Rows(), []Row{})
		file := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		loopRun(LoopConfig{Autosave: Autosave{Path: file, EveryTicks: 1}}, low, "gpu")
		if bak, err := os.ReadFile(file + ".bak-1"); err != nil || string(bak) != text {
			t.Errorf("kept %q, %v", bak, err)
		}
	})
	t.Run("foreign", func(t *testing.T) {
		_, r := Parse([]byte("\ufeff" + header + "\n"))
		if r.Status != StatusForeign || !errors.Is(r.Err, errFormat) {
			t.Errorf("got %+v", r)
		}
		_, r = Load(t.TempDir())
		if r.Status != StatusUnreadable || !errors.Is(r.Err, ErrIO) {
			t.Errorf("a folder: got %+v", r)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(train(low, ep{GPU, 3, 7, true, true}, ep{CPU, 1, -7, false, false}).String()))
	f.Add([]byte(header + "\r\n count = 1 ; backend=GPU;;=;x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, r := Parse(data)
		text := a.String()
		b, again := Parse([]byte(text))
		if again.Skipped != 0 || b.String() != text || !reflect.DeepEqual(a.Rows(), b.Rows()) {
			t.Errorf("%+v: printed %q, read back %+v", r, text, again)
		}
	})
}
