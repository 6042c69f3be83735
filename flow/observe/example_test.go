package observe_test

import (
	"fmt"
	"log"
	"strings"

	"atenia/flow"
	"atenia/flow/observe"
)

func Example() {
	meter := flow.NewMeter([]string{"gain"})
	meter.Add(0, flow.Forward, 0.25)
	set := observe.New()
	set.Update(observe.Snapshot{Metrics: meter.Report(), Blocks: 1})
	var text strings.Builder
	if err := set.WriteText(&text); err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "atenia_flow_heat_joules") {
			fmt.Print(line)
		}
	}
	// Output:
	// atenia_flow_heat_joules_total{mode="backward",node="gain"} 0
	// atenia_flow_heat_joules_total{mode="forward",node="gain"} 0.25
}
