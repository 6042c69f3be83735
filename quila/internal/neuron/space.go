package neuron

import (
	"atenia/grad"
)

// A space is the memory of one step or one window: what the rows of every neuron
// computed, and what a gradient needs.
type space[F grad.Float] struct {
	cells    []cell[F]
	b, ticks int
	hFinal   []F    // [N][B][D] as at the start of the tick
	sent     []bool // [N][B]
	sHat     []F    // [B]: 1 ÷ mean of the trace over the grid, 0 for no trace
	pHat     []F
	emb      []F // [T][B][De], of a window
	in       input[F]

	// Of a window.
	phase              int
	alpha, beta, gamma F
	tickOf             Tick[F]
	fire               []bool // [N][B]
	recallBack         func(neuron, session int, conf F, dMid, dKFE []F)
	sentLog            []bool // [ticks][N][B]: who had sent before a tick
	hLog               []F    // [ticks][N][B][D]: h_final before a tick, for messages
	trace, ptrace      []F
	refs, outs         []grad.Ref
	pending            pending[F]

	// Of its gradient.
	adjoints         []adjoint[F]
	grads            [slots][]F
	dX, dConf, dUtil []F
	shared           []F
}

// A cell is what one neuron computed. A row is one firing: a session at a tick.
// Rows of a tick are consecutive, in ascending session, so that all of a tensor's
// rows are one matrix.
type cell[F grad.Float] struct {
	rows  int
	start []int   // [ticks+1]: first row of a tick
	sess  []int32 // [rows]
	base  int     // rows of h that come before the window: its frames

	eM    []F     // [T·B][D]: embeddings through the boundary map
	x     []F     // [rows][in·D]: what neighbours sent, divided by the count
	eRow  []int32 // [rows]: row of emb, or −1
	board []F     // [rows][H·H]: mean of the messages, if they are rounded
	inv   []F     // [rows]: 1 ÷ count of messages
	h0    []F     // [rows][D]: before the norm
	res   []F     // [rows][D]: residual that was added
	rms   []F     // [rows]: 1 ÷ root mean square
	h     []F     // [base+rows][D]: after step 3

	at     []int32 // [B][depth]: rows of h that are a session's frames, newest first
	frames []int32 // [rows][depth]: the same before the tick

	mask      []bool // [rows][D]
	hm        []F    // [rows][D]: what stream A selected
	qkv       []F    // [rows][3D]
	attn      []F    // [rows][G][G]
	outA      []F
	y         []F // [rows][width]: see columns
	delta     []F // [base+rows][D]
	slope     []F // [base+rows][D]: derivative of softplus
	bt        []F // [base+rows][NS]
	dtc       []F // [base+rows][dt]
	decay     []F // [base+rows][D][NS]: exp(Δ·A)
	ssm       []F // [rows][D][NS]: before the tick; with option window, after it
	outB      []F
	ek, num   []F // [rows][D]: exp(k), and num before the tick
	den       []F // [rows][D]: before the tick, option rwkv4
	wkv, p    []F // [rows][D]: and its softmax
	sr, act   []F // [rows][D]: logistic of r, outer function of wkv
	outC      []F
	x1        []F // [rows][D]: first iterate, then the last
	drc       chain[F]
	outD      []F
	fused     []F
	mid       []F
	kfe       []F
	first     pass[F]
	second    pass[F]
	clean     []F // [rows][D]: what step 8 reads
	hs        []F
	conf      []F // [rows]: new
	was       []F // [rows]: old
	mean, top []F // [rows]: mean |h_smooth|, largest wkv_weight
	topAt     []int32
	sHat      []F // [rows]: traces before the tick, normalized
	pHat      []F
	util      []F // [rows]: utility of h_smooth
	squares   float64
}

// A chain is the iterations of stream D after the first, of the rows that ran
// them.
type chain[F grad.Float] struct {
	n     int
	x     []F // [n][D]: iterate that Q multiplied
	g     []F // [n][D]: gradient of the iterate after it
	owner []int32
	start []int   // entries of tick k begin at start[k]
	n0    []int32 // [rows]: iterations allowed
	done  []int32 // [rows]: iterations executed
}

