package neuron_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// tinyPorts is a network of a few neurons.
func tinyPorts(t testing.TB, thinkers, kp int, change func(*config.Config)) *config.Config {
	t.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.N, c.D, c.H, c.A, c.S, c.D1, c.D2, c.Thinkers, c.KP, c.V, c.DE, c.WMQWindow = 4, 8, 8, 4, 2, 4, 2, thinkers, kp, 11, 8, 5
	c.MHCGrad = "exact"
	if change != nil {
		change(&c)
	}
	return &c
}

// A problem is a window and its inputs.
type problem struct {
	c      *config.Config
	ports  *neuron.Ports[float64]
	set    *weights.Set[float64]
	x      []float64
	conf   []float64
	util   []float64
	trace  []float64
	ptrace []float64
	slots  []float64
	e      []float64
	queue  *neuron.Queue[float64]
	gm, gc []float64
	t, b   int
	phase  int
}

func random(r *rand.Rand, n int, scale float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = scale * r.NormFloat64()
	}
	return v
}

func positive(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = .1 + r.Float64()
	}
	return v
}

func newProblem(t testing.TB, c *config.Config, phase int) *problem {
	r := rand.New(rand.NewPCG(3, uint64(c.Thinkers*10+c.KP)))
	p := &problem{c: c, ports: neuron.NewPorts[float64](c, nil), t: 3, b: 2, phase: phase}
	p.set = weights.To[float64](weights.Init(c, c.N*c.Deg, 7))
	for _, name := range p.ports.Tensors() {
		v := p.set.Of(name)
		for i := range v {
			v[i] += .1 * r.NormFloat64()
		}
	}
	for i := range c.Thinkers { // where some are aligned and some are not
		p.set.Of(fmt.Sprintf("port.thinker.%d.tau", i))[0] = 2.5
	}
	p.set.Of("port.planner.tau")[0] = 1
	tb := p.t * p.b
	p.x, p.conf, p.util = random(r, tb*c.N*c.D, 1), positive(r, tb*c.N), positive(r, tb*c.N)
	p.trace, p.ptrace = positive(r, tb*c.N), positive(r, p.b*c.N)
	p.slots, p.e = random(r, p.ports.Slots()*p.b*c.D, 1), random(r, tb*c.DE, 1)
	p.queue = neuron.NewQueue[float64](c, p.b)
	copy(p.queue.Entries, random(r, len(p.queue.Entries), 1))
	copy(p.queue.Last, random(r, len(p.queue.Last), 1))
	p.queue.Count = []int{3, 5}
	p.gm, p.gc = random(r, tb*c.D, 1), random(r, tb, 1)
	return p
}

// run records the window and the loss Σ gm·m + gc·conf.
func (p *problem) run(tb testing.TB, tape *grad.Tape[float64]) (loss grad.Ref, leaves map[string]grad.Ref) {
	tb.Helper()
	tape.Reset()
	leaves = map[string]grad.Ref{}
	for _, name := range p.ports.Tensors() {
		leaves[name] = tape.Borrow(p.set.Of(name), len(p.set.Of(name)))
	}
	c, rows := p.c, p.t*p.b
	leaves["x"], leaves["conf"], leaves["util"] = tape.Borrow(p.x, rows*c.N, c.D), tape.Borrow(p.conf, rows*c.N), tape.Borrow(p.util, rows*c.N)
	q := &neuron.Queue[float64]{}
	*q = *p.queue
	q.Entries, q.Last, q.Count = append([]float64(nil), q.Entries...), append([]float64(nil), q.Last...), append([]int(nil), q.Count...)
	w := &neuron.Window[float64]{T: p.t, B: p.b, Phase: p.phase, X: leaves["x"], Conf: leaves["conf"], Utility: leaves["util"],
		Trace: p.trace, PTrace: p.ptrace, Slots: append([]float64(nil), p.slots...), E: p.e, Queue: q}
	m, conf, err := p.ports.Run(tape, leaves, w)
	if err != nil {
		tb.Fatal(err)
	}
	loss = tape.Add(tape.Dot(m, tape.Const(p.gm, rows, c.D)), tape.Dot(conf, tape.Const(p.gc, rows)))
	return loss, leaves
}

