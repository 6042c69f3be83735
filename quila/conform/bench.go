package conform

import (
	"math"
	"math/rand/v2"
	"strings"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// A rig is the ports of a small network with random weights, one session, and the
// input of a step.
type rig struct {
	t     *report
	c     *config.Config
	r     *rand.Rand
	ports *neuron.Ports[float32]
	set   *weights.Set[float32]
	step  neuron.Step[float32]
	steps *neuron.Stepper[float32]
}

func newRig(t *report, change func(*config.Config)) *rig {
	c, err := config.Profile("nano")
	t.Must(err)
	c.N, c.D, c.KP, c.Thinkers = 12, 16, 4, 3
	if change != nil {
		change(&c)
	}
	g := &rig{t: t, c: &c, r: rand.New(rand.NewPCG(17, 4))}
	g.ports = neuron.NewPorts[float32](&c, nil)
	var specs []weights.Spec
	for _, s := range weights.Inventory(&c, 0) {
		if strings.HasPrefix(s.Name, "port.") || strings.HasPrefix(s.Name, "agg.") {
			specs = append(specs, s)
		}
	}
	g.set = weights.NewSet[float32](specs)
	for i := range specs {
		g.fill(&specs[i], g.set.At(i))
	}
	n := g.ports.Slots()
	g.step = neuron.Step[float32]{Phase: 5, X: g.normal(c.N*c.D, 1), Conf: g.positive(c.N), Utility: g.positive(c.N), Trace: g.positive(c.N),
		PTrace: g.positive(c.N), Slots: g.normal(n*c.D, 1), M: make([]float32, c.D), Confidence: make([]float32, 1)}
	return g
}

// fill draws the values of a tensor about where training starts.
func (g *rig) fill(s *weights.Spec, v []float32) {
	scale, mean := .1, 0.0
	switch s.Name[strings.LastIndexByte(s.Name, '.')+1:] {
	case "w_decay":
		mean = -math.Log(float64(g.c.N))
	case "tau":
		mean = math.Sqrt(float64(g.c.D))
	case "compress":
		scale = 1 / math.Sqrt(float64(g.c.CompressIn()))
	case "w_r", "w_k", "w_v", "q", "k", "v", "slot":
		scale = 1 / math.Sqrt(float64(g.c.D))
	}
	for i := range v {
		v[i] = float32(mean + scale*g.r.NormFloat64())
	}
	if strings.HasSuffix(s.Name, ".mhc") {
		at := g.c.MHCInit
		if s.Name == "port.generator.mhc" {
			at = g.c.WMax
		}
		for i := range v {
			if n := s.Dims[0]; i%n == i/n {
				v[i] += float32(at)
			} else {
				v[i] -= float32(at)
			}
		}
	}
}

func (g *rig) normal(n int, scale float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(scale * g.r.NormFloat64())
	}
	return v
}

func (g *rig) positive(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = .1 + g.r.Float32()
	}
	return v
}

// of are a port's values of a tensor.
func (g *rig) of(port, tensor string) []float32 { return g.set.Of("port." + port + "." + tensor) }

// run runs a step on a copy of the slots and returns the table after it.
func (g *rig) run() []float32 {
	s := g.step
	s.Slots = append([]float32(nil), s.Slots...)
	if g.steps == nil {
		g.steps = neuron.NewStepper(g.ports, g.set, 0)
	} else {
		g.steps.Fold(g.set)
	}
	g.t.Must(g.steps.Step(&s))
	return s.Slots
}

func (g *rig) detail(i int) *neuron.Detail[float32] { return g.steps.Detail(i, 0) }

// slot is row s of a table of slots.
func (g *rig) slot(table []float32, s int) []float32 { return table[s*g.c.D:][:g.c.D] }

// distance is ‖a − b‖.
func distance(a, b []float32) float64 {
	var sum float64
	for i := range a {
		e := float64(a[i]) - float64(b[i])
		sum += e * e
	}
	return math.Sqrt(sum)
}

func norm(a []float32) float64 { return distance(a, make([]float32, len(a))) }

// times multiplies a matrix of rows of len(x) with x, in float64.
func times(m, x []float32) []float64 {
	out := make([]float64, len(m)/len(x))
	for i := range out {
		for j, v := range x {
			out[i] += float64(m[i*len(x)+j]) * float64(v)
		}
	}
	return out
}