// A pass is one evaluation of the consistency model by some rows.
type pass[F grad.Float] struct {
	n     int
	start []int   // rows of tick k begin at start[k]
	owner []int32 // row of the cell
	t     []F     // [n]
	x     []F     // [n][D]: input
	in    []F     // [n][D]: input of the network
	z     []F     // [n][2D]: before SiLU
	a     []F     // [n][2D]
	f     []F     // [n][D]
	y     []F     // [n][D]: result
}

// prepare makes room for so many ticks and sessions.
func (g *Grid[F]) prepare(sp *space[F], ticks, sessions int) {
	c := g.c
	sp.b, sp.ticks = sessions, ticks
	if sp.cells == nil {
		sp.cells = make([]cell[F], c.N)
	}
	sp.hFinal, sp.sent = size(sp.hFinal, c.N*sessions*c.D), size(sp.sent, c.N*sessions)
	sp.sHat, sp.pHat = size(sp.sHat, sessions), size(sp.pHat, sessions)
	d, groups, cap := c.D, c.D/c.G, ticks*sessions
	for n := range sp.cells {
		p := &sp.cells[n]
		p.rows, p.squares = 0, 0
		p.base = depth(c) * sessions
		all := p.base + cap
		p.start, p.sess = size(p.start, ticks+1), size(p.sess, cap)
		p.x, p.eRow, p.inv = size(p.x, cap*len(g.graph.Incoming(n))*d), size(p.eRow, cap), size(p.inv, cap)
		p.at, p.frames = size(p.at, p.base), size(p.frames, cap*depth(c))
		for _, v := range []*[]F{&p.h0, &p.hm, &p.outA, &p.outB, &p.ek, &p.num, &p.wkv, &p.p, &p.sr, &p.act, &p.outC, &p.x1, &p.outD, &p.fused, &p.mid, &p.kfe, &p.clean, &p.hs} {
			*v = size(*v, cap*d)
		}
		for _, v := range []*[]F{&p.rms, &p.conf, &p.was, &p.mean, &p.top, &p.sHat, &p.pHat, &p.util} {
			*v = size(*v, cap)
		}
		for _, v := range []*[]F{&p.h, &p.delta, &p.slope} {
			*v = size(*v, all*d)
		}
		if c.RhoOn {
			p.res = size(p.res, cap*d)
		}
		if c.WKV == "rwkv4" {
			p.den = size(p.den, cap*d)
		}
		p.topAt, p.mask = size(p.topAt, cap), size(p.mask, cap*d)
		p.qkv, p.attn, p.y = size(p.qkv, cap*3*d), size(p.attn, cap*groups*groups), size(p.y, cap*g.bound.width)
		p.bt, p.dtc = size(p.bt, all*c.NS), size(p.dtc, all*c.DT())
		p.decay, p.ssm = size(p.decay, all*d*c.NS), size(p.ssm, cap*d*c.NS)
		p.drc.n, p.drc.start = 0, size(p.drc.start, ticks+1)
		p.drc.n0, p.drc.done = size(p.drc.n0, cap), size(p.drc.done, cap)
		for _, q := range []*pass[F]{&p.first, &p.second} {
			q.n, q.start = 0, size(q.start, ticks+1)
		}
	}
}

// more makes room for m entries after those there are, and keeps these.
func more[T any](v []T, used, m int) []T {
	if used+m <= cap(v) {
		return v[:used+m]
	}
	w := make([]T, used+m, max(2*cap(v), used+m))
	copy(w, v[:used])
	return w
}

// room makes room for m more rows of the consistency model.
func (q *pass[F]) room(m, d int) {
	q.t, q.owner = more(q.t, q.n, m), more(q.owner, q.n, m)
	for _, v := range []*[]F{&q.x, &q.in, &q.f, &q.y} {
		*v = more(*v, q.n*d, m*d)
	}
	for _, v := range []*[]F{&q.z, &q.a} {
		*v = more(*v, q.n*2*d, m*2*d)
	}
}
