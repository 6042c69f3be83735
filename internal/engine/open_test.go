package engine

import (
	"log/slog"
	"path/filepath"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
)

// opened opens a reference model, and returns a function that closes it.
func opened(t *testing.T, name string, c Config) (e *Engine, d *file.Description, end func()) {
	t.Helper()
	d, err := OpenFiles(filepath.Join(golden.Family(t, "parity"), name), "")
	if err != nil {
		t.Fatal(err)
	}
	c.Logger = slog.New(slog.DiscardHandler)
	p, err := Compile(d, c)
	if err != nil {
		t.Fatal(err)
	}
	if e, err = Open(t.Context(), p, d); err != nil {
		t.Fatal(err)
	}
	return e, d, func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPackingOfMixture: experts are packed beside their files, for which both have to have
// room, and other weights are not; what a budget leaves is beside the files.
func TestPackingOfMixture(t *testing.T) {
	for name, want := range map[string]bool{"qwen2_moe": true, "llama3": false} {
		e, _, end := opened(t, name, Config{Threads: 1, Slots: 1, BatchTokens: 4, Context: 32})
		if got := e.Plan.packing().Mixture; got != want {
			t.Errorf("%s: a mixture is %v", name, got)
		}
		c := e.Plan.placeConfig()
		c.Budget.RAM = 1 << 30
		pl, err := e.Plan.footprint.Place(c)
		if err != nil {
			t.Fatal(err)
		}
		if in := e.Plan.footprint.within(c, pl).Exec.Pack; in.Mixture { // beside what is placed
			t.Errorf("%s in a budget: %+v", name, in)
		}
		end()
	}
}
