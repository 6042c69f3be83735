package engine_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"atenia/internal/engine"
	"atenia/internal/golden"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"

	"atenia/internal/memory/place"
	"atenia/internal/sched"
)

func config() engine.Config {
	return engine.Config{
		Threads: 1, Slots: 1, BatchTokens: 4, Context: 32, Pack: pack.Off, Compile: compile.Options{PageTokens: 16},
		Rules:  place.Rules{Rates: place.KeptRates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// logits opens a model, computes a few logits and returns them with the engine,
// which is closed.
func logits(t *testing.T, c engine.Config) ([]float32, *engine.Engine) {
	t.Helper()
	d, err := engine.OpenFiles(filepath.Join(golden.Family(t, "parity"), "llama3"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p, err := engine.Compile(d, c)
	if err != nil {
		t.Fatal(err)
	}
	var captured *engine.Engine
	e, err := engine.Open(engine.Capture(t.Context(), &captured), p, d)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if captured != e {
		t.Error("the engine was not captured")
	}
	if !reflect.DeepEqual(p.Config, c) {
		t.Errorf("opening changed the configuration: %+v, was %+v", p.Config, c)
	}
	var out []float32
	st, err := e.Sched.Submit(t.Context(), sched.Request{Prompt: []int32{1, 2, 3, 4, 5}, OnLogits: func(_ int, l []float32) { out = slices.Clone(l) }})
	if err != nil {
		t.Fatal(err)
	}
	st.Next()
	if err := st.Err(); err != nil || len(out) == 0 {
		t.Fatalf("%d logits, %v", len(out), err)
	}
	return out, e
}

// Mapped, pinned and streamed weights give the same logits, and no placement
// changes its configuration.
func TestPlaceThenMaterialise(t *testing.T) {
	want, mapped := logits(t, config())
	if mapped.Placement() != nil {
		t.Error("a placement without a budget")
	}
	roomy := config()
	roomy.Budget.RAM = 1 << 40
	got, held := logits(t, roomy)
	if pl := held.Placement(); pl == nil || pl.Spills() || !slices.Equal(got, want) {
		t.Errorf("with room for everything: %v, equal %v", pl, slices.Equal(got, want))
	}

	c := config()
	c.Budget.RAM, c.Budget.Reserve.Runtime = 1, 1<<16
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	p, err := engine.OpenPlan(path, "", c, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Place(t.Context())
	floor, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatalf("one byte: %v", err)
	}
	if !reflect.DeepEqual(p.Config, c) {
		t.Errorf("placing changed the configuration: %+v", p.Config)
	}
	c.Budget.RAM = floor.Floor + 1<<16
	got, tight := logits(t, c)
	if w := tight.Residence(); w == nil || w.Streamed == 0 || w.Stats().Read == 0 || !slices.Equal(got, want) {
		t.Errorf("%+v, equal %v", w, slices.Equal(got, want))
	}
}
