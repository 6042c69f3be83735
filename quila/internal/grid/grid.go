package grid

import (
	"errors"
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// errGrid is the sentinel of grids that cannot be made and calls that do not fit
// one.
var errGrid = errors.New("grid: bad request")

// An gridError says what does not fit. It matches [errGrid].
type gridError struct {
	Op        string
	Want, Got int
}

func (e *gridError) Error() string {
	return fmt.Sprintf("grid: %s: want %d, got %d", e.Op, e.Want, e.Got)
}

// Is ties the error to [errGrid].
func (e *gridError) Is(target error) bool { return target == errGrid }

// mostReceive is how many weights the products of k_in and W_in may have
// together; beyond, they are applied one after the other.
const mostReceive = 64 << 20 / 4

// A Grid is one network for inference. It, its sessions and its threads belong
// to one goroutine at a time.
type Grid struct {
	c        *config.Config
	graph    *weights.Graph
	w        *weights.Set[float32]
	threads  *grad.Threads
	neurons  *neuron.Grid[float32]
	shape    neuron.Shape
	baseline *Baseline
	composed bool // step 1 by composite maps

	receive []float32   // [N][H²][D]: k_in and W_in of a neuron, transposed; nil if too large
	gain    []float32   // [E]: mean |payload| by mean |seed|
	safe    float32     // |h| below which no payload overflows
	place   []uint16    // [modalities]: where boundary messages land
	bound   [][]float32 // [modalities][N·WOutLen]: boundary.*.w_out
	kernels [][]float32 // [modalities][N·κ²]
	wOut    []float32
	kernel  []float32
	depth   int // of the ring

	lanes   []lane
	groups  []group
	options Options // of the tick
	job     job
}

// A lane is the scratch memory of one thread.
type lane struct {
	work       *grad.Work[float32]
	board      *neuron.Board[float32]
	seeds      []float32 // [a²]
	payload    []float32 // [H²]
	tile       []float32
	codes      []byte
	rows, conv []float32 // [B][H²], [H²]
	out, left  []float32 // [B][D], [d1·H]
	doubt      []float32 // [D]
	normal     []float64
	tiles      *neuron.TileWork[float32]
}

// New makes a grid from a configuration, its graph and its weights, which it
// reads at once; [Grid.Bind] reads them again after a change. Threads may be nil.
func New(c *config.Config, graph *weights.Graph, w *weights.Set[float32], threads *grad.Threads) (*Grid, error) {
	if graph.N != c.N {
		return nil, &gridError{"neurons of the graph", c.N, graph.N}
	}
	if c.H != c.A*c.S {
		return nil, &gridError{"H = a·s", c.A * c.S, c.H}
	}
	if c.Kappa < c.S || (c.Kappa-c.S)%2 != 0 {
		return nil, &gridError{"kernel side of the stride's parity, at least the stride", c.S, c.Kappa}
	}
	if n := len(w.Of("edge.w_out")); n != graph.Edges()*c.WOutLen() {
		return nil, &gridError{"weights of the edges", graph.Edges() * c.WOutLen(), n}
	}
	g := &Grid{
		c: c, graph: graph, w: w, threads: threads, shape: neuron.ShapeOf(c), depth: Depth(c),
		neurons: neuron.New[float32](c, graph, threads), lanes: make([]lane, threads.Count()),
	}
	g.composed = c.ActiveCap >= 1 && !c.Refractory && !c.FP8 && !c.PartialSend && !c.Uncertainty && !c.PairwiseMean && c.Modalities == 1
	h2 := c.H * c.H
	for i := range g.lanes {
		g.lanes[i] = lane{
			work: grad.NewWork[float32](nil), board: neuron.NewBoard[float32](c), seeds: make([]float32, c.A*c.A), payload: make([]float32, h2),
			tile: make([]float32, h2), codes: make([]byte, h2), conv: make([]float32, h2), left: make([]float32, c.D1*c.H),
			doubt: make([]float32, c.D), normal: make([]float64, c.D), tiles: neuron.NewTileWork[float32](c),
		}
	}
	for m := range c.Modalities {
		g.place = append(g.place, weights.Place(c, m))
		name := "boundary." + weights.Modalities[m]
		g.bound, g.kernels = append(g.bound, w.Of(name+".w_out")), append(g.kernels, w.Of(name+".kernel"))
	}
	g.wOut, g.kernel = w.Of("edge.w_out"), w.Of("edge.kernel")
	g.job.g = g
	g.baseline = newBaseline(c, graph.Edges())
	g.Bind()
	return g, nil
}

// Depth is how many ticks a message can be unread, and so how many
// values of h_final the ring keeps.
func Depth(c *config.Config) int {
	return int(c.RefBase) + c.WaitMax + int(math.Ceil(1/c.ActiveCap)) + 1
}

// Bind derives what depends on the weights. Unread messages are made with the
// new weights.
func (g *Grid) Bind() {
	g.neurons.Bind(g.w)
	c := g.c
	if n := c.N * c.D * c.H * c.H; n <= mostReceive {
		if g.receive == nil {
			g.receive = make([]float32, n)
		}
		g.run(jobBind, c.N)
	}
	e := g.graph.Edges()
	if g.gain == nil {
		g.gain = make([]float32, e)
	}
	k := c.Kappa * c.Kappa
	var wide, tall float64
	for i := range e {
		var sum float64
		for _, x := range g.kernel[i*k : (i+1)*k] {
			sum += math.Abs(float64(x))
			tall = max(tall, math.Abs(float64(x)))
		}
		g.gain[i] = float32(sum / float64(c.S*c.S))
	}
	for _, x := range g.wOut {
		wide = max(wide, math.Abs(float64(x)))
	}
	terms := float64(c.WOutLen()/(c.A*c.A)+1) * float64(k)
	g.safe = float32(min(math.MaxFloat32/2, math.MaxFloat32/4/max(1e-30, wide*tall*terms, wide*terms)))
}

// receiver derives one neuron's product of W_in and k_in, transposed, so that
// boards act on it from the left.
func (g *Grid) receiver(l *lane, n int) {
	c := g.c
	h2 := c.H * c.H
	out, k := g.receive[n*h2*c.D:(n+1)*h2*c.D], g.w.Rows("n.k_in", n)
	for o := range c.D {
		row := l.payload
		if c.R == 0 {
			row = g.w.Rows("n.w_in", n)[o*h2 : (o+1)*h2]
		} else {
			neuron.KroneckerRow(row, g.w.Rows("n.w_in.l", n), g.w.Rows("n.w_in.r", n), o, c.H, c.D1, c.D2)
		}
		neuron.ConvolveBack(l.conv, row, k, c.H)
		for cell, x := range l.conv {
			out[cell*c.D+o] = x
		}
	}
}

// project writes W_in of the convolved board in l.conv.
func (g *Grid) project(l *lane, n int, dst []float32) {
	c := g.c
	if c.R == 0 {
		neuron.Dense(dst, l.conv, g.w.Rows("n.w_in", n))
		return
	}
	neuron.Kronecker(dst, l.conv, g.w.Rows("n.w_in.l", n), g.w.Rows("n.w_in.r", n), l.left, c.H, c.D1, c.D2)
}

// Config is the network's configuration, not to be changed.
func (g *Grid) Config() *config.Config { return g.c }

// Graph is the network's graph.
func (g *Grid) Graph() *weights.Graph { return g.graph }

// Work by index, on all threads.
type jobKind int

const (
	jobBind    jobKind = iota // index: neuron
	jobReceive                // neuron
	jobNoise                  // neuron
	jobOpen                   // session
	jobClose                  // session
)

// A job is what the threads of a grid run.
type job struct {
	g    *Grid
	kind jobKind
	b    *batch
	o    *Options
}

func (g *Grid) run(kind jobKind, n int) {
	g.job.kind = kind
	g.threads.Range(n, 1, &g.job)
}

// Range implements the interface of [grad.Threads].
func (j *job) Range(worker, lo, hi int) {
	l := &j.g.lanes[worker]
	for i := lo; i < hi; i++ {
		switch j.kind {
		case jobBind:
			j.g.receiver(l, i)
		case jobReceive:
			j.g.hear(l, j.b, i)
		case jobNoise:
			j.g.noise(l, j.b, j.o, i)
		case jobOpen:
			j.b.sessions[i].open(j.b, j.b.fire)
		case jobClose:
			j.b.sessions[i].close(l, j.b, j.o)
		}
	}
}
