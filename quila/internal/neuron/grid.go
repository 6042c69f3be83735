package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// A Grid is a network's neurons and edges with the memory to run them. It and
// its threads may be used by one goroutine at a time.
type Grid[F grad.Float] struct {
	c       *config.Config
	graph   *weights.Graph
	threads *grad.Threads
	w       *weights.Set[F]
	bound   bound[F]
	maps    edgeMaps[F]
	lanes   []lane[F] // scratch memory, one a thread
	spaces  []*space[F]
	job     job[F]
	place   []int    // by edge: its place among the incoming ones of its target
	over    []bool   // what the guard found
	live    []int    // the streams that run, of the configuration
	inputs  [][]bool // by modality: who hears the boundary; nil is all
}

// A lane is one thread's scratch memory.
type lane[F grad.Float] struct {
	work  *grad.Work[F]
	buf   []F
	used  int
	score []float32
	ints  []int32
	mail  post[F]
}

// reset gives all of a lane's memory back.
func (l *lane[F]) reset() { l.used = 0 }

// take returns n values that are not cleared.
func (l *lane[F]) take(n int) []F {
	if l.used+n > len(l.buf) {
		l.buf = make([]F, max(2*len(l.buf), l.used+n, 1<<12))
		l.used = 0
	}
	v := l.buf[l.used : l.used+n : l.used+n]
	l.used += n
	return v
}

// zeros returns n zeros.
func (l *lane[F]) zeros(n int) []F {
	v := l.take(n)
	clear(v)
	return v
}

// Columns of the product that all rows of h take: see [bound].
type columns struct{ r, k, v, ch, qh, b, c, dt, width int }

// bound is what depends on the weights only. Matrices whose names end in T act on
// rows from the right; the others are their transposes, which gradients need. A
// neuron's are consecutive.
type bound[F grad.Float] struct {
	columns
	nsaT      []F // [N][D][3D]
	allT, all []F // [N][D][width]: r, k, v, W_corr, Q, B, C, dt_down side by side
	q, qT     []F // [N][D][D]: W_corr·W_pred
	dtUpT     []F // [N][dt][D]
	scanT     []F // [N][D][scanWidth]: B and dt_down, for old frames
	a         []F // [N][D][NS]: −exp(ssm.a)
	ew        []F // [N][D]: exp(−exp(wkv_w))
	gate      []F // [N][4], zero where a stream does not run
	logits    []F // [N][4]
	h         []F // [N][4]: H_res
	rho, fxaa []F // [N]
	f1T, f1   []F // [D][2D], [2D][D]
	f1Time    []F // [2D]: the column of t
	f2T       []F // [2D][D]
	sigma     F
	alpha     F // first of port.planner.abg
	raw       F
	scanWidth int
}

// New makes a grid of a configuration and a graph. Threads may be nil.
func New[F grad.Float](c *config.Config, graph *weights.Graph, threads *grad.Threads) *Grid[F] {
	g := &Grid[F]{c: c, graph: graph, threads: threads, lanes: make([]lane[F], threads.Count())}
	for i := range g.lanes {
		g.lanes[i].work = grad.NewWork[F](nil)
	}
	g.live = streams(c.Streams)
	g.place = make([]int, graph.Edges())
	for n := range c.N {
		for i, e := range graph.Incoming(n) {
			g.place[e] = i
		}
	}
	g.job.g = g
	d := c.D
	col := columns{r: 0, k: d, v: 2 * d, ch: 3 * d, qh: 4 * d, b: 5 * d, c: 5*d + c.NS, dt: 5*d + 2*c.NS}
	col.width = whole(col.dt + c.DT())
	g.bound.columns, g.bound.scanWidth = col, whole(c.NS+c.DT())
	return g
}

// whole rounds up to whole vectors, which products are fastest on.
func whole(n int) int { return (n + 15) &^ 15 }

// streams are the indices of the letters of A, B, C and D.
func streams(letters string) []int {
	var out []int
	for _, r := range letters {
		out = append(out, int(r-'A'))
	}
	return out
}

// size returns v with n values, which are not cleared.
func size[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}

// transpose writes src [rows][cols] to dst, whose rows are stride long, as
// columns from at.
func transpose[F grad.Float](dst []F, stride, at int, src []F, rows, cols int) {
	for i := range rows {
		for j := range cols {
			dst[j*stride+at+i] = src[i*cols+j]
		}
	}
}

