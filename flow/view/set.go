package view

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"atenia/flow"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// A Snapshot is the state of a session at one time. All counts are since its
// start.
type Snapshot struct {
	Metrics   flow.Metrics
	Blocks    int64
	Late      int64 // blocks that missed their deadline
	Muted     int64 // blocks in which some output was replaced by zeros
	Channels  []Channel
	Gradients []Gradient
}

// A Channel is the fill level of an edge's channel, in frames.
type Channel struct {
	Edge           string // "source.port → target.port"
	Used, Capacity int64
}

// A Gradient is the Euclidean norm of a parameter's gradient.
type Gradient struct {
	Node, Parameter string
	Norm            float64
}

// A Metrics holds the metrics of a session. [NewMetrics] makes one. Its methods may be called from several
// goroutines.
type Metrics struct {
	registry *prometheus.Registry
	mu       sync.Mutex
	last     Snapshot
}

// The descriptions, in the order of the package's table.
var (
	descHeat     = desc("heat_joules_total", "Heat that a node reported, in joules.", "node", "mode")
	descCalls    = desc("calls_total", "Calls of a node.", "node", "mode")
	descSeconds  = desc("call_seconds_total", "Time that a node's calls took.", "node", "mode")
	descDelay    = desc("measured_delay_frames", "The largest delay that a node reported, in frames.", "node")
	descIgnored  = desc("heat_ignored_total", "Reports of heat that were no finite number.")
	descTotal    = desc("graph_heat_joules_total", "Heat of all nodes together, in joules.", "mode")
	descBlocks   = desc("blocks_total", "Blocks run.")
	descLate     = desc("late_blocks_total", "Blocks that missed their deadline.")
	descMuted    = desc("muted_blocks_total", "Blocks in which a node's output was replaced by zeros.")
	descChannel  = desc("channel_frames", "Frames in the channel of an edge, and how many it can hold.", "edge", "state")
	descGradient = desc("gradient_norm", "Euclidean norm of a parameter's gradient in the last sweep.", "node", "parameter")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("atenia_flow_"+name, help, labels, nil)
}

// NewMetrics returns metrics that are all zero. Pass [Metrics.Handler] to an HTTP server,
// and call [Metrics.Update] from the goroutine that runs the session.
func NewMetrics() *Metrics {
	s := &Metrics{registry: prometheus.NewRegistry()}
	s.registry.MustRegister(collector{s})
	return s
}

// Update replaces the snapshot that is served. The set keeps v: the caller must
// not modify it afterwards.
func (s *Metrics) Update(v Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = v
}

// Handler returns a handler that serves the metrics.
func (s *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// WriteText writes the metrics in the Prometheus text format.
func (s *Metrics) WriteText(w io.Writer) error {
	families, err := s.registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

// A collector produces metrics from the last snapshot whenever it is scraped.
type collector struct{ s *Metrics }

func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descHeat, descCalls, descSeconds, descDelay, descIgnored, descTotal, descBlocks, descLate, descMuted, descChannel, descGradient,
	} {
		to <- d
	}
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	c.s.mu.Lock()
	v := c.s.last
	c.s.mu.Unlock()
	put := func(d *prometheus.Desc, t prometheus.ValueType, x float64, labels ...string) {
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		to <- prometheus.MustNewConstMetric(d, t, x, labels...)
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	for _, n := range v.Metrics.Nodes {
		for _, mode := range []flow.Mode{flow.Forward, flow.Backward} {
			put(descHeat, counter, n.Joules[mode], n.Name, mode.String())
			put(descCalls, counter, float64(n.Calls[mode]), n.Name, mode.String())
			put(descSeconds, counter, float64(n.Nanos[mode])*1e-9, n.Name, mode.String())
		}
		put(descDelay, gauge, float64(n.MeasuredDelay), n.Name)
	}
	put(descIgnored, counter, float64(v.Metrics.Ignored))
	for _, mode := range []flow.Mode{flow.Forward, flow.Backward} {
		put(descTotal, counter, v.Metrics.Joules[mode], mode.String())
	}
	put(descBlocks, counter, float64(v.Blocks))
	put(descLate, counter, float64(v.Late))
	put(descMuted, counter, float64(v.Muted))
	for _, e := range v.Channels {
		put(descChannel, gauge, float64(e.Used), e.Edge, "used")
		put(descChannel, gauge, float64(e.Capacity), e.Edge, "capacity")
	}
	for _, g := range v.Gradients {
		put(descGradient, gauge, g.Norm, g.Node, g.Parameter)
	}
}
