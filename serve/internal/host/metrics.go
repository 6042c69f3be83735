package host

// What is counted, for Prometheus.

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"atenia"
	"atenia/place"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what a server counts, in a registry of its own. Nothing in them is
// chosen by clients: labels are routes and models of the pool.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
	drafts   *prometheus.CounterVec
	accepted *prometheus.CounterVec
	// modelDrafts and modelAccepted are those of drafts and accepted by a draft model.
	modelDrafts, modelAccepted *prometheus.CounterVec
	first                      *prometheus.HistogramVec
	between                    *prometheus.HistogramVec
	loads                      *prometheus.CounterVec
	loadTime                   *prometheus.GaugeVec
	tools                      *prometheus.CounterVec
	toolTime                   *prometheus.HistogramVec
	generating                 prometheus.Gauge
}

// NewMetrics returns metrics at zero.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "atenia_" + name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	times := func(name, help string, low float64, labels ...string) *prometheus.HistogramVec {
		const buckets, factor = 16, 2
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "atenia_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(low, factor, buckets)}, labels)
		m.registry.MustRegister(v)
		return v
	}
	m.requests = vec("requests_total", "Requests by route and status.", "route", "status")
	m.seconds = times("request_seconds", "Time of whole requests.", 0.001, "route")
	m.tokens = vec("tokens_total", "Tokens of prompts and answers.", "model", "kind")
	m.drafts = vec("spec_decode_num_draft_tokens_total", "Drafted tokens that were computed.", "model")
	m.accepted = vec("spec_decode_num_accepted_tokens_total", "Drafted tokens that were what the sampler chose.", "model")
	m.modelDrafts = vec("spec_decode_num_model_draft_tokens_total", "Of these, tokens that a draft model drafted.", "model")
	m.modelAccepted = vec("spec_decode_num_model_accepted_tokens_total", "Of these, tokens that were what the sampler chose.", "model")
	m.first = times("first_token_seconds", "Time from a request's arrival to its first token.", 0.001, "model")
	m.between = times("between_tokens_seconds", "Time between tokens of an answer.", 0.0001, "model")
	m.loads = vec("model_loads_total", "Loads of models by result.", "model", "result")
	m.tools = vec("tool_decisions_total", "What was done about tools of MCP servers.", "server", "action", "result")
	m.toolTime = times("tool_seconds", "Time of calls of tools of MCP servers.", 0.001, "server")
	m.loadTime = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "atenia_model_load_seconds", Help: "Time of the last load."}, []string{"model"})
	m.generating = prometheus.NewGauge(prometheus.GaugeOpts{Name: "atenia_generating", Help: "Answers under way, those that wait for a slot included."})
	m.registry.MustRegister(m.loadTime, m.generating)
	// Goroutines, memory and descriptors: a leak is seen before it is felt.
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) request(pattern string, status int, took time.Duration) {
	if status == 0 {
		status = http.StatusOK
	}
	_, path, _ := strings.Cut(pattern, " ")
	m.requests.WithLabelValues(path, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(path).Observe(took.Seconds())
}

func (m *Metrics) token(model string, first bool, took time.Duration) {
	m.tokens.WithLabelValues(model, "answer").Inc()
	if first {
		m.first.WithLabelValues(model).Observe(took.Seconds())
	} else {
		m.between.WithLabelValues(model).Observe(took.Seconds())
	}
}

func (m *Metrics) prompt(model string, u *atenia.Usage) {
	m.tokens.WithLabelValues(model, "prompt").Add(float64(u.Prompt))
	m.tokens.WithLabelValues(model, "cached").Add(float64(u.Cached))
	m.drafts.WithLabelValues(model).Add(float64(u.Drafted))
	m.accepted.WithLabelValues(model).Add(float64(u.Accepted))
	m.modelDrafts.WithLabelValues(model).Add(float64(u.ModelDrafted))
	m.modelAccepted.WithLabelValues(model).Add(float64(u.ModelAccepted))
}

// tool counts a decision about a tool. Server is a name of the configuration.
func (m *Metrics) tool(server, action, result string, seconds float64) {
	m.tools.WithLabelValues(server, action, result).Inc()
	if action == "call" {
		m.toolTime.WithLabelValues(server).Observe(seconds)
	}
}

// Loaded counts a load of a model: see [PoolConfig].
func (m *Metrics) Loaded(model string, took time.Duration, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.loads.WithLabelValues(model, result).Inc()
	m.loadTime.WithLabelValues(model).Set(took.Seconds())
}

// Watch adds what a host knows by itself: requests under way, cached bytes and loaded
// models.
func (m *Metrics) Watch(h *Host) {
	gauge := func(name, help string, f func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "atenia_" + name, Help: help}, f))
	}
	gauge("requests_running", "Requests under way.", func() float64 { return float64(h.Running()) })
	gauge("cache_bytes", "Bytes of cached keys and values of all models.", func() float64 { return float64(h.Pool.cacheBytes()) })
	gauge("cache_disk_bytes", "Bytes of keys and values in files.", func() float64 { return float64(h.Pool.cached().DiskBytes) })
	gauge("cache_disk_files", "Files of keys and values.", func() float64 { return float64(h.Pool.cached().DiskFiles) })
	counter := func(name, help, label, value string, f func(*place.CacheStats) int64) {
		o := prometheus.CounterOpts{Name: "atenia_" + name, Help: help}
		if label != "" {
			o.ConstLabels = prometheus.Labels{label: value}
		}
		m.registry.MustRegister(prometheus.NewCounterFunc(o, func() float64 {
			c := h.Pool.cached()
			return float64(f(&c))
		}))
	}
	const hits, tokens = "Prompts that began with keys and values that were there.", "Tokens of prompts whose keys and values were there."
	counter("prefix_hits_total", hits, "from", "memory", func(c *place.CacheStats) int64 { return c.MemoryPrompts })
	counter("prefix_hits_total", hits, "from", "disk", func(c *place.CacheStats) int64 { return c.DiskPrompts })
	counter("prefix_hit_tokens_total", tokens, "from", "memory", func(c *place.CacheStats) int64 { return c.MemoryTokens })
	counter("prefix_hit_tokens_total", tokens, "from", "disk", func(c *place.CacheStats) int64 { return c.DiskTokens })
	counter("cache_disk_read_bytes_total", "Bytes of keys and values read from files.", "", "", func(c *place.CacheStats) int64 { return c.ReadBytes })
	counter("cache_disk_written_bytes_total", "Bytes of keys and values written to files.", "", "", func(c *place.CacheStats) int64 { return c.WrittenBytes })
	counter("cache_disk_damaged_total", "Files of keys and values removed because they were damaged.", "", "", func(c *place.CacheStats) int64 { return c.Damaged })
	counter("cache_disk_failures_total", "Times that keys and values could not be written.", "", "", func(c *place.CacheStats) int64 { return c.Failed })
	if h.Pool.c.Open.Observe.Counters {
		steps := func(name, help string, f func(place.StepCounts) int64) {
			m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "atenia_" + name, Help: help}, func() float64 { return float64(f(h.Pool.steps())) }))
		}
		steps("dispatches_total", "Instructions that steps dispatched.", func(n place.StepCounts) int64 { return n.Dispatches })
		steps("launches_total", "Work that steps submitted to the worker pool.", func(n place.StepCounts) int64 { return n.Launches })
	}
	gauge("models_loaded", "Models in memory.", func() float64 {
		n := 0
		for _, i := range h.Pool.List() {
			if i.Loaded {
				n++
			}
		}
		return float64(n)
	})
}

// ServeHTTP writes all metrics in Prometheus's form.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, q)
}
