package view_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/view"
)

// What a session's nodes cost, in the format of Prometheus. The node gain costs
// 1/16 J per frame.
func Example_observe() {
	plan, err := graph.Parse([]byte(`{
		"nodes": [
			{"name": "in", "type": "Input"},
			{"name": "gain", "type": "Gain", "params": {"gain": 0.5, "thermo.heat": 0.0625}},
			{"name": "out", "type": "Probe"}
		],
		"edges": [{"source": "in", "target": "gain"}, {"source": "gain", "target": "out"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	s, err := flow.New[float32](plan, flow.Options{BlockFrames: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Block(); err != nil {
		log.Fatal(err)
	}
	set := view.NewMetrics()
	set.Update(view.Snapshot{Metrics: s.Metrics(), Blocks: s.Blocks()})
	var text strings.Builder
	if err := set.WriteText(&text); err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "atenia_flow_heat_joules") && strings.Contains(line, "gain") {
			fmt.Print(line)
		}
	}
	// Output:
	// atenia_flow_heat_joules_total{mode="backward",node="gain"} 0
	// atenia_flow_heat_joules_total{mode="forward",node="gain"} 0.25
}

// A trace shows calls, counts and late blocks on a time line, for
// chrome://tracing and Perfetto.
func ExampleTrace() {
	var text strings.Builder
	trace := view.NewTrace(&text)
	trace.Call(view.Call{Node: "gain", Start: 0, Took: 50 * time.Microsecond})
	trace.Snapshot(time.Millisecond, &view.Snapshot{Late: 1})
	trace.Late(time.Millisecond)
	if err := trace.Close(); err != nil {
		log.Fatal(err)
	}
	for _, what := range []string{`"gain"`, `"blocks"`, `"LATE"`} {
		fmt.Println(what, strings.Contains(text.String(), what))
	}
	// Output:
	// "gain" true
	// "blocks" true
	// "LATE" true
}

// Metrics are served where Prometheus looks for them.
func ExampleMetrics_Handler() {
	set := view.NewMetrics()
	set.Update(view.Snapshot{Blocks: 7})
	server := httptest.NewServer(set.Handler())
	defer server.Close()
	answer, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	fmt.Println(strings.Contains(string(text), "atenia_flow_blocks_total 7"), err)
	// Output: true <nil>
}
