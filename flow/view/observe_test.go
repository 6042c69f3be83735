package view

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atenia/flow"
)

// snapshot is a session of two nodes.
func snapshot() Snapshot {
	return Snapshot{
		Metrics: flow.Metrics{Joules: [2]float64{0.5, 1}, Nodes: []flow.NodeMetrics{
			{Name: "osc", Joules: [2]float64{0.5}, Calls: [2]int64{2}, Nanos: [2]int64{1500}},
			{Name: "b\xffad", Joules: [2]float64{0, 1}, Calls: [2]int64{0, 1}, MeasuredDelay: 37, UnderDeclared: true},
		}},
		Blocks: 2, Late: 1, Muted: 3,
		Channels:  []Channel{{"osc → bad", 64, 128}},
		Gradients: []Gradient{{"osc", "frequency_hz", 0.5}},
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	s := NewMetrics()
	s.Update(snapshot())
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = `atenia_flow_blocks_total 2
atenia_flow_call_seconds_total{mode="backward",node="b�ad"} 0
atenia_flow_call_seconds_total{mode="backward",node="osc"} 0
atenia_flow_call_seconds_total{mode="forward",node="b�ad"} 0
atenia_flow_call_seconds_total{mode="forward",node="osc"} 1.5e-06
atenia_flow_calls_total{mode="backward",node="b�ad"} 1
atenia_flow_calls_total{mode="backward",node="osc"} 0
atenia_flow_calls_total{mode="forward",node="b�ad"} 0
atenia_flow_calls_total{mode="forward",node="osc"} 2
atenia_flow_channel_frames{edge="osc → bad",state="capacity"} 128
atenia_flow_channel_frames{edge="osc → bad",state="used"} 64
atenia_flow_gradient_norm{node="osc",parameter="frequency_hz"} 0.5
atenia_flow_graph_heat_joules_total{mode="backward"} 1
atenia_flow_graph_heat_joules_total{mode="forward"} 0.5
atenia_flow_heat_ignored_total 0
atenia_flow_heat_joules_total{mode="backward",node="b�ad"} 1
atenia_flow_heat_joules_total{mode="backward",node="osc"} 0
atenia_flow_heat_joules_total{mode="forward",node="b�ad"} 0
atenia_flow_heat_joules_total{mode="forward",node="osc"} 0.5
atenia_flow_late_blocks_total 1
atenia_flow_measured_delay_frames{node="b�ad"} 37
atenia_flow_measured_delay_frames{node="osc"} 0
atenia_flow_muted_blocks_total 3
`
	var got strings.Builder
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
	}
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), "\natenia_flow_late_blocks_total 1\n") {
		t.Errorf("got %s", w.Body.String())
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := NewTrace(&b)
	w.Call(Call{Node: "osc", Start: time.Microsecond, Took: 2 * time.Microsecond})
	w.Call(Call{Node: "osc", Mode: flow.Backward, Worker: 1, Start: 4 * time.Microsecond, Took: time.Microsecond})
	s := snapshot()
	w.Snapshot(5*time.Microsecond, &s)
	w.Late(6 * time.Microsecond)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var events []struct {
		Name  string
		Ph    string
		TS    float64
		Dur   float64
		Args  map[string]any
		Scope string `json:"s"`
	}
	if err := json.Unmarshal([]byte(b.String()), &events); err != nil {
		t.Fatal(err, b.String())
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Ph+" "+e.Name)
		if e.Name == "osc" && (e.TS != 1 || e.Dur != 2) {
			t.Errorf("got %+v", e)
		}
		if e.Name == "frames in channels" && e.Args["osc → bad"] != 64.0 {
			t.Errorf("got %+v", e)
		}
	}
	const want = "M thread_name, X osc, M thread_name, X osc ∇, C joules, C frames in channels, C blocks, C gradient norms, i LATE"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got %s", s)
	}
}
