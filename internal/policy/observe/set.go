package observe

import (
	"strings"
	"sync"
	"time"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/record"

	"github.com/prometheus/client_golang/prometheus"
)

// A metrics holds the metrics of one run. It is a [lane.Sink] and a
// [record.Listener]. It is safe for concurrent use.
type metrics struct {
	registry *prometheus.Registry

	tierBytes   *prometheus.GaugeVec
	moveBytes   *prometheus.CounterVec
	moveSeconds prometheus.Histogram
	prefetch    *prometheus.CounterVec
	experts     *prometheus.CounterVec
	expertRead  prometheus.Counter
	expertWait  prometheus.Counter
	overlap     prometheus.Gauge
	decisions   *prometheus.CounterVec
	fallback    *prometheus.CounterVec
	ssdWritten  prometheus.Counter
	planError   prometheus.Gauge
	corrupt     prometheus.Counter
	regret      prometheus.Gauge
	steps       [2]prometheus.Gauge   // dispatches and launches of the last step
	totals      [2]prometheus.Counter // of all

	mu      sync.Mutex
	begun   map[uint64]time.Duration // running tasks
	reasons map[string]bool          // labels used for fallbacks
}

// maxReasons bounds the number of fallback labels; further ones are counted as
// "other".
const maxReasons = 64

// newMetrics returns metrics that are all zero.
func newMetrics() *metrics {
	s := &metrics{registry: prometheus.NewRegistry(), begun: map[uint64]time.Duration{}, reasons: map[string]bool{}}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "atenia_" + name, Help: help})
		s.registry.MustRegister(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "atenia_" + name, Help: help})
		s.registry.MustRegister(c)
		return c
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "atenia_" + name, Help: help}, labels)
		s.registry.MustRegister(c)
		return c
	}
	s.tierBytes = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "atenia_tier_bytes", Help: "Bytes of a memory: used, reserved for moves, and the budget."}, []string{"tier", "state"})
	s.moveSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "atenia_move_seconds", Help: "Time of one move between memories.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 12), // 10 µs to 42 s
	})
	s.registry.MustRegister(s.tierBytes, s.moveSeconds)
	s.moveBytes = counters("move_bytes_total", "Bytes copied between memories.", "from", "to")
	s.prefetch = counters("prefetch_total", "Prefetched tensors: ready when needed, or waited for.", "result")
	s.experts = counters("experts_total", "Experts of mixtures that tokens chose: in memory, or read.", "result")
	s.expertRead = counter("expert_read_bytes_total", "Bytes of experts that were read.")
	s.expertWait = counter("expert_wait_seconds_total", "Time that computing waited for experts.")
	s.overlap = gauge("overlap_ratio", "Share of moving that was hidden behind computing, 0 to 1.")
	s.decisions = counters("decisions_total", "Decisions by component and rule.", "component", "rule")
	s.fallback = counters("fallback_total", "Work degraded from a device to the processor.", "reason")
	s.ssdWritten = counter("ssd_written_bytes_total", "Bytes written to the SSD.")
	s.planError = gauge("plan_error_ratio", "Measured seconds of a pass over planned ones, less 1.")
	s.corrupt = counter("cache_corrupt_total", "Corrupt cache entries.")
	s.regret = gauge("trainer_regret", "Time spent over that of the fastest threads, less 1.")
	for i, what := range [2][2]string{{"dispatches", "Instructions that were dispatched"}, {"launches", "Work that was submitted to the worker pool"}} {
		s.steps[i] = gauge("step_"+what[0], what[1]+" by the last step.")
		s.totals[i] = counter(what[0]+"_total", what[1]+".")
	}
	for _, r := range []string{"hit", "late"} {
		s.prefetch.WithLabelValues(r) // exported from the start, as zero
	}
	return s
}

// Tier sets the account of a memory, in bytes. A budget of 0 is unlimited and
// not exported.
func (s *metrics) Tier(t memory.Tier, used, reserved, budget uint64) {
	set := func(state string, n uint64) { s.tierBytes.WithLabelValues(t.Lower(), state).Set(float64(n)) }
	set("used", used)
	set("reserved", reserved)
	if budget > 0 {
		set("budget", budget)
	}
}

