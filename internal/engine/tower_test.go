package engine_test

import (
	"errors"
	"strings"
	"testing"

	"atenia/internal/memory/place"
)

// TestTowerCounts: the encoder of images is part of what a model needs. Its weights
// are in no placement, since it is loaded with the first image, and a budget that is
// too small by them says so.
func TestTowerCounts(t *testing.T) {
	for _, name := range []string{"parity/gemma3_vl", "parity/qwen2_vl"} {
		m := describe(t, name)
		pl, err := m.Place(placeConfig(0))
		if err != nil {
			t.Fatal(err)
		}
		tower := int64(0)
		for _, r := range pl.Input().Reserves {
			if r.Name == "tower" {
				tower = r.Bytes
			}
		}
		const scratch = 1 << 20 // of 1,024 patches at least
		if tower < 100_000+scratch {
			t.Errorf("%s: the tower has %d bytes", name, tower)
		}
		for i := range pl.Tensors {
			if n := pl.Tensors[i].Name; strings.HasPrefix(n, "v.") || strings.HasPrefix(n, "mm.") {
				t.Errorf("%s: %s is placed", name, n)
			}
		}
		floor := floorOf(t, m)
		if pl, err := m.Place(placeConfig(floor)); err != nil || pl.RAM() > floor {
			t.Errorf("%s: the floor of %d bytes: %v", name, floor, err)
		}
		_, err = m.Place(placeConfig(floor - tower))
		e, ok := errors.AsType[*place.FloorError](err)
		if !ok || e.Floor != floor || !strings.Contains(err.Error(), "tower ") {
			t.Errorf("%s: a budget without room for the tower: %v", name, err)
		}
	}
	m := describe(t, "parity/llama3")
	pl, err := m.Place(placeConfig(0))
	if err != nil || len(pl.Input().Reserves) != 1 {
		t.Errorf("a model of text: %v (%v)", pl.Input().Reserves, err)
	}
}
