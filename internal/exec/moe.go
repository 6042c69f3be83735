package exec

import (
	"atenia/internal/kernel"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/ring"
	"atenia/internal/plan"
)

// A moe is one bound mixture of experts. Every row is routed to its best
// experts; each pair of row and expert is a place. Places are sorted by expert,
// so that an expert is one product with all its rows:
//
//	row   0 1 2 3      places   e0: 0 2 │ e1: 0 1 3 │ e2: 1 2 │ e3: 3
//	best  02 12 20 13  route → collect → gate, up → down → y[row] = Σ weight·place
//
// A place's values depend on its row and expert alone, and the places of a row
// are added in the order of its choice: results do not depend on the batch.
type moe struct {
	x                *Executor
	in, out          *register
	dim, hidden      int
	experts, best    int
	choice           *router
	act              func(gate, up []float32)
	router           *linear
	gate, up, down   bank
	collected, inner rowsOf  // rows by place: of x, and of what down multiplies
	probs, by        scratch // [rows, experts]: scores, and what experts are chosen by
	gates, ups, outs scratch // outputs of banks
	shared           *ffn
	sharedRouter     *linear
	open             scratch   // logits of the shared expert's gate
	chosen           []int32   // [rows, best] experts of a row, the likeliest first
	weights          []float32 // [rows, best]
	place            []int32   // [rows, best]
	row              []int32   // of each place
	first, count     []int     // by expert: its first place, and how many it has
	next             []int
	active           []int32 // experts with at least one place, in the order of their places
	wave             []int32 // those of active that are computed now
	begin            int     // the first place of wave
	cache            *ring.ExpertCache
	layer            int // of the cache
	phase            moePhase
	s                *Step
}

type moePhase int

const (
	moeRoute   moePhase = iota // over rows
	moeCollect                 // over places
	moeFirst                   // over the hidden values of the wave's experts
	moeInner                   // over the wave's places
	moeLast                    // over the outputs of the wave's experts
	moeSum                     // over rows
)

// A bank is one matrix of every expert: row after row in one, apart, or in a cache.
type bank struct {
	name string
	w    *pack.Matrix
	by   []*pack.Matrix // of each expert, if they are apart
	view kernel.Matrix  // of one expert in the cache, without its bytes
	part int            // of the cache
	bias []float32      // [experts, outs]; nil = none
	outs int            // of one expert
	form kernel.Form
}

// A rowsOf keeps rows of places as floats and in the form of some banks.
type rowsOf struct {
	cols          int
	plain, packed scratch
	form          kernel.Form // of packed; FormF32 = not packed
}

func bindMoE(b *Bind, p *plan.MoEParams) (Kernel, error) {
	m := &moe{x: b.x, in: b.In[0], out: b.Out[0], dim: int(p.Dim), hidden: int(p.Hidden), experts: int(p.Experts), best: int(p.TopK)}
	bias, err := b.vector("select_bias", m.experts)
	if err != nil {
		return nil, err
	}
	if m.choice, err = newRouter(p, bias); err != nil {
		return nil, err
	}
	if m.act, err = expertActivation(p); err != nil {
		return nil, err
	}
	m.router = b.linear(m.dim)
	if err := b.add(m.router, "router", "router_bias", m.experts); err != nil {
		return nil, err
	}
	m.router.parts[0].stride = m.experts
	m.collected.cols, m.inner.cols = m.dim, m.hidden
	for i, x := range []struct {
		to   *bank
		outs int
		from *rowsOf
	}{{&m.gate, m.hidden, &m.collected}, {&m.up, m.hidden, &m.collected}, {&m.down, m.dim, &m.inner}} {
		x.to.outs = x.outs
		if err := b.bank(m, x.to, bankSlots[i], x.from); err != nil {
			return nil, err
		}
		if x.to.bias, err = b.vector(bankSlots[i]+"_bias", m.experts*x.outs); err != nil {
			return nil, err
		}
	}
	if p.SharedHidden > 0 {
		if err := m.bindShared(b, p); err != nil {
			return nil, err
		}
	}
	m.reserve(b)
	return func(s *Step) error {
		if m.in.count(s) == 0 {
			return nil
		}
		return m.run(s)
	}, nil
}

func (m *moe) bindShared(b *Bind, p *plan.MoEParams) error {
	var err error
	if m.shared, err = b.ffn(ffnSlots{gate: "shared_gate", up: "shared_up", down: "shared_down"}, m.dim, int(p.SharedHidden), p.Act); err != nil {
		return err
	}
	if p.SharedGated == 0 {
		return nil
	}
	m.sharedRouter = b.linear(m.dim)
	if err := b.add(m.sharedRouter, "shared_router", "", 1); err != nil {
		return err
	}
	m.sharedRouter.parts[0].stride = 1
	m.open = b.floats(b.maxRows)
	return nil
}

