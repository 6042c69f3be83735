package decide_test

import (
	"fmt"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/record"
)

// A listener is a function that listens.
type listener func(*record.Record)

func (f listener) Decided(r *record.Record) { f(r) }

// A decision is recorded, then asked again as if there was no GPU.
func ExampleCheckLog() {
	var log strings.Builder
	r := decide.Recorder{Journal: record.NewJournal(record.Config{Listeners: []record.Listener{listener(func(r *record.Record) {
		line, _ := r.AppendLine(nil)
		log.Write(append(line, '\n'))
	})}})}
	r.Target(decide.Kernel{Name: "matmul"}, []memory.Tier{memory.RAM}, memory.Snapshot{}, decide.Executors{GPU: true})

	same, _ := decide.CheckLog(strings.NewReader(log.String()))
	other, _ := decide.WhatIf(strings.NewReader(log.String()), "no-gpu")
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
