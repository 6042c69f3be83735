package engine

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"atenia/internal/golden"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/sched"
)

// TestPaceOfPlainPasses: what later runs are told that a pass takes is the mean of
// passes as they were predicted: one row of each sequence, no drafted tokens, no
// prompts, no errors, and nothing from before the weights moved.
func TestPaceOfPlainPasses(t *testing.T) {
	const plain, other = 2 * time.Millisecond, time.Second
	p := pace{rows: 2, delayed: waitedOfAll}
	watched := 0
	p.watch = func(sched.StepInfo) { watched++ }
	passes := func(n int, s sched.StepInfo) {
		for range n {
			p.step(s)
		}
	}
	passes(20, sched.StepInfo{Decode: true, Rows: 2, Took: other})
	p.restart()
	for name, s := range map[string]sched.StepInfo{
		"drafts": {Decode: true, Rows: 2, Drafted: 1, Took: other}, // one sequence
		"prompt": {Rows: 2, Took: other},
		"rows":   {Decode: true, Rows: 1, Took: other},
		"error":  {Decode: true, Rows: 2, Took: other, Err: errors.New("no")},
	} {
		passes(20, s)
		if took, _, ok := p.mean(); ok {
			t.Errorf("%s: passes take %v", name, took)
			p.restart()
		}
	}
	passes(firstPasses, sched.StepInfo{Decode: true, Rows: 2, Took: other}) // bring weights in
	passes(fewPasses, sched.StepInfo{Decode: true, Rows: 2, Past: 14, Took: plain})
	if took, text, ok := p.mean(); !ok || took != plain || text != 7 {
		t.Errorf("a pass takes %v after %d tokens, %v, want %v after 7", took, text, ok, plain)
	}
	if want := 20 + 4*20 + firstPasses + fewPasses; watched != want {
		t.Errorf("%d steps were watched, want %d", watched, want)
	}
}

// TestUsual: passes some of which wait for experts take as long as all of them together do,
// but for the few that something else delayed.
func TestUsual(t *testing.T) {
	all := slices.Concat(slices.Repeat([]time.Duration{time.Millisecond}, 20), slices.Repeat([]time.Duration{4 * time.Millisecond}, 10), []time.Duration{time.Second, 0})
	if want := 55 * time.Millisecond / 28; usual(all) != want { // 19 and 9 of them
		t.Errorf("%v, want %v", usual(all), want)
	}
	if got := usual([]time.Duration{time.Second}); got != time.Second {
		t.Errorf("%v of one second", got)
	}
}

// TestPaceAlone: passes count as those of a machine without other programs while threads
// had processors, and not where what they were delayed is not known any more.
func TestPaceAlone(t *testing.T) {
	var now waited
	p := pace{rows: 1, delayed: func() waited { return now }}
	now = waited{time.Second, time.Hour}
	p.restart()
	for range 10 {
		p.step(sched.StepInfo{Decode: true, Rows: 1, Threads: 2, Took: 10 * time.Millisecond})
	}
	for _, c := range []struct {
		delay, taken time.Duration // of 200 ms
		counted      bool
		want         bool
	}{
		{0, 0, false, true}, {19, 0, false, true}, {21, 0, false, false}, {-1, 0, false, false},
		{21, 21, true, false}, {100, 19, true, true}, {19, 100, true, true}, {100, -5, true, true}, {-1, 0, true, false}, // threads that delay one another
	} {
		if !c.counted { // then each delay may be by others
			c.taken = c.delay
		}
		if now = (waited{time.Second + c.delay*time.Millisecond, time.Hour + c.taken*time.Millisecond}); p.alone() != c.want {
			t.Errorf("%+v: alone is %v", c, !c.want)
		}
	}
}

// TestPaceOfPackedWeights: passes that packed weights which were used for the first time
// say nothing of later ones.
func TestPaceOfPackedWeights(t *testing.T) {
	p := pace{rows: 1, delayed: func() waited { return waited{} }}
	for packing, want := range map[time.Duration]bool{0: true, time.Millisecond: true, 3 * time.Millisecond: false} {
		p.restart()
		for range 10 {
			p.step(sched.StepInfo{Decode: true, Rows: 1, Threads: 2, Took: 10 * time.Millisecond, Packing: packing})
		}
		if p.packed() != want {
			t.Errorf("%v of 20 ms: %v", packing, !want)
		}
	}
}

// TestCorrectedByForm: what runs measured corrects the prediction of weights that lie as
// theirs did, packed or as the file has them, and of no others.
func TestCorrectedByForm(t *testing.T) {
	dir := t.TempDir()
	placed := func(mode pack.Mode) *place.Placement {
		t.Helper()
		c := Config{Threads: 1, Slots: 1, BatchTokens: 4, Context: 32, Pack: mode, Rules: place.Rules{ProfileDir: dir, NoProbe: true}, Logger: slog.New(slog.DiscardHandler)}
		c.Budget.RAM = 1 << 30
		p, err := OpenPlan("", "", c, nil)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := p.Place(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	before := placed(pack.Off)
	for range 2 {
		k := place.RunKind{Model: before.Model(), Machine: machineOf(1), Class: before.ClassAs(false)}
		if err := place.RememberRatio(dir, k, 3); err != nil {
			t.Fatal(err)
		}
	}
	if d := placed(pack.Off).Decode; d.Runs != 2 || d.Correction != 3 {
		t.Errorf("weights that are not packed: %+v", d)
	}
	if d := placed(pack.InMemory).Decode; d.Runs != 0 || d.Seconds != before.Decode.Seconds {
		t.Errorf("packed weights are corrected by runs that were not: %+v", d)
	}
}

// TestCorrectedRows: weights that are packed where they lie are corrected as packed ones are where
// nothing but rows of a table is read from the disk.
func TestCorrectedRows(t *testing.T) {
	dir, ram := t.TempDir(), int64(1<<30)
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	placed := func() *place.Placement {
		t.Helper()
		c := Config{Threads: 1, Slots: 1, BatchTokens: 4, Context: 32, Rules: place.Rules{ProfileDir: dir, NoProbe: true}, Logger: slog.New(slog.DiscardHandler)}
		c.Budget.RAM, c.Budget.Reserve.Runtime = ram, 1<<16
		p, err := OpenPlan(path, "", c, nil)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := p.Place(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	ram = placed().RAM() - 1
	before := placed()
	if !before.Spills() || before.Ring.Units > 0 {
		t.Fatalf("no rows alone are on the disk: %+v", before.Ring)
	}
	if err := place.RememberRatio(dir, place.RunKind{Model: before.Model(), Machine: machineOf(1), Class: before.ClassAs(true)}, 3); err != nil {
		t.Fatal(err)
	}
	if d := placed().Decode; d.Runs != 1 || d.Correction != 3 {
		t.Errorf("a run that was packed: %+v", d)
	}
}
