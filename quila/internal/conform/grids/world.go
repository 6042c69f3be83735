package grids

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/conform"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/random"
	"atenia/quila/internal/topology"
	"atenia/quila/internal/weights"
)

// A world is a network with weights in which no term is trivial.
type world struct {
	c     config.Config
	graph *topology.Graph
	w     *weights.Set[float32]
	g     *grid.Grid
	close func() // ends the threads
}

// newWorld makes one from a profile. A nil graph is the initial one. With more
// than one thread it has to be closed.
func newWorld(t *conform.T, profile string, threads int, change func(c *config.Config), graph *topology.Graph) *world {
	x := &world{close: func() {}}
	var err error
	x.c, err = config.Profile(profile)
	t.Must(err)
	if change != nil {
		change(&x.c)
	}
	if x.graph = graph; graph == nil {
		x.graph = topology.Initial(&x.c)
	}
	x.w = weights.Init(&x.c, x.graph.Edges(), 1)
	noise := make([]float64, 61)
	for i := range x.w.Specs {
		if !x.w.Specs[i].Trained {
			continue
		}
		random.Stream{Seed: 9, Neuron: uint32(i)}.Normal(noise)
		for k, v := range x.w.At(i) {
			x.w.At(i)[k] = v + float32(.05*noise[k%len(noise)])
		}
	}
	x.bind(t, threads)
	return x
}

// bind makes the grid of the weights as they are.
func (x *world) bind(t *conform.T, threads int) {
	var team *grad.Threads
	if threads > 1 {
		team = grad.NewThreads(threads)
		x.close = team.Close
	}
	var err error
	x.g, err = grid.New(&x.c, x.graph, x.w, team)
	t.Must(err)
}

// code is a code's embedding.
func (x *world) code(token int) []float32 { return x.w.Rows("codebook.text", token%x.c.V) }

// token steps sessions by one token.
func (x *world) token(t *conform.T, k int, o grid.Options, sessions ...*grid.Session) {
	for _, s := range sessions {
		t.Must(s.Inject(0, x.code(k+int(s.Seed()))))
	}
	for range x.c.K {
		t.Must(x.g.Tick(sessions, o))
	}
}

// crowded are the options of a grid that uses everything.
func crowded(c *config.Config) {
	c.FP8, c.Stagger, c.PartialSend, c.Uncertainty, c.PartialSendThreshold = true, true, true, true, .09
}

// sparse are the options of a grid with refractory neurons and a cap.
func sparse(c *config.Config) { c.FP8, c.Stagger = true, true }

// differ says where two sessions differ first, "" if nowhere.
func differ(a, b *grid.Session) string {
	x, y := a.State(), b.State()
	p, q := x.Fields(), y.Fields()
	for i := range p {
		if k := unequal(p[i].Values, q[i].Values); k >= 0 {
			return fmt.Sprintf("%s[%d]", p[i].Name, k)
		}
	}
	for n, r := range x.Refractory {
		if r != y.Refractory[n] {
			return fmt.Sprintf("refractory[%d]", n)
		}
	}
	for i, v := range beside(a.Channels) {
		if k := unequal(v, beside(b.Channels)[i]); k >= 0 {
			return fmt.Sprintf("channel %d [%d]", i, k)
		}
	}
	return ""
}

// beside are the channels of S1, S5, S6 and S8 that hold floats.
func beside(k *grid.Channels) [][]float32 {
	return [][]float32{k.Activation, k.History, k.Reliability, k.Uncertainty, k.DRC, k.Load, k.Neighbour, k.Contribution}
}

// loads is the index of the channel that belongs to edges.
const loads = 5

// unequal is the first index at which bits differ, −1 if none.
func unequal(a, b []float32) int {
	for i, v := range a {
		if math.Float32bits(v) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

// far is the largest difference.
func far(a, b []float32) float64 {
	var d float64
	for i, v := range a {
		d = max(d, math.Abs(float64(v)-float64(b[i])))
	}
	return d
}

// meanAbs is the mean magnitude.
func meanAbs(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += math.Abs(float64(x))
	}
	return sum / float64(len(v))
}

// normal fills n values.
func normal(n int, seed uint64) []float32 {
	x, out := make([]float64, n), make([]float32, n)
	random.Stream{Seed: seed, Site: random.Play}.Normal(x)
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}
