package atenia

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"atenia/internal/golden"
	placing "atenia/internal/memory/place"
	"atenia/internal/policy/observe"
	"atenia/place"
)

// TestDelaysOfReaders: threads that read what is streamed delay one another, which is no
// neighbour; what others had the processors for, and workers were delayed, is one.
func TestDelaysOfReaders(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		what    string
		form    string
		threads int
		t       observe.Tally
		want    float64
	}{
		{"readers alone", "streamed", 2, observe.Tally{Computed: 2 * s, Offered: 2 * s, Delayed: 9 * s}, 0},
		{"readers and an idle neighbour", "streamed", 2, observe.Tally{Computed: 2 * s, Offered: 2 * s, Delayed: 9 * s, Taken: 2 * s}, 0},
		{"readers that delay workers", "streamed", 2, observe.Tally{Computed: 2 * s, Offered: 2 * s, Delayed: 9 * s, Workers: s / 2}, 0},
		{"a neighbour", "streamed", 2, observe.Tally{Computed: s, Offered: 2 * s, Delayed: 9 * s, Workers: s / 2, Taken: s}, 0.25},
		{"of three threads", "streamed", 3, observe.Tally{Computed: s, Offered: 3 * s, Delayed: 9 * s, Workers: s, Taken: s}, 0.25},
		{"one thread", "streamed", 1, observe.Tally{Computed: s, Offered: 2 * s, Delayed: s, Taken: s}, 0},
		{"mapped", "mapped", 2, observe.Tally{Computed: s, Offered: 2 * s, Delayed: s, Workers: s, Taken: s / 2}, 0.5},
	} {
		r := &place.LastRun{Form: c.form, Threads: c.threads}
		if got := delayed(r, &c.t); got != c.want {
			t.Errorf("%s: threads had no processor for %v of the time, want %v", c.what, got, c.want)
		}
	}
}

// TestLastRunIsTheLatest: a run that ends after one which began later leaves that one's
// account.
func TestLastRunIsTheLatest(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("m", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("m", "config.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, opened := range []int64{5, 9, 7} {
		r := &place.LastRun{Version: accountVersion, Model: "m", Opened: opened}
		if err := saveRun(r, dir, "m"); err != nil {
			t.Fatal(err)
		}
	}
	for _, model := range []string{"m", "./m/", "m/config.json", ""} {
		if r, err := ReadLastRun(dir, model); err != nil || r.Opened != 9 {
			t.Errorf("%q: %v, %+v, want the run that was opened at 9", model, err, r)
		}
	}
}

// TestMostly: a run is of the form in which its weights lay for most of the time, and of the
// threads that computed.
func TestMostly(t *testing.T) {
	m, err := Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		form, want string
		streamed   time.Duration // of a second
	}{
		{"mapped", "streamed", 800 * time.Millisecond}, {"mapped", "mapped", 200 * time.Millisecond},
		{"streamed", "streamed", 800 * time.Millisecond}, {"streamed", "mapped", 200 * time.Millisecond},
	} {
		r := &place.LastRun{Form: c.form, Threads: 2}
		m.cost(&observe.Tally{Decode: observe.Steps{Steps: 10, Took: time.Second}, Streamed: c.streamed, Threaded: time.Second, Packing: 300 * time.Millisecond}, r)
		if r.Threads != 1 {
			t.Errorf("%d threads, each step was computed by one", r.Threads)
		}
		if r.FirstUse < 0.0299 || r.FirstUse > 0.0301 {
			t.Errorf("weights were packed for %v s of each step, want 0.03", r.FirstUse)
		}
		if c.form == "mapped" && c.want == "mapped" { // threads that packed waited for pages
			w := &place.LastRun{Form: c.form, Threads: 2}
			m.cost(&observe.Tally{Decode: observe.Steps{Steps: 10, Took: time.Second}, Threaded: 2 * time.Second, Packing: 2 * time.Second, Offered: 2 * time.Second, Computed: 200 * time.Millisecond}, w)
			if w.FirstUse > 0.0101 || w.Waiting < 0.0899 {
				t.Errorf("packing takes %v s of a step and waiting %v, want 0.01 and 0.09", w.FirstUse, w.Waiting)
			}
		}
		if r.FormMostly() != c.want {
			t.Errorf("%s in the end, streamed for %v of a second: %s", c.form, c.streamed, r.FormMostly())
		}
	}
}

// TestPredictedOfThisPlacement: an account tells what was predicted only if weights were
// where the prediction has them for most of the steps and of their time.
func TestPredictedOfThisPlacement(t *testing.T) {
	opened := &placing.Placement{Decode: placing.Prediction{Seconds: 0.1}}
	all := observe.Steps{Steps: 100, Took: 10 * time.Second}
	for _, c := range []struct {
		what string
		at   *placing.Placement
		so   observe.Steps
		want float64
	}{
		{"never moved", opened, all, 0.1},
		{"no placement", nil, all, 0},
		{"moved before the first step", opened, observe.Steps{}, 0},
		{"moved in the middle", opened, observe.Steps{Steps: 60, Took: 6 * time.Second}, 0},
		{"most time, few steps", opened, observe.Steps{Steps: 30, Took: 9500 * time.Millisecond}, 0},
		{"most steps, little time", opened, observe.Steps{Steps: 95, Took: 3 * time.Second}, 0},
		{"moved near the end", opened, observe.Steps{Steps: 95, Took: 9500 * time.Millisecond}, 0.1},
	} {
		if got := predicted(&observe.Tally{Opened: c.at, AsOpened: c.so, Decode: all}); got != c.want {
			t.Errorf("%s: predicted were %v s, want %v", c.what, got, c.want)
		}
	}
}

// TestAnyBytes: what tokens choose from is all experts of a mixture, of which a step reads
// those that are chosen; of other models it is what a step reads.
func TestAnyBytes(t *testing.T) {
	for name, mixture := range map[string]bool{"qwen2_moe": true, "llama3": false} {
		m, err := Open(t.Context(), filepath.Join(golden.Family(t, "parity"), name), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &place.LastRun{}
		m.cost(&observe.Tally{}, r)
		if r.AnyBytes < r.WeightBytes || r.WeightBytes == 0 || (r.AnyBytes > r.WeightBytes) != mixture {
			t.Errorf("%s: a step reads %v of %v bytes, a mixture is %t", name, r.WeightBytes, r.AnyBytes, mixture)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
