package atenia_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/place"
)

// A placement is made from headers alone, fits its budget, holds what is
// written and what no file has, and comes back from a file the same.
func TestPlace(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	cfg := &atenia.Config{
		BatchTokens: 4, Slots: 1, Context: 32,
		Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
	}
	cfg.Budget.Reserve.Runtime = 1 << 16
	placed := func() (*atenia.Placement, error) {
		p, err := atenia.OpenPlan(path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return p.Place()
	}
	all, err := placed()
	if err != nil || all.Spills() || all.Decode.Limit != "ram" {
		t.Fatalf("without a budget: %v, %+v", err, all)
	}
	m, err := atenia.Open(t.Context(), path, &atenia.Config{BatchTokens: 4, Slots: 1, Context: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, _, scratch := m.Memory()
	for i := range all.Tensors {
		if x := &all.Tensors[i]; x.Class == place.ClassBuffer {
			scratch -= x.Bytes
		}
	}
	if scratch != 0 {
		t.Errorf("an executor takes %d bytes more than planned", scratch)
	}
	cfg.Budget.RAM = 1 << 17
	_, err = placed()
	var floor *place.FloorError
	if !errors.As(err, &floor) {
		t.Fatalf("too little: %v", err)
	}
	if !strings.HasSuffix(err.Error(), ": "+floor.Error()) || floor.Tier != place.TierRAM || len(floor.Parts) == 0 {
		t.Errorf("%+v prints as %q, the error is %q", floor, floor, err)
	}
	cfg.Budget.RAM = (floor.Floor + all.RAM()) / 2
	pl, err := placed()
	if err != nil {
		t.Fatal(err)
	}
	if !pl.Spills() || pl.RAM() > cfg.Budget.RAM || pl.Decode.Limit != "ssd" {
		t.Errorf("%d bytes of %d, %+v", pl.RAM(), cfg.Budget.RAM, pl.Decode)
	}
	for i := range pl.Tensors {
		if x := &pl.Tensors[i]; x.Tier == place.TierSSD && (x.Held != "" || x.Class == place.ClassKV || x.Class == place.ClassVector) {
			t.Errorf("%s is on the ssd", x.Name)
		}
	}
	cfg.PlacementFile = filepath.Join(t.TempDir(), "plan.json")
	if err := atenia.WritePlacement(cfg.PlacementFile, pl); err != nil {
		t.Fatal(err)
	}
	again, err := placed()
	if err != nil || again.RAM() != pl.RAM() || again.Decode != pl.Decode {
		t.Errorf("from its file: %v, %+v", err, again)
	}
}

// TestMoreRAMIsNoSlower: more memory is not spent on buffers for longer steps where a
// pass that decodes then takes a third longer.
func TestMoreRAMIsNoSlower(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	cfg := &atenia.Config{Slots: 1, Context: 32, Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}}}
	cfg.Budget.Reserve.Runtime = 1 << 16
	least, chunks := math.Inf(1), map[int]bool{}
	step := int64(5 << 13)
	if await.Long() {
		step = 1 << 13
	}
	for ram := int64(1 << 16); ; ram += step {
		cfg.Budget.RAM = ram
		p, err := atenia.OpenPlan(path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := p.Place()
		if _, low := errors.AsType[*place.FloorError](err); low {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if 0.74*pl.Decode.Seconds > least {
			t.Errorf("%d bytes of RAM: a pass takes %.2g s, %.2g s with less RAM", ram, pl.Decode.Seconds, least)
		}
		least = min(least, pl.Decode.Seconds)
		chunks[pl.Prefill.Tokens] = true
		if !pl.Spills() && pl.Prefill.Tokens == 512 {
			break
		}
	}
	if len(chunks) < 2 {
		t.Errorf("steps of %v tokens were tried", chunks)
	}
}

// Rates are what was given, else measured on the model's file when some of it
// stays there, else assumed; and the plan says which.
func TestPlaceMeasures(t *testing.T) {
	t.Parallel()
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	for _, c := range []struct {
		name              string
		ram               int64
		rules             place.Rules
		measured, assumed []string
	}{
		{"nothing streamed", 1 << 30, place.Rules{}, nil, []string{"ssd", "ram", "flops"}},
		{"streamed", 0, place.Rules{}, []string{"ssd", "ram", "flops"}, nil},
		{"memory is given", 0, place.Rules{Rates: place.Rates{RAM: 10e9}}, []string{"ssd"}, []string{"flops"}},
		{"storage is given", 0, place.Rules{Rates: place.Rates{SSD: 1e9}}, nil, []string{"ram", "flops"}},
		{"not to be measured", 0, place.Rules{NoProbe: true}, nil, []string{"ssd", "ram", "flops"}},
	} {
		cfg := &atenia.Config{BatchTokens: 4, Slots: 1, Context: 32, Placement: c.rules}
		cfg.Budget.RAM, cfg.Budget.Reserve.Runtime = c.ram, 1<<16
		if c.ram == 0 {
			cfg.Placement.Pins = []string{"ffn_(up|gate|down)=ssd"}
		}
		p, err := atenia.OpenPlan(path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := p.Place()
		if err != nil {
			t.Fatal(err)
		}
		r := pl.Rates
		if pl.Spills() != (c.ram == 0) || !slices.Equal(pl.Measured, c.measured) || !slices.Equal(pl.Assumed, c.assumed) || !(r.SSD > 0 && r.RAM > 0 && r.FLOPS > 0) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if busy := r.SSDBusy > 0 && r.RAMBusy > 0; busy != (len(c.measured) > 0) {
			t.Errorf("%s: both at once %+v", c.name, r)
		}
		if given := c.rules.Rates; given.SSD > 0 && r.SSD != given.SSD || given.RAM > 0 && r.RAM != given.RAM {
			t.Errorf("%s: not what was given: %+v", c.name, r)
		}
	}
}

// TestPlaceWithoutWeights: a configuration alone has a plan, and no placement,
// since the sizes of its weights are not known.
func TestPlaceWithoutWeights(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(golden.Family(t, "parity"), "llama3", "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := atenia.OpenPlan(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Place(); !errors.Is(err, atenia.ErrNoWeights) {
		t.Errorf("got %v, want ErrNoWeights", err)
	}
}
