package engine

import (
	"slices"
	"testing"

	"atenia/internal/memory/place"
)

// TestRatesTakeTurns: where reading and computing at once was not measured, for want of
// memory, one is assumed to wait for the other, and that is said.
func TestRatesTakeTurns(t *testing.T) {
	f := &footprint{}
	r := f.rates(&PlaceConfig{}, place.Measurement{KeptRates: place.KeptRates{SSD: 1e9, RAM: 10e9}})
	if r.SSDBusy != 0.5e9 || r.RAMBusy != 5e9 || !slices.Contains(r.Assumed, "both at once") {
		t.Errorf("%+v", r)
	}
	r = f.rates(&PlaceConfig{}, place.Measurement{KeptRates: place.KeptRates{SSD: 1e9, RAM: 10e9, SSDBusy: 0.8e9, RAMBusy: 6e9}})
	if r.SSDBusy != 0.8e9 || r.RAMBusy != 6e9 || slices.Contains(r.Assumed, "both at once") {
		t.Errorf("%+v", r)
	}
}
