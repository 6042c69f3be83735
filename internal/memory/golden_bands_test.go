package memory_test

import (
	"testing"

	"atenia/internal/memory"
	"atenia/internal/policy/learn"
)

func init() { goldenTopics["bands"] = runBands }

// A learnContext is a context as cases write it.
type learnContext struct {
	GPU  bool `json:"gpu_available"`
	VRAM f32  `json:"vram_pressure"`
	RAM  f32  `json:"ram_pressure"`
}

// context passes pressures on unchecked: NaN is in the highest band.
func (c learnContext) context() learn.Context {
	return learn.Context{GPU: c.GPU, VRAM: *c.VRAM.v, RAM: *c.RAM.v}
}

func runBands(t *testing.T, c *goldenCase) {
	switch c.Fn {
	case "band":
		var in struct{ Pressure f32 }
		var want struct{ Band learn.Band }
		c.decode(t, &in, &want)
		if got := learn.BandOf(*in.Pressure.v); got != want.Band {
			t.Errorf("band %d, want %d", got, want.Band)
		}
	case "band_to_pressure":
		var in struct{ Band learn.Band }
		var want struct {
			Pressure f32
			Band     learn.Band
		}
		c.decode(t, &in, &want)
		if got := in.Band.Pressure(); !want.Pressure.same(got) || learn.BandOf(got) != want.Band {
			t.Errorf("pressure %v of band %d, want %v of %d", got, learn.BandOf(got), want.Pressure, want.Band)
		}
	case "context_from_pressures":
		var in learnContext
		var want struct {
			VRAM     f32        `json:"vram_pressure"`
			RAM      f32        `json:"ram_pressure"`
			VRAMBand learn.Band `json:"vram_band"`
			RAMBand  learn.Band `json:"ram_band"`
		}
		c.decode(t, &in, &want)
		got := learn.NewContext(in.GPU, *in.VRAM.v, *in.RAM.v)
		if !want.VRAM.same(got.VRAM) || !want.RAM.same(got.RAM) {
			t.Errorf("got %+v, want %v, %v", got, want.VRAM, want.RAM)
		}
		if b := (learn.Bucket{GPU: in.GPU, VRAM: want.VRAMBand, RAM: want.RAMBand}); got.Bucket() != b {
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
