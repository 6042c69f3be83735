package engine_test

import (
	"slices"
	"testing"

	"atenia/internal/engine"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/tensor"
)

// TestProductsOfPlacement: weights take as long as their products do where they lie: packed in
// memory, as the file has them where they are streamed; and so does computing with several rows.
// A rate that was given, or a type that was not measured, leaves that open.
func TestProductsOfPlacement(t *testing.T) {
	m := describe(t, "parity/llama3")
	all, err := m.Place(placeConfig(0))
	if err != nil {
		t.Fatal(err)
	}
	rates := place.Measurement{KeptRates: place.KeptRates{SSD: 3e9, RAM: 20e9, SSDBusy: 2e9, RAMBusy: 15e9}, Products: map[string]place.ProductRate{}}
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		rates.Products[place.Product{Type: d, Cols: 256}.String()] = place.ProductRate{Effort: 2, Few: 1e9, Many: 1e10}
		rates.Products[place.Product{Type: d, Packed: true, Cols: 256}.String()] = place.ProductRate{Effort: 1.5, Few: 2e9, Many: 2e10}
	}
	placed := func(ram int64, change func(c *engine.PlaceConfig, now *place.Measurement)) (efforts map[float64]int, r place.Rates) {
		t.Helper()
		c, now := placeConfig(ram), rates
		c.Rules.Rates, c.MeasureAlways = place.KeptRates{}, true
		change(&c, &now)
		c.Measure = func(string, *place.Placement) (place.Measurement, error) { return now, nil }
		pl, err := m.Place(c)
		if err != nil {
			t.Fatal(err)
		}
		efforts = map[float64]int{}
		in := pl.Input()
		for i := range in.Tensors {
			if x := &in.Tensors[i]; x.Class == place.Weight {
				efforts[x.Effort]++
			}
		}
		return efforts, in.Rates
	}
	none := func(*engine.PlaceConfig, *place.Measurement) {}
	e, r := placed(0, none)
	if len(e) != 1 || e[1.5] == 0 || r.FLOPS != 2e10 || r.FewFLOPS != 2e9 || !slices.Contains(r.Measured, "flops") || slices.Contains(r.Assumed, "flops") {
		t.Errorf("packed: %v, %+v", e, r)
	}
	if e, r = placed((floorOf(t, m)+all.RAM())/2, none); e[2] == 0 || e[1.5] == 0 || !(r.FLOPS > 1e10 && r.FLOPS < 2e10) {
		t.Errorf("streamed: %v, %+v", e, r)
	}
	if e, r = placed(0, func(c *engine.PlaceConfig, _ *place.Measurement) { c.Exec.Pack.Mode = pack.Off }); len(e) != 1 || e[2] == 0 || r.FLOPS != 1e10 {
		t.Errorf("not packed: %v, %+v", e, r)
	}
	if _, r = placed(0, func(c *engine.PlaceConfig, _ *place.Measurement) { c.Rules.Rates.FLOPS = 5e9 }); r.FLOPS != 5e9 || r.FewFLOPS != 0 {
		t.Errorf("given: %+v", r)
	}
	if e, r = placed(0, func(_ *engine.PlaceConfig, now *place.Measurement) { now.Products = nil }); len(e) != 1 || e[0] == 0 || !slices.Contains(r.Assumed, "flops") {
		t.Errorf("not measured: %v, %+v", e, r)
	}
}

// TestExpertsNotPacked: how fast products of experts are that are not packed was not measured,
// and is said to be assumed.
func TestExpertsNotPacked(t *testing.T) {
	m := describe(t, "parity/qwen2_moe")
	now := place.Measurement{KeptRates: place.KeptRates{SSD: 3e9, RAM: 20e9, SSDBusy: 2e9, RAMBusy: 15e9}, Products: map[string]place.ProductRate{}}
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		for _, packed := range []bool{false, true} {
			now.Products[place.Product{Type: d, Packed: packed, Cols: 256}.String()] = place.ProductRate{Effort: 2, Few: 1e9, Many: 1e10}
		}
	}
	for _, mode := range []pack.Mode{pack.Off, pack.InMemory} {
		c := placeConfig(0)
		c.Rules.Rates, c.MeasureAlways, c.Exec.Pack.Mode = place.KeptRates{}, true, mode
		c.Measure = func(string, *place.Placement) (place.Measurement, error) { return now, nil }
		pl, err := m.Place(c)
		if err != nil {
			t.Fatal(err)
		}
		if pl.Guessed() != (mode == pack.Off) {
			t.Errorf("%s: assumed is %v, of %v", mode, pl.Guessed(), pl.Input().Rates.Assumed)
		}
	}
	c := placeConfig(0)
	c.Rules.Rates, c.MeasureAlways, c.Exec.Pack.Mode = place.KeptRates{}, true, pack.Off
	now.Products = nil
	c.Measure = func(string, *place.Placement) (place.Measurement, error) { return now, nil }
	if pl, err := m.Place(c); err != nil || !slices.Contains(pl.Input().Rates.Assumed, place.UnpackedExperts) {
		t.Errorf("no product was measured: %v, %v", err, pl.Input().Rates.Assumed)
	}
}