// reserve allocates scratch for the largest number of rows. Banks write at an
// offset that grows with the expert, see [moe.product]; the space for it
// precedes the rows.
func (m *moe) reserve(b *Bind) {
	places := b.maxRows * m.best
	m.probs = b.floats(b.maxRows * m.experts)
	if m.choice.apart() {
		m.by = b.floats(b.maxRows * m.experts)
	}
	for _, r := range []*rowsOf{&m.collected, &m.inner} {
		r.plain = b.floats(places * r.cols)
		if r.form != kernel.FormF32 {
			r.packed = b.bytes(places * r.form.RowBytes(r.cols))
		}
	}
	m.gates = b.floats((m.experts + places) * m.hidden)
	m.ups = b.floats((m.experts + places) * m.hidden)
	m.outs = b.floats((m.experts + places) * m.dim)
	m.chosen, m.place, m.row = make([]int32, places), make([]int32, places), make([]int32, places)
	m.weights = make([]float32, places)
	m.first, m.count, m.next = make([]int, m.experts), make([]int, m.experts), make([]int, m.experts)
	m.active = make([]int32, 0, m.experts)
}

func (m *moe) run(s *Step) error {
	m.s = s
	rows, x := m.in.count(s), m.in.f32(s)
	m.router.parts[0].dst = m.x.floatsOf(m.probs)
	if err := m.router.run(s, x, rows); err != nil {
		return err
	}
	if m.shared != nil {
		if err := m.shared.run(s, m.in, m.out); err != nil {
			return err
		}
	}
	if m.sharedRouter != nil {
		m.sharedRouter.parts[0].dst = m.x.floatsOf(m.open)
		if err := m.sharedRouter.run(s, x, rows); err != nil {
			return err
		}
	}
	m.do(moeRoute, rows, 16*m.experts)
	m.choose(rows)
	m.sort(rows)
	m.do(moeCollect, rows*m.best, 4*m.dim)
	if err := m.waves(); err != nil {
		return err
	}
	m.do(moeSum, rows, m.best*m.dim)
	return nil
}

// compute computes the experts of a wave.
func (m *moe) compute() {
	n, places := len(m.wave), 0
	if m.s.Counters != nil {
		m.s.Counters.experts.Add(uint64(n))
	}
	for _, e := range m.wave {
		places += m.count[e]
	}
	m.begin = m.first[m.wave[0]]
	each := 1 + places/n
	m.observe(&m.collected, &m.gate, &m.up)
	m.do(moeFirst, n*wholeTiles(m.hidden), 2*each*m.dim)
	m.do(moeInner, places, 4*m.hidden)
	m.observe(&m.inner, &m.down)
	m.do(moeLast, n*wholeTiles(m.dim), each*m.hidden)
}

// observe hands the rows of the wave's experts to [Config.Inputs].
func (m *moe) observe(from *rowsOf, to ...*bank) {
	f := m.x.cfg.Inputs
	if f == nil {
		return
	}
	for _, e := range m.wave {
		rows := m.x.floatsOf(from.plain)[m.first[e]*from.cols:][:m.count[e]*from.cols]
		for _, k := range to {
			f(k.name, int(e), rows, from.cols)
		}
	}
}

// do runs a phase over n pieces of the given cost.
func (m *moe) do(p moePhase, n, cost int) {
	m.phase = p
	grain := grainFor(cost)
	if p == moeFirst || p == moeLast {
		grain = wholeTiles(grain)
	}
	m.s.parallel(n, grain, m)
}

// choose counts the places of each expert and lists those that have any.
func (m *moe) choose(rows int) {
	clear(m.count)
	for _, e := range m.chosen[:rows*m.best] {
		m.count[e]++
	}
	m.active = m.active[:0]
	for e, n := range m.count {
		if n > 0 {
			m.active = append(m.active, int32(e))
		}
	}
	m.fetch(rows)
}

// sort numbers the places.
func (m *moe) sort(rows int) {
	n := 0
	for _, e := range m.active {
		m.first[e], m.next[e] = n, n
		n += m.count[e]
	}
	for i, e := range m.chosen[:rows*m.best] {
		m.place[i] = int32(m.next[e])
		m.row[m.next[e]] = int32(i / m.best)
		m.next[e]++
	}
}

