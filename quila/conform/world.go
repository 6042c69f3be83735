package conform

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/weights"
)

// A world is a network with weights in which no term is trivial.
type world struct {
	C     config.Config
	Graph *weights.Graph
	W     *weights.Set[float32]
	G     *grid.Grid
	Close func() // ends the threads
}

// newWorld makes one from a profile. A nil graph is the initial one. With more
// than one thread it has to be closed.
func newWorld(t *report, profile string, threads int, change func(c *config.Config), graph *weights.Graph) *world {
	x := &world{Close: func() {}}
	var err error
	x.C, err = config.Profile(profile)
	t.Must(err)
	if change != nil {
		change(&x.C)
	}
	if x.Graph = graph; graph == nil {
		x.Graph = weights.Initial(&x.C)
	}
	x.W = weights.Init(&x.C, x.Graph.Edges(), 1)
	noise := make([]float64, 61)
	for i := range x.W.Specs {
		if !x.W.Specs[i].Trained {
			continue
		}
		weights.Stream{Seed: 9, Neuron: uint32(i)}.Normal(noise)
		for k, v := range x.W.At(i) {
			x.W.At(i)[k] = v + float32(.05*noise[k%len(noise)])
		}
	}
	x.bind(t, threads)
	return x
}

// bind makes the grid of the weights as they are.
func (x *world) bind(t *report, threads int) {
	var team *grad.Threads
	if threads > 1 {
		team = grad.NewThreads(threads)
		x.Close = team.Close
	}
	var err error
	x.G, err = grid.New(&x.C, x.Graph, x.W, team)
	t.Must(err)
}

// Code is a code's embedding.
func (x *world) Code(token int) []float32 { return x.W.Rows("codebook.text", token%x.C.V) }

// Token steps sessions by one token.
func (x *world) Token(t *report, k int, o grid.Options, sessions ...*grid.Session) {
	for _, s := range sessions {
		t.Must(s.Inject(0, x.Code(k+int(s.Seed()))))
	}
	for range x.C.K {
		t.Must(x.G.Tick(sessions, o))
	}
}

// crowded are the options of a grid that uses everything.
func crowded(c *config.Config) {
	c.FP8, c.Stagger, c.PartialSend, c.Uncertainty, c.PartialSendThreshold = true, true, true, true, .09
}

// sparse are the options of a grid with refractory neurons and a cap.
func sparse(c *config.Config) { c.FP8, c.Stagger = true, true }

// doDifference says where two sessions differ first, "" if nowhere.
func doDifference(a, b *grid.Session) string {
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

// furthestOf is the largest difference.
func furthestOf(a, b []float32) float64 {
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
	weights.Stream{Seed: seed, Site: weights.Play}.Normal(x)
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// Start begins a session whose first tick is the next.
func (x *world) Start() *grid.Session { return x.G.Session(1) }
