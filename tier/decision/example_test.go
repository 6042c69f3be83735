package decision_test

import (
	"fmt"

	"atenia/tier/decision"
)

func Example() {
	j := decision.NewJournal(decision.Config{Listeners: []decision.Listener{decision.Func(func(r *decision.Record) {
		fmt.Println(r.Seq, r.Component, r.Rule, "→", r.Target+":", r.Reason, string(r.Inputs))
	})}})
	_, err := j.Add(decision.Draft{
		Component: "placement", Rule: "NoGPU", Target: "Cpu", Reason: "No GPU detected", Inputs: map[string]int{"bytes": 4000},
	})
	fmt.Println(err)
	// Output:
	// 0 placement NoGPU → Cpu: No GPU detected {"bytes":4000}
	// <nil>
}
