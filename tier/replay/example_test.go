package replay_test

import (
	"fmt"
	"strings"

	"atenia/tier"
	"atenia/tier/decision"
	"atenia/tier/replay"
	"atenia/tier/stream"
)

// A decision is recorded, then asked again as if there was no GPU.
func Example() {
	var log strings.Builder
	r := replay.Recorder{Journal: decision.NewJournal(decision.Config{Listeners: []decision.Listener{decision.Func(func(r *decision.Record) {
		line, _ := r.AppendLine(nil)
		log.Write(append(line, '\n'))
	})}})}
	r.Plan(stream.Kernel{Name: "matmul"}, []tier.Tier{tier.RAM}, tier.Snapshot{}, true)

	same, _ := replay.Check(strings.NewReader(log.String()))
	other, _ := replay.WhatIf(strings.NewReader(log.String()), "no-gpu")
	fmt.Println(len(same.Differences), "differences")
	for _, f := range other.Differences[0].Fields {
		fmt.Printf("%s: %s → %s\n", f.Name, f.Recorded, f.Replayed)
	}
	// Output:
	// 0 differences
	// rule: GpuPreferred → GpuNotAvailable
	// target: Gpu → CpuFallback
	// reason: GPU execution preferred → GPU not available
}
