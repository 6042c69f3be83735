package decide_test

import (
	"fmt"

	"atenia/internal/policy/decide"
)

// The device did well under little pressure, so it is preferred there.
func Example() {
	var t decide.Trainer
	c := decide.NewContext(true, 0.1, 0.3)
	for range 8 {
		t.Record(c, decide.GPU, true, 10, false)
	}
	t.Record(c, decide.CPU, true, 2, false)
	fmt.Println(t.Recommend(c.Bucket()))
	fmt.Print(t.String())
	// Output:
	// Gpu
	// ATENIA_SELFTRAINER_V1
	// gpu_avail=1;vram_band=0;ram_band=0;backend=cpu;count=1;success=1;score_sum=2;drift=0
	// gpu_avail=1;vram_band=0;ram_band=0;backend=gpu;count=8;success=8;score_sum=80;drift=0
}
