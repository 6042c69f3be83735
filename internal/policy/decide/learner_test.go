package decide

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
	"atenia/internal/store/faultfs"
)

// begin opens a learner of a run with 4 threads and 8 readers.
func begin(t testing.TB, c LearnerConfig, rec Recorder) (*Learner, *int) {
	t.Helper()
	l, err := OpenLearner(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	readers := new(int)
	l.Describe(LearnerRun{Model: "m", Form: "streamed", Threads: 4, Readers: 8, SetReaders: func(n int) { *readers = n }})
	l.Begin(rec, Start{})
	return l, readers
}

// steps plays steps whose latency is a function of threads and readers.
func steps(l *Learner, readers *int, n int, cost func(threads, readers int) float64) (spent float64) {
	at := time.Unix(1000, 0)
	for i := range n {
		threads := l.Before(1, true)
		took := time.Duration(cost(threads, *readers) * 30e6)
		spent += took.Seconds()
		l.After(LearnerStep{Start: at, Took: took, Decode: true}, time.Duration(i)*time.Millisecond)
		at = at.Add(took)
	}
	return spent
}

// sharedLearner is a machine of 4 cores of which a neighbour has some, and a disk that
// does best with 4 readers.
func sharedLearner(taken int) func(threads, readers int) float64 {
	return func(threads, readers int) float64 {
		t := 4 / float64(threads)
		if threads > 4-taken {
			t *= 2
		}
		if readers != 4 {
			t *= 1.2
		}
		return t
	}
}

// The settings follow the machine: fewer threads while a neighbour has a core,
// all of them afterwards, and the depth of the ring that is best. What changed is
// in the summary and, replayed byte for byte, in the log.
func TestFollows(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "d.jsonl")
	rec, done, err := OpenRecorder(log, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, readers := begin(t, LearnerConfig{Path: filepath.Join(dir, "learning")}, rec)
	steps(l, readers, 3000, sharedLearner(0))
	if n := l.Before(1, true); n != 4 || *readers != 4 {
		t.Errorf("alone: %d threads, %d readers", n, *readers)
	}
	steps(l, readers, 1500, sharedLearner(1))
	if n := l.Before(1, true); n != 3 {
		t.Errorf("with a neighbour: %d threads", n)
	}
	steps(l, readers, 1500, sharedLearner(0))
	if n := l.Before(1, true); n != 4 {
		t.Errorf("alone again: %d threads", n)
	}
	for _, x := range []struct {
		rows   int
		decode bool
	}{{5, false}, {mostRows + 1, true}} {
		if n := l.Before(x.rows, x.decode); n != 0 {
			t.Errorf("%+v: %d threads, want all", x, n)
		}
	}
	s := l.Summary()
	if len(s.Changes) == 0 || len(s.Knobs) != 2 || s.Ticks != 6000 || s.Episodes == 0 || s.Lost > 1.2*defaultShare*s.Spent {
		t.Errorf("%+v", s)
	}
	if err := errors.Join(l.Close(), done()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := CheckLog(f)
	if err != nil || len(r.Differences) > 0 || r.Records < 10 {
		t.Errorf("%+v, %v", r, err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"target":"threads=3"`, `"target":"readers=4"`, `"rule":"Faster"`, `"component":"autoloop"`, `"component":"policy"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in the log", want)
		}
	}
	cut, err := CheckLog(strings.NewReader(strings.Replace(string(text), `"target":"threads=3"`, `"target":"threads=2"`, 1)))
	if err != nil || len(cut.Differences) == 0 {
		t.Errorf("a changed record is not noticed: %+v, %v", cut, err)
	}
}

// The next run starts with what was best; how weights lie is chosen by what whole
// runs took, and tried no more often than the share allows.
func TestNextRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "learning")
	forms := []string{}
	tried := 0
	for range 30 {
		l, err := OpenLearner(t.Context(), LearnerConfig{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		form, why := l.Weights("m", "packed", "mapped", 1.3)
		if why == "" {
			t.Error("no reason")
		}
		forms = append(forms, form)
		readers := 0
		l.Describe(LearnerRun{Model: "m", Form: form, Threads: 4, Pinned: true, SetReaders: func(int) {}})
		l.Begin(Recorder{}, Start{})
		cost := 1.0
		if form == "mapped" {
			cost = 1.4
			tried++
		}
		steps(l, &readers, 300, func(int, int) float64 { return cost })
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if forms[0] != "packed" || tried == 0 || tried > 3 || forms[29] != "packed" {
		t.Errorf("mapped in %d of 30 runs: %v", tried, forms)
	}
	l, readers := begin(t, LearnerConfig{Path: file}, Recorder{})
	steps(l, readers, 2000, sharedLearner(1))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, readers = begin(t, LearnerConfig{Path: file}, Recorder{})
	if n := l.Before(1, true); n != 3 || *readers != 4 {
		t.Errorf("starts with %d threads and %d readers", n, *readers)
	}
}

// Threads that were asked for are kept.
func TestPinned(t *testing.T) {
	l, err := OpenLearner(t.Context(), LearnerConfig{Path: filepath.Join(t.TempDir(), "learning")})
	if err != nil {
		t.Fatal(err)
	}
	l.Describe(LearnerRun{Model: "m", Form: "packed", Threads: 4, Pinned: true})
	l.Begin(Recorder{}, Start{})
	readers := 0
	for range 50 {
		steps(l, &readers, 50, sharedLearner(1))
		if n := l.Before(1, true); n != 4 {
			t.Fatalf("%d threads", n)
		}
	}
}

// TestMoved: a turn is of the plan that it was taken for. After weights that were
// mapped are streamed, the readers of the new ring are set, and how long streamed
// steps take is not learned of mapped ones.
func TestMoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "learning")
	l, err := OpenLearner(t.Context(), LearnerConfig{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	l.Weights("m", "packed", "mapped", 1.3)
	l.Describe(LearnerRun{Model: "m", Form: "mapped", Threads: 2})
	l.Begin(Recorder{}, Start{})
	step := func(took time.Duration) {
		l.Before(1, true)
		l.After(LearnerStep{Start: time.Unix(1000, 0), Took: took, Decode: true}, time.Second)
	}
	step(time.Second)
	step(window / 2) // no whole episode yet
	var first, second int
	l.Describe(LearnerRun{Model: "m", Form: "streamed", Threads: 2, Readers: 8, SetReaders: func(n int) { first = n }})
	step(5 * time.Second)
	l.Describe(LearnerRun{Model: "m", Form: "streamed", Threads: 2, Readers: 2, SetReaders: func(n int) { second = n }})
	step(7 * time.Second)
	if first != 8 || second != 2 {
		t.Errorf("the readers set are %d and %d, want 8 and 2", first, second)
	}
	counts := map[string]uint64{}
	for _, p := range l.picker.Known() {
		for _, a := range p.Arms {
			counts[p.Class+" "+p.Knob.String()+" "+a.Option] += uint64(a.Count)
		}
	}
	want := map[string]uint64{"decode mapped threads 2": 2, "decode streamed threads 2": 2, "decode weights mapped": 2}
	for what, n := range want {
		if counts[what] != n {
			t.Errorf("%s: %d episodes, want %d (%v)", what, counts[what], n, counts)
		}
	}
}

// A nil learner decides nothing.
func TestNil(t *testing.T) {
	var l *Learner
	if form, _ := l.Weights("m", "a", "b", 1); l.Before(1, true) != 0 || form != "a" || l.Summary() != nil {
		t.Error("a nil learner decided")
	}
}

// Files that another program wrote are refused and not touched.
func TestOpenRefuses(t *testing.T) {
	for _, name := range []string{"learning", "learning.choices"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("hello\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLearner(t.Context(), LearnerConfig{Path: filepath.Join(dir, "learning")}); !errors.Is(err, errFormat) {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "hello\n" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// Whatever call a kill cuts short, both tables load, the old ones or the new.
func TestKill(t *testing.T) {
	for n, fsys := range faultfs.Each(faultfs.Stop) {
		file := filepath.Join(t.TempDir(), "learning")
		l, readers := begin(t, LearnerConfig{Path: file}, Recorder{})
		steps(l, readers, 20, sharedLearner(0))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if l, err := OpenLearner(t.Context(), LearnerConfig{Path: file, FS: fsys}); err == nil { // else it was killed while reading
			l.Describe(LearnerRun{Model: "m", Form: "streamed", Threads: 4, Readers: 8, SetReaders: func(n int) { *readers = n }})
			l.Begin(Recorder{}, Start{})
			steps(l, readers, 20, sharedLearner(0))
			_ = l.Close()
		}
		fsys.PowerCut()
		trainer, r := Load(file)
		_, r2 := newPicker(PickConfig{}, choicesPath(file), nil)
		if got := trainer.Snapshot().Summary.TotalEpisodes; r.Status != StatusOK || r.Skipped+r2.Skipped > 0 || r2.Status != StatusOK || got != 20 && got != 40 {
			t.Fatalf("call %d: %+v, %+v, %d episodes", n, r, r2, got)
		}
	}
}

// Steps allocate nothing, but for saves and decisions that change something.
func TestAllocations(t *testing.T) {
	l, readers := begin(t, LearnerConfig{Path: filepath.Join(t.TempDir(), "learning")}, Recorder{})
	steps(l, readers, 1000, sharedLearner(0))
	at := time.Unix(1000, 0)
	if n := await.Allocs(40, func() {
		l.Before(1, true)
		l.After(LearnerStep{Start: at, Took: 30 * time.Millisecond, Decode: true}, time.Second)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// BenchmarkStep is what a policy costs a token, without a log.
func BenchmarkStep(b *testing.B) {
	l, readers := begin(b, LearnerConfig{Path: filepath.Join(b.TempDir(), "learning")}, Recorder{})
	steps(l, readers, 1000, sharedLearner(0))
	at := time.Unix(1000, 0)
	for b.Loop() {
		l.Before(1, true)
		l.After(LearnerStep{Start: at, Took: 30 * time.Millisecond, Decode: true}, time.Second)
		l.ticks = 0 // saves are measured by BenchmarkSave
	}
}

// BenchmarkSave is what saving both tables costs, every 30 seconds at most.
func BenchmarkSave(b *testing.B) {
	l, readers := begin(b, LearnerConfig{Path: filepath.Join(b.TempDir(), "learning")}, Recorder{})
	for b.Loop() {
		steps(l, readers, 1, sharedLearner(0))
		if err := errors.Join(l.loop.Save(), l.picker.Save()); err != nil {
			b.Fatal(err)
		}
	}
}
