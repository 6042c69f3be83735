package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
)

// A run is one window of all ports: the inputs, what is computed before the first
// step, and what every step leaves for the gradient.
type run[F grad.Float] struct {
	p        *Ports[F]
	t, b     int
	phase    int
	x, conf  []F
	util     []F
	nt, np   []F // [T·B, N]: traces divided by their means
	hist     []F // [Slots][T+1][B][D]
	o        []F // [Thinkers][T·B][D]
	cu       []F // [2][Thinkers][T·B]: confidences, utilities
	ports    []state[F]
	extra    []Extra[F] // [ports·B], or none
	training bool

	mem []F // all of the above that is not the caller's
	at  int

	in        []grad.Ref // of the tape's operation; the weights begin at first
	first     int
	dw        [][tCount][]F
	stage     stage
	portAt    int
	dx, dconf []F
	dutil     []F
	do, dcu   []F
	dhist     []F // [2][Slots][B][D]
	partial   []F
}

// A state is a port's part of a run. Names ending in x are of neurons alone.
type state[F grad.Float] struct {
	Port
	names [tCount]string
	fold  fold[F]
	g     foldGrad[F]
	age   []F // [N + visible]: of neurons by id, then of slots

	ev         []F // [T·B·N, 2D]: exponentials of keys, values
	top        []F // [T·B, D]: greatest key
	den, num   []F // [T·B, D]: sums of ev, and of exponentials times values
	rowsx      []F // [T·B, D]: streams of neurons through the compression
	r          []F // [T·B, D]: receptance, after the logistic
	pooled     []F // [T·B, D]
	scale      []F // [T·B, D]: from ev to weights
	ws, vs     []F // [T·B, visible, D]: weights and values of slots
	wm         []F // [T·B, N]: mean weight of a neuron
	wslot      []F // [T·B, visible]
	u          []F // [T·B, N]: utility
	logits     []F // [T·B, N]
	nw         []F // [T·B, N]: weights of attention, 0 for those not selected
	idx        []int32
	qp         []F // [T·B, D]: Kᵀ·Q·own
	ay         []F // [T·B, 2D]: aggr, mean of rows
	o          []F // [T·B, D]
	far        []bool
	sel        []F // [T·B, m·D]: selected rows, where not all are
	lastx      []F // [T·B, D]: the neuron a scan without slots ends with
	do         []F // [T·B, D]
	dq, dpool  []F // [T·B, D]
	dot        []F // [T·B, D]: Σ weight · gradient of weight
	dwm        []F // [T·B, N]
	dl         []F // [T·B, N]
	dy         []F // [T·B, D]
	dev        []F // [T·B·N, 2D]
	dg         []F // [visible, T·B, 3D]
	dr         []F // [T·B, D]: where no slot is seen
	dsel       []F // [T·B, m·D]: selected rows in backward
	extraValue []F // [B, D]
}

// take cuts n values from the run's memory; the first pass over a shape counts.
func (r *run[F]) take(n int) []F {
	lo := r.at
	r.at += n
	if r.at > len(r.mem) {
		return nil
	}
	return r.mem[lo:r.at:r.at]
}

// lay gives every buffer its place.
func (r *run[F]) lay(t, b int, training bool) {
	same := r.t == t && r.b == b && r.training == training
	r.t, r.b, r.training = t, b, training
	if same && r.mem != nil {
		return
	}
	r.at = 0
	r.cut()
	if r.at > len(r.mem) {
		r.mem = make([]F, r.at)
	}
	r.at = 0
	r.cut()
}

func (r *run[F]) cut() {
	c := r.p.Config
	d, n, tb, m := c.D, c.N, r.t*r.b, portStreams(c)
	r.nt, r.np = r.take(tb*n), r.take(tb*n)
	r.hist = r.take((r.t + 1) * r.p.Slots() * r.b * d)
	for i := range r.ports {
		q := &r.ports[i]
		v := len(q.Visible)
		q.ev, q.top, q.den, q.num = r.take(2*tb*n*d), r.take(tb*d), r.take(tb*d), r.take(tb*d)
		q.rowsx, q.r, q.pooled, q.scale = r.take(tb*d), r.take(tb*d), r.take(tb*d), r.take(tb*d)
		q.ws, q.vs, q.wslot = r.take(tb*v*d), r.take(tb*v*d), r.take(tb*v)
		q.wm, q.u, q.logits, q.nw = r.take(tb*n), r.take(tb*n), r.take(tb*n), r.take(tb*n)
		if v == 0 {
			q.lastx = r.take(tb * d)
		}
		q.qp, q.ay, q.o = r.take(tb*d), r.take(2*tb*d), r.take(tb*d)
		q.extraValue = r.take(r.b * d)
		if m < n {
			q.sel = r.take(tb * m * d)
			q.idx = sized(&q.idx, tb*m)
		}
		q.far = sized(&q.far, tb)
		if !r.training {
			continue
		}
		q.do, q.dq, q.dpool, q.dot, q.dy = r.take(tb*d), r.take(tb*d), r.take(tb*d), r.take(tb*d), r.take(tb*d)
		q.dwm, q.dl, q.dev = r.take(tb*n), r.take(tb*n), r.take(2*tb*n*d)
		q.dg, q.dr = r.take(tb*v*3*d), r.take(tb*d)
		if m < n {
			q.dsel = r.take(tb * m * d)
		}
	}
	if r.training {
		r.dhist = r.take(2 * r.p.Slots() * r.b * d)
		r.partial = r.take(len(r.ports) * tb * (d + 3))
	}
}

// newRun makes a run of no shape.
func (p *Ports[F]) newRun() *run[F] {
	r := &run[F]{p: p, ports: make([]state[F], len(p.List))}
	for i := range p.List {
		q := &r.ports[i]
		q.Port = p.List[i]
		q.age = make([]F, p.Config.N+len(q.Visible))
		q.names = q.tensors()
	}
	return r
}

// ages sets the distances from the end of the scan: neurons in the order of
// communities, then the slots.
func (r *run[F]) ages() {
	n := r.p.Config.N
	for i := range r.ports {
		q := &r.ports[i]
		total := n + len(q.Visible)
		for j := range total {
			id := j
			if j < n && r.p.order != nil {
				id = int(r.p.order[j])
			}
			q.age[id] = F(total - 1 - j)
		}
	}
}

// last is the neuron that a scan without slots ends with.
func (r *run[F]) last() int {
	n := r.p.Config.N
	if r.p.order != nil {
		return int(r.p.order[n-1])
	}
	return n - 1
}

// slot is the rows [lo, hi) of a slot before step t.
func (r *run[F]) slot(t, s, lo, hi int) []F {
	d := r.p.Config.D
	at := (s*(r.t+1) + t) * r.b * d
	return r.hist[at+lo*d : at+hi*d]
}

// A desk is the scratch memory of a thread.
type desk[F grad.Float] struct {
	work    *grad.Work[F]
	g, c, m []F
	heap    []int32
	row     []F
	reader  readDesk[F]
}

func newDesk[F grad.Float]() *desk[F] { return &desk[F]{work: grad.NewWork[F](nil)} }

// exps replaces every value by its exponential.
func exps[F grad.Float](x []F) {
	switch x := any(x).(type) {
	case []float32:
		kernel.Exp(x, x)
	case []float64:
		for i, v := range x {
			x[i] = math.Exp(v)
		}
	}
}

// logistics replaces every value by its logistic.
func logistics[F grad.Float](x []F) { dense.Activate(dense.Sigmoid, x, x) }