func registry() *grad.Registry[float64] {
	var reg grad.Registry[float64]
	neuron.RegisterPort(&reg)
	return &reg
}

// values are the slices behind the leaves.
func (p *problem) values(name string) []float64 {
	switch name {
	case "x":
		return p.x
	case "conf":
		return p.conf
	case "util":
		return p.util
	}
	return p.set.Of(name)
}

// Every gradient of a window agrees with central differences, for one and two
// Thinkers, selections, open masks, the wide compression, a sigmoid outer form,
// the reader and Thinkers alone.
func TestPortWindowGradients(t *testing.T) {
	for _, v := range []struct {
		name         string
		thinkers, kp int
		phase        int
		change       func(*config.Config)
	}{
		{"all", 1, 4, 5, nil},
		{"two thinkers", 2, 4, 5, func(c *config.Config) { c.Aggr = "sigmoid" }},
		{"selection", 2, 2, 5, nil},
		{"open", 1, 2, 2, nil},
		{"padding", 1, 6, 5, nil},
		{"reader", 2, 4, 5, func(c *config.Config) { c.WMQRead = true }},
		{"thinkers alone", 2, 4, 5, func(c *config.Config) { c.TrainPorts = "thinkers" }},
		{"wide", 1, 127, 5, func(c *config.Config) { c.D, c.D1, c.D2, c.DE, c.SinkhornN = 64, 8, 8, 64, 3 }},
	} {
		t.Run(v.name, func(t *testing.T) {
			p := newProblem(t, tinyPorts(t, v.thinkers, v.kp, v.change), v.phase)
			if err := p.ports.SetOrder([]int32{2, 0, 3, 1}); err != nil {
				t.Fatal(err)
			}
			tape := grad.New(registry())
			loss, leaves := p.run(t, tape)
			if err := tape.Backward(loss); err != nil {
				t.Fatal(err)
			}
			grads := map[string][]float64{}
			for name, ref := range leaves {
				g, ok := tape.Grad(ref)
				if !ok {
					g = make([]float64, len(p.values(name)))
				}
				grads[name] = append([]float64(nil), g...)
			}
			inference := grad.New(registry(), grad.Recording(false))
			at := func() float64 { l, _ := p.run(t, inference); return inference.Value(l)[0] }
			r := rand.New(rand.NewPCG(1, 1))
			for name := range leaves {
				if name == "port.analysis.0.tau" || len(p.values(name)) == 0 {
					continue
				}
				values, g := p.values(name), grads[name]
				start, direction := slices.Clone(values), make([]float64, len(values))
				largest, sum := 0., 0.
				for i, x := range g {
					direction[i] = r.NormFloat64() / math.Sqrt(float64(len(g)))
					sum += x * direction[i]
					largest = math.Max(largest, math.Abs(x))
				}
				slope := func(direction []float64) float64 {
					const h = 1e-5
					var ends [2]float64
					for k, by := range []float64{h, -h} {
						for i, d := range direction {
							values[i] = start[i] + by*d
						}
						ends[k] = at()
					}
					copy(values, start)
					return (ends[0] - ends[1]) / (2 * h)
				}
				near := func(what string, got, want float64) {
					if math.Abs(got-want) > 1e-4*math.Max(largest, 1e-3) {
						t.Errorf("gradient of %s %s is %.8g, the difference says %.8g", name, what, got, want)
					}
				}
				near("along a direction of all elements", sum, slope(direction))
				elements := 1
				if await.Long() {
					elements = 4
				}
				for range elements {
					i, one := r.IntN(len(values)), make([]float64, len(values))
					one[i] = 1
					near(fmt.Sprintf("at %d", i), g[i], slope(one))
				}
			}
		})
	}
}