// Bind derives what depends on the weights only. Call it after they changed.
func (g *Grid[F]) Bind(w *weights.Set[F]) {
	g.w = w
	g.maps.ready = false
	b, c := &g.bound, g.c
	n, d, ns, dt := c.N, c.D, c.NS, c.DT()
	b.nsaT, b.qT, b.q = size(b.nsaT, n*d*3*d), size(b.qT, n*d*d), size(b.q, n*d*d)
	if len(b.allT) == 0 { // the columns that pad stay zero
		b.allT, b.all = make([]F, n*d*b.width), make([]F, n*d*b.width)
		b.scanT = make([]F, n*d*b.scanWidth)
	}
	b.dtUpT, b.a, b.ew = size(b.dtUpT, n*dt*d), size(b.a, n*d*ns), size(b.ew, n*d)
	b.gate, b.logits, b.h = size(b.gate, 4*n), size(b.logits, 4*n), size(b.h, 4*n)
	b.rho, b.fxaa = size(b.rho, n), size(b.fxaa, n)
	b.f1T, b.f1, b.f1Time, b.f2T = size(b.f1T, 2*d*d), size(b.f1, 2*d*d), size(b.f1Time, 2*d), size(b.f2T, 2*d*d)
	g.job.kind = jobBind
	g.threads.Range(n, 1, &g.job)
	f1 := w.Of("cm.f.1.w")
	for i := range 2 * d {
		copy(b.f1[i*d:(i+1)*d], f1[i*(d+1):])
		b.f1Time[i] = f1[i*(d+1)+d]
	}
	transpose(b.f1T, 2*d, 0, b.f1, 2*d, d)
	transpose(b.f2T, d, 0, w.Of("cm.f.2.w"), d, 2*d)
	b.sigma = w.Of("cm.sigma_d")[0]
	abg := w.Of(abgName)
	b.alpha, b.raw = abg[0], abg[1]
}

// abgName is the tensor with the weights of the neurons' utilities.
const abgName = "port.planner.abg"

// bind derives one neuron's part.
func (g *Grid[F]) bind(l *lane[F], n int) {
	b, c, w := &g.bound, g.c, g.w
	d, ns, dt := c.D, c.NS, c.DT()
	transpose(b.nsaT[n*3*d*d:], 3*d, 0, w.Rows("n.nsa", n), 3*d, d)
	corr, q := w.Rows("n.drc.corr", n), b.q[n*d*d:(n+1)*d*d]
	l.work.Mul(q, corr, w.Rows("n.drc.pred", n), d, d, d)
	transpose(b.qT[n*d*d:], d, 0, q, d, d)
	all := b.all[n*d*b.width : (n+1)*d*b.width]
	copy(all[b.r*d:], w.Rows("n.rwkv", n))
	copy(all[b.ch*d:], corr)
	copy(all[b.qh*d:], q)
	transpose(all[b.b*d:], d, 0, w.Rows("n.ssm.b", n), d, ns)
	transpose(all[b.c*d:], d, 0, w.Rows("n.ssm.c", n), d, ns)
	copy(all[b.dt*d:], w.Rows("n.ssm.dt_down", n))
	allT := b.allT[n*d*b.width : (n+1)*d*b.width]
	transpose(allT, b.width, 0, all, b.width, d)
	for i := range d {
		row := b.scanT[(n*d+i)*b.scanWidth:]
		copy(row[:ns], allT[i*b.width+b.b:])
		copy(row[ns:ns+dt], allT[i*b.width+b.dt:])
	}
	transpose(b.dtUpT[n*dt*d:], d, 0, w.Rows("n.ssm.dt_up", n), d, dt)
	for i, x := range w.Rows("n.ssm.a", n) {
		b.a[n*d*ns+i] = F(-math.Exp(float64(x)))
	}
	for i, x := range w.Rows("n.wkv_w", n) {
		b.ew[n*d+i] = F(math.Exp(-math.Exp(float64(x))))
	}
	logits := b.logits[4*n : 4*n+4]
	gates, spec := w.Rows("n.gate", n), w.Rows("s4.spec", n)
	for i := range logits {
		logits[i] = dense.Dot(gates[i*d:(i+1)*d], spec)
	}
	gateOf(b.gate[4*n:4*n+4], logits, g.live)
	if c.MHC == "sum" {
		copy(b.h[4*n:], []F{1, 1, 0, 1})
	} else {
		Sinkhorn(b.h[4*n:4*n+4], w.Rows("n.mhc", n), 2, c.SinkhornN, F(c.WMax))
	}
	b.rho[n] = logistic(w.Of("n.rho")[n])
	b.fxaa[n] = logistic(w.Of("n.fxaa")[n]) / 2
}

// gateOf writes the softmax over the streams that run [R-5.2.11b].
func gateOf[F grad.Float](gate, logits []F, live []int) {
	clear(gate)
	top := F(math.Inf(-1))
	for _, i := range live {
		top = max(top, logits[i])
	}
	var sum F
	for _, i := range live {
		gate[i] = F(math.Exp(float64(logits[i] - top)))
		sum += gate[i]
	}
	for _, i := range live {
		gate[i] /= sum
	}
}

// logistic is 1/(1+e^−x).
func logistic[F grad.Float](x F) F { return F(1 / (1 + math.Exp(-float64(x)))) }
