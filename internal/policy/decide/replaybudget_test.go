package decide

import (
	"encoding/json"
	"reflect"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
)

// TestBudgetInputsWhole: a record has all that a placement depends on.
func TestBudgetInputsWhole(t *testing.T) {
	pin, err := place.ParsePin("a=ssd")
	if err != nil {
		t.Fatal(err)
	}
	in := place.Input{
		Tensors: []place.Tensor{{Name: "a", Sources: []string{"b"}, Bytes: 1, Class: place.Expert, Uses: 1, PerToken: 1, Window: 1, Effort: 1, ByRow: true, RowBytes: 1, Experts: 1, Unit: 1, Held: "c"}},
		Files:   []place.Part{{Name: "f", Bytes: 1}}, RAM: 1, SSD: 1, Devices: []place.Device{{ID: "d", Bytes: 1}}, Reserves: []place.Reserve{{Name: "r", Bytes: 1}},
		Pins: []place.Pin{pin}, MaxTier: new(memory.SSD), RequireGPU: true, Slots: 3, RingPage: 1, Rates: place.Rates{SSD: 1, Chosen: place.ChosenRate{Each: 1}},
		Corrections: []place.Correction{{Class: "c", Ratio: 1, Runs: 1}}, Packed: true, Batch: 1, Text: 1, Chunk: 1, FLOP: 1,
	}
	whole := func(v reflect.Value) {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s is not tested", v.Type().Field(i).Name)
			}
		}
	}
	whole(reflect.ValueOf(in))
	whole(reflect.ValueOf(in.Tensors[0]))
	b, err := json.Marshal(budgetInputsOf(in))
	if err != nil {
		t.Fatal(err)
	}
	var read budgetInputs
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	got, err := read.input()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Pins) != 1 || got.Pins[0].String() != pin.String() {
		t.Errorf("pins %v", got.Pins)
	}
	got.Pins, in.Pins = nil, nil
	if !reflect.DeepEqual(got, in) {
		t.Errorf("%+v\nis read as\n%+v", in, got)
	}
}
