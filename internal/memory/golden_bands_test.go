package memory_test

import (
	"testing"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
)

func init() { goldenTopics["bands"] = runBands }

// A learnContext is a context as cases write it.
type learnContext struct {
	GPU  bool `json:"gpu_available"`
	VRAM f32  `json:"vram_pressure"`
	RAM  f32  `json:"ram_pressure"`
}

// context passes pressures on unchecked: NaN is in the highest band.
func (c learnContext) context() decide.Context {
	return decide.Context{GPU: c.GPU, VRAM: *c.VRAM.v, RAM: *c.RAM.v}
}

func runBands(t *testing.T, c *goldenCase) {
	switch c.Fn {
	case "band":
		var in struct{ Pressure f32 }
		var want struct{ Band decide.Band }
		c.decode(t, &in, &want)
		if got := decide.BandOf(*in.Pressure.v); got != want.Band {
			t.Errorf("band %d, want %d", got, want.Band)
		}
	case "band_to_pressure":
		var in struct{ Band decide.Band }
		var want struct {
			Pressure f32
			Band     decide.Band
		}
		c.decode(t, &in, &want)
		if got := in.Band.Pressure(); !want.Pressure.same(got) || decide.BandOf(got) != want.Band {
			t.Errorf("pressure %v of band %d, want %v of %d", got, decide.BandOf(got), want.Pressure, want.Band)
		}
	case "context_from_pressures":
		var in learnContext
		var want struct {
			VRAM     f32         `json:"vram_pressure"`
			RAM      f32         `json:"ram_pressure"`
			VRAMBand decide.Band `json:"vram_band"`
			RAMBand  decide.Band `json:"ram_band"`
		}
		c.decode(t, &in, &want)
		got := decide.NewContext(in.GPU, *in.VRAM.v, *in.RAM.v)
		if !want.VRAM.same(got.VRAM) || !want.RAM.same(got.RAM) {
			t.Errorf("got %+v, want %v, %v", got, want.VRAM, want.RAM)
		}
		if b := (decide.Bucket{GPU: in.GPU, VRAM: want.VRAMBand, RAM: want.RAMBand}); got.Bucket() != b {
			t.Errorf("got %+v, want %+v", got.Bucket(), b)
		}
	case "effective_pressures":
		var in pressures
		var want struct{ Placement, Planning [2]f32 }
		c.decode(t, &in, &want)
		s := in.snapshot()
		v, r := memory.PlacementPressures(s.VRAM.Pressure, s.RAM.Pressure)
		if !want.Placement[0].same(v) || !want.Placement[1].same(r) {
			t.Errorf("placement: got %v and %v, want %v", v, r, want.Placement)
		}
		v, r = memory.PlanningPressures(s.VRAM.Pressure, s.RAM.Pressure)
		if !want.Planning[0].same(v) || !want.Planning[1].same(r) {
			t.Errorf("planning: got %v and %v, want %v", v, r, want.Planning)
		}
	default:
		t.Fatalf("no function %s", c.Fn)
	}
}
