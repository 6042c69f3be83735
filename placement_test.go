package atenia_test

import (
	"errors"
	"path/filepath"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/tier"
	"atenia/tier/budget"
)

// A placement is made from headers alone, fits its budget, holds what is
// written and what no file has, and comes back from a file the same.
func TestPlace(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	cfg := &atenia.Config{
		BatchTokens: 4, Slots: 1, Context: 32,
		Placement: atenia.PlacementRules{Rates: atenia.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
	}
	cfg.Budget.Reserve.Runtime = 1 << 16
	place := func() (*atenia.Placement, error) {
		p, err := atenia.OpenPlan(path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return p.Place()
	}
	all, err := place()
	if err != nil || all.Spills() || all.Decode.Limit != budget.LimitRAM {
		t.Fatalf("without a budget: %v, %+v", err, all)
	}
	m, err := atenia.Open(t.Context(), path, &atenia.Config{BatchTokens: 4, Slots: 1, Context: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, _, scratch := m.Memory()
	for i := range all.Tensors {
		if x := &all.Tensors[i]; x.Class == budget.Buffer {
			scratch -= x.Bytes
		}
	}
	if scratch != 0 {
		t.Errorf("an executor takes %d bytes more than planned", scratch)
	}
	cfg.Budget.RAM = 1 << 17
	_, err = place()
	var floor *budget.FloorError
	if !errors.As(err, &floor) {
		t.Fatalf("too little: %v", err)
	}
	cfg.Budget.RAM = (floor.Floor + all.RAM()) / 2
	pl, err := place()
	if err != nil {
		t.Fatal(err)
	}
	if !pl.Spills() || pl.RAM() > cfg.Budget.RAM || pl.Decode.Limit != budget.LimitSSD {
		t.Errorf("%d bytes of %d, %+v", pl.RAM(), cfg.Budget.RAM, pl.Decode)
	}
	for i := range pl.Tensors {
		if x := &pl.Tensors[i]; x.Tier == tier.SSD && (x.Held != "" || x.Class == budget.KV || x.Class == budget.Vector) {
			t.Errorf("%s is on the ssd", x.Name)
		}
	}
	cfg.PlanFile = filepath.Join(t.TempDir(), "plan.json")
	if err := atenia.WritePlacement(cfg.PlanFile, pl); err != nil {
		t.Fatal(err)
	}
	again, err := place()
	if err != nil || again.RAM() != pl.RAM() || again.Decode != pl.Decode {
		t.Errorf("from its file: %v, %+v", err, again)
	}
}
