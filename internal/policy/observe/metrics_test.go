package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/record"
)

// text returns the metrics without comments and zeros of histograms.
func text(t *testing.T, s *metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var out strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func metricsTask(s *metrics, id uint64, l lane.Lane, name string, err error) {
	s.Event(lane.Event{Phase: lane.Begin, ID: id, Lane: l, Name: name, At: time.Second})
	s.Event(lane.Event{Phase: lane.End, ID: id, Lane: l, Name: name, Bytes: 100, At: 2 * time.Second, Err: err})
}

func TestSet(t *testing.T) {
	s := newMetrics()
	s.Tier(memory.RAM, 10, 2, 100)
	s.Tier(memory.SSD, 50, 0, 0)
	s.Moved(memory.RAM, memory.SSD, 7, time.Second)
	metricsTask(s, 1, lane.IO, "prefetch:w", nil)
	metricsTask(s, 2, lane.Transfer, "move:ram->vram:w:x", nil)
	metricsTask(s, 3, lane.Transfer, "move:ram->moon:w", nil)
	metricsTask(s, 4, lane.Transfer, "copy", nil)
	metricsTask(s, 5, lane.IO, "prefetch:w", errors.New("lost"))
	metricsTask(s, 6, lane.Compute, "k", nil)
	s.Event(lane.Event{Phase: lane.End, ID: 9, Lane: lane.IO})
	s.Prefetched(3, 1)
	s.Overlap(0.9)
	s.Experts(5, 2, 4096, 3*time.Second)
	s.PredictionError(2, 2.5)
	s.PredictionError(0, 1)
	s.Regret(0.25)
	s.WrittenSSD(1000)
	s.Corrupt()
	rec := record.Record{Content: record.Content{Component: "planner", Rule: "GpuNotAvailable", Target: "CpuFallback", Reason: "VRAM pressure too high"}}
	s.Decided(&rec)
	rec.Reason = decide.NoGPU // is none
	s.Decided(&rec)
	const want = `atenia_cache_corrupt_total 1
atenia_decisions_total{component="planner",rule="GpuNotAvailable"} 2
atenia_dispatches_total 0
atenia_expert_read_bytes_total 4096
atenia_expert_wait_seconds_total 3
atenia_experts_total{result="hit"} 5
atenia_experts_total{result="miss"} 2
atenia_fallback_total{reason="VRAM pressure too high"} 1
atenia_launches_total 0
atenia_move_bytes_total{from="ram",to="ssd"} 7
atenia_move_bytes_total{from="ram",to="vram"} 100
atenia_move_bytes_total{from="ssd",to="ram"} 100
atenia_move_seconds_sum 3
atenia_move_seconds_count 3
atenia_overlap_ratio 0.9
atenia_plan_error_ratio 0.25
atenia_prefetch_total{result="hit"} 3
atenia_prefetch_total{result="late"} 1
atenia_ssd_written_bytes_total 1000
atenia_step_dispatches 0
atenia_step_launches 0
atenia_tier_bytes{state="budget",tier="ram"} 100
atenia_tier_bytes{state="reserved",tier="ram"} 2
atenia_tier_bytes{state="reserved",tier="ssd"} 0
atenia_tier_bytes{state="used",tier="ram"} 10
atenia_tier_bytes{state="used",tier="ssd"} 50
atenia_trainer_regret 0.25
`
	if got := text(t, s); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for i := range 2 * maxReasons {
		rec.Reason = fmt.Sprint("reason \xff", i)
		s.Decided(&rec)
	}
	if n := strings.Count(text(t, s), "atenia_fallback_total"); n != maxReasons+1 {
		t.Errorf("%d reasons", n)
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	at, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() { done <- newMetrics().Serve(ctx, "127.0.0.1:0", func(a net.Addr) { at <- a }) }()
	url := "http://" + (<-at).String()
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/": http.StatusNotFound} {
		r, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Body.Close() != nil || r.StatusCode != want || want == http.StatusOK && !strings.Contains(string(body), "atenia_overlap_ratio 0") {
			t.Errorf("%s: %v, %d, %s", path, err, r.StatusCode, body)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := newMetrics().Serve(t.Context(), "nowhere:-1", nil); err == nil {
		t.Error("serves nowhere")
	}
}
