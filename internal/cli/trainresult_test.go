package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	before := trainResult{Machine: "m", Layers: 2, Parameters: 8, Tokens: 4, Batches: 1, Threads: 2, InMemory: 1, Offloaded: 2}
	for _, c := range []struct {
		change func(*trainResult)
		want   string
	}{
		{func(r *trainResult) { r.InMemory, r.Offloaded = 1.1, 1 }, "compared with f, on this machine: +10.0 % in memory, -50.0 % in files\n"},
		{func(r *trainResult) { r.Machine = "n" }, "compared with f, on another machine, with 2 threads: +0.0 % in memory, +0.0 % in files\n"},
		{func(r *trainResult) { r.Tokens = 5 }, "f measured 8 parameters in 2 layers, 1 × 4 tokens a step: nothing to compare with\n"},
	} {
		now := before
		c.change(&now)
		var out strings.Builder
		if err := now.compare(&out, "f", &before); err != nil || out.String() != c.want {
			t.Errorf("got %q, %v, want %q", out.String(), err, c.want)
		}
	}
}

// FuzzParse: a parsed result can be compared with, and round-trips.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"machine":"m","layers":2,"in_memory_seconds":1,"offloaded_seconds":2}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"in_memory_seconds":-1`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseTrainResult(b)
		if err != nil {
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseTrainResult(text); err != nil || *again != *r || !(r.Offloaded > 0) {
			t.Errorf("%q became %+v, %v", b, again, err)
		}
	})
}

// TestTrainOffloadLeavesNothing: the state that was measured is removed.
func TestTrainOffloadLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	cliCall(t, "bench", "train-offload", "--layers", "1", "--width", "32", "--tokens", "4", "--steps", "1", "-t", "1", "--dir", dir)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
