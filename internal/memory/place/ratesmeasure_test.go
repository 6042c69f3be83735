package place

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"atenia/tensor"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		threads    int
		memory     int64
		into, size int
	}{
		{2, 0, 64 << 20, 160 << 20},
		{64, 0, 64 << 20, 16 << 20}, // no more in all
		{2, 1 << 30, 64 << 20, 160 << 20},
		{2, 256 << 20, 64 << 20, 96 << 20},
		{2, 255 << 20, 32 << 20, 0}, // memory would look like a cache
		{2, 40 << 20, 20 << 20, 0},
		{2, 1 << 20, 0, 0}, // nothing can be told
	} {
		e := MeasureEffort{Threads: c.threads, MemoryBytes: c.memory}
		if into, size := e.split(); into != c.into || size != c.size {
			t.Errorf("%+v: %d, %d", c, into, size)
		}
	}
}

func TestMeasure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	if err := os.WriteFile(path, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	e := MeasureEffort{Threads: 2, Window: time.Millisecond, MemoryBytes: 256 << 20, Products: []Product{
		{Type: tensor.BF16}, {Type: tensor.BF16, Packed: true}, {Type: tensor.Q8_0, Packed: true, Precise: true}, {Type: tensor.Q8_K, Packed: true}, {Type: tensor.I8},
	}}
	r, err := MeasureRates(t.Context(), path, e)
	if err != nil || !(r.SSD > 0 && r.RAM > 0 && r.SSDBusy > 0 && r.RAMBusy > 0) {
		t.Errorf("%+v, %v", r, err)
	}
	// Of types without products, or without a packed form, nothing is known.
	if names := slices.Sorted(maps.Keys(r.Products)); !slices.Equal(names, []string{"bf16", "bf16 packed", "q8_0 packed precise"}) {
		t.Errorf("products %v", r.Products)
	}
	if r.Chosen != (ChosenRate{}) {
		t.Errorf("experts of none: %+v", r.Chosen)
	}
	for name, p := range r.Products {
		if !p.sound() {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for part, want := range map[int64]bool{64 << 10: true, 1 << 20: false, 16 << 20: false} { // too few in the file, or for the memory
		e.Experts = Experts{Chosen: 2, Parts: []int64{part, part / 2}}
		if r, err := MeasureRates(t.Context(), path, e); err != nil || r.Chosen.Each > 0 != want || want && !(r.Chosen.Range.Low > 0 && r.Chosen.Range.Low <= 1 && r.Chosen.Range.High >= 1) {
			t.Errorf("experts of %d bytes: %+v, %v", part, r.Chosen, err)
		}
	}
	e.MemoryBytes = 100 << 20
	if r, err := MeasureRates(t.Context(), path, e); err != nil || !(r.SSD > 0) || r.RAM != 0 || r.SSDBusy != 0 || r.Products != nil {
		t.Errorf("little memory: %+v, %v", r, err)
	}
	if _, err := MeasureRates(t.Context(), path+"s", e); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := MeasureRates(ctx, path, e); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