// Moved counts a move that was not a task of a lane.
func (s *metrics) Moved(from, to memory.Tier, bytes uint64, took time.Duration) {
	s.moved(from.Lower(), to.Lower(), bytes, took)
}

func (s *metrics) moved(from, to string, bytes uint64, took time.Duration) {
	s.moveBytes.WithLabelValues(from, to).Add(float64(bytes))
	s.moveSeconds.Observe(took.Seconds())
}

// Prefetched counts prefetched tensors: ready when needed, or waited for.
func (s *metrics) Prefetched(hit, late uint64) {
	s.prefetch.WithLabelValues("hit").Add(float64(hit))
	s.prefetch.WithLabelValues("late").Add(float64(late))
}

// Experts counts experts of mixtures that tokens chose, what was read of them, and
// how long computing waited for that.
func (s *metrics) Experts(hits, misses, read uint64, wait time.Duration) {
	s.experts.WithLabelValues("hit").Add(float64(hits))
	s.experts.WithLabelValues("miss").Add(float64(misses))
	s.expertRead.Add(float64(read))
	s.expertWait.Add(wait.Seconds())
}

// Overlap sets the share of moving that was hidden behind computing.
func (s *metrics) Overlap(ratio float64) { s.overlap.Set(ratio) }

// PredictionError sets the measured seconds of a pass relative to the planned ones.
func (s *metrics) PredictionError(planned, measured float64) {
	if planned > 0 {
		s.planError.Set(measured/planned - 1)
	}
}

// Regret sets the regret of a policy.
func (s *metrics) Regret(r float64) { s.regret.Set(r) }

// WrittenSSD counts bytes written to the SSD.
func (s *metrics) WrittenSSD(bytes uint64) { s.ssdWritten.Add(float64(bytes)) }

// Corrupt counts a corrupt cache entry.
func (s *metrics) Corrupt() { s.corrupt.Inc() }

// Decided counts a decision.
func (s *metrics) Decided(r *record.Record) {
	s.decisions.WithLabelValues(valid(r.Component), valid(r.Rule)).Inc()
	if fallback(r) {
		s.fallback.WithLabelValues(s.reason(r.Reason)).Inc()
	}
}

// fallback reports whether a kernel was degraded from a device: a machine without one has none.
// The router's record of the same kernel follows that of the planner.
func fallback(r *record.Record) bool {
	return r.Component == "planner" && r.Target == "CpuFallback" && r.Reason != decide.NoGPU
}

// reason bounds the number of labels.
func (s *metrics) reason(text string) string {
	text = valid(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reasons[text] {
		if len(s.reasons) >= maxReasons {
			return "other"
		}
		s.reasons[text] = true
	}
	return text
}

// valid makes text a label, which must be UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Event counts the moves among the tasks of lanes: reads, and transfers, whose
// names contain both tiers.
func (s *metrics) Event(e lane.Event) {
	if e.Lane != lane.IO && e.Lane != lane.Transfer {
		return
	}
	s.mu.Lock()
	begin, ok := s.begun[e.ID]
	if e.Phase == lane.Begin {
		s.begun[e.ID] = e.At
	} else {
		delete(s.begun, e.ID)
	}
	s.mu.Unlock()
	if e.Phase == lane.Begin || !ok || e.Err != nil {
		return
	}
	from, to := "ssd", "ram"
	if e.Lane == lane.Transfer {
		rest, isMove := strings.CutPrefix(e.Name, "move:")
		route, _, _ := strings.Cut(rest, ":")
		if from, to, ok = strings.Cut(route, "->"); !isMove || !ok || !isTier(from) || !isTier(to) {
			return
		}
	}
	s.moved(from, to, e.Bytes, e.At-begin)
}

func isTier(s string) bool {
	t, ok := memory.Parse(s)
	return ok && t.Lower() == s
}
