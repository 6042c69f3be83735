package record_test

import (
	"fmt"

	"atenia/internal/policy/record"
)

// A printer is a function that listens.
type printer func(*record.Record)

func (f printer) Decided(r *record.Record) { f(r) }

func Example() {
	j := record.NewJournal(record.Config{Listeners: []record.Listener{printer(func(r *record.Record) {
		fmt.Println(r.Seq, r.Component, r.Rule, "→", r.Target+":", r.Reason, string(r.Inputs))
	})}})
	_, err := j.Add(record.Draft{
		Component: "placement", Rule: "NoGPU", Target: "Cpu", Reason: "No GPU detected", Inputs: map[string]int{"bytes": 4000},
	})
	fmt.Println(err)
	// Output:
	// 0 placement NoGPU → Cpu: No GPU detected {"bytes":4000}
	// <nil>
}