// Range computes pieces lo to hi of the phase.
func (m *moe) Range(_, lo, hi int) {
	switch m.phase {
	case moeRoute:
		for r := lo; r < hi; r++ {
			at, to := r*m.experts, r*m.best
			var by []float32
			if m.by.n > 0 {
				by = m.x.floatsOf(m.by)[at : at+m.experts]
			}
			m.choice.route(m.chosen[to:to+m.best], m.weights[to:to+m.best], m.x.floatsOf(m.probs)[at:at+m.experts], by)
		}
	case moeCollect:
		m.collect(lo, hi)
	case moeInner:
		ups := m.x.floatsOf(m.ups)[m.experts*m.hidden:]
		for p := m.begin + lo; p < m.begin+hi; p++ {
			m.inner.put(m.x, p, ups[p*m.hidden:(p+1)*m.hidden])
		}
	case moeFirst:
		m.overExperts(lo, hi, m.hidden, m.firstOf)
	case moeLast:
		m.overExperts(lo, hi, m.dim, m.lastOf)
	case moeSum:
		for r := lo; r < hi; r++ {
			m.sum(r)
		}
	}
}

// collect prepares the rows of places lo to hi for gate and up.
func (m *moe) collect(lo, hi int) {
	x := m.in.f32(m.s)
	for p := lo; p < hi; p++ {
		r := int(m.row[p])
		m.collected.put(m.x, p, x[r*m.dim:(r+1)*m.dim])
	}
}

// put stores a row of a place.
func (r *rowsOf) put(x *Executor, p int, row []float32) {
	copy(x.floatsOf(r.plain)[p*r.cols:(p+1)*r.cols], row)
	if r.form != kernel.FormF32 {
		n := r.form.RowBytes(r.cols)
		r.form.Prepare(x.bytesOf(r.packed)[p*n:(p+1)*n], row)
	}
}

// overExperts divides pieces lo to hi of the outputs of the wave's experts,
// concatenated in whole tiles, into those of each expert.
func (m *moe) overExperts(lo, hi, outs int, f func(e, lo, hi int)) {
	wide := wholeTiles(outs)
	for lo < hi {
		i := lo / wide
		end := min(hi, (i+1)*wide)
		a, b := lo-i*wide, min(end-i*wide, outs)
		if a < b {
			f(int(m.wave[i]), a, b)
		}
		lo = end
	}
}

// firstOf computes hidden values lo to hi of all places of an expert.
func (m *moe) firstOf(e, lo, hi int) {
	gates, ups := m.x.floatsOf(m.gates), m.x.floatsOf(m.ups)
	m.product(&m.gate, &m.collected, gates, e, lo, hi)
	m.product(&m.up, &m.collected, ups, e, lo, hi)
	for p := m.first[e]; p < m.first[e]+m.count[e]; p++ {
		at := (m.experts + p) * m.hidden
		m.act(gates[at+lo:at+hi], ups[at+lo:at+hi])
	}
}

func (m *moe) lastOf(e, lo, hi int) {
	m.product(&m.down, &m.inner, m.x.floatsOf(m.outs), e, lo, hi)
}

// product computes outputs lo to hi of expert e for all its places.
func (m *moe) product(k *bank, from *rowsOf, dst []float32, e, lo, hi int) {
	first, n := m.first[e], m.count[e]
	if n == 0 {
		return
	}
	var w *kernel.Matrix
	switch {
	case m.cache != nil:
		w = &m.x.acquired[k.part][e]
		dst = dst[(m.experts+first)*k.outs:]
	case k.by != nil:
		w = k.by[e].Range(lo, hi)
		dst = dst[(m.experts+first)*k.outs:]
	default:
		// The kernel counts outputs from the first expert's first output, so dst
		// begins that much before the expert's places.
		dst = dst[(m.experts+first-e)*k.outs:]
		lo, hi = e*k.outs+lo, e*k.outs+hi
		w = k.w.Range(lo, hi)
	}
	if k.form == kernel.FormF32 {
		kernel.MatMul(dst, k.outs, w, lo, hi, m.x.floatsOf(from.plain)[first*from.cols:], from.cols, n)
	} else {
		row := k.form.RowBytes(from.cols)
		kernel.MatMulQ(dst, k.outs, w, lo, hi, m.x.bytesOf(from.packed)[first*row:(first+n)*row], n)
	}
	if k.bias == nil {
		return
	}
	bias := k.bias
	if m.cache != nil || k.by != nil { // outputs are counted from the expert's first
		bias = bias[e*k.outs:]
	}
	for i := range n {
		kernel.AddBias(dst[i*k.outs+lo:i*k.outs+hi], bias[lo:hi])
	}
}

// sum adds the places of a row to the shared expert's outputs.
func (m *moe) sum(r int) {
	y := m.out.f32(m.s)[r*m.dim : (r+1)*m.dim]
	switch {
	case m.shared == nil:
		clear(y)
	case m.sharedRouter != nil:
		open := m.x.floatsOf(m.open)[r : r+1]
		kernel.Sigmoid(open, open)
		kernel.Scale(y, open[0])
	}
	outs := m.x.floatsOf(m.outs)
	for j := r * m.best; j < (r+1)*m.best; j++ {
		at := (m.experts + int(m.place[j])) * m.dim
		kernel.Add(y, y, outs[at:at+m.dim], m.weights[j])
	}
}
