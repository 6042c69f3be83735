package neuron

import (
	"math"
	"slices"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

const heads = weights.ReadHeads

// A Queue is the entries of the working-memory queue that the Thinkers of B
// sequences read: the newest ones, oldest first, as they were written.
type Queue[F grad.Float] struct {
	Entries []F   // [Thinkers][B][window][D]
	Count   []int // [B]: how many are there; they are the last ones
	Last    []F   // [B][D_e]: embedding of the step before, zero at call start
	window  int
}

// NewQueue makes an empty queue for B sequences that holds as many entries of each
// as training reads.
func NewQueue[F grad.Float](c *config.Config, b int) *Queue[F] {
	return newQueueOf[F](c, b, c.WMQWindow)
}

// newQueueOf makes an empty queue for B sequences that holds so many entries of
// each: in inference, those of the hot zone.
func newQueueOf[F grad.Float](c *config.Config, b, window int) *Queue[F] {
	return &Queue[F]{make([]F, c.Thinkers*b*window*c.D), make([]int, b), make([]F, b*c.DE), window}
}

func (q *Queue[F]) fits(c *config.Config, b int) bool {
	return len(q.Count) == b && len(q.Last) == b*c.DE && len(q.Entries) == c.Thinkers*b*q.window*c.D
}

// A reading is the reads of one Thinker in a window [R-2.3c]. Rows are in the
// order sequence, step.
type reading[F grad.Float] struct {
	p          *Ports[F]
	t, b, w    int
	thinker    int
	topK       int // 0 is all entries
	weights    [8][]F
	valid      []int // [B]: carried entries
	o, out     []F   // [Thinkers, T·B, D], order step, sequence
	ob, oh     []F   // [B·T, D]: outputs, and over their root mean squares
	inv        []F   // [B·T]
	e          []F   // [B, T+1, D_e]
	a1, a2     []F   // [B, T+1, D]
	co, qo     []F   // [B·T, D], [B·T, 2D]: C·ô; queries
	all        []F   // [B, W+T, D]: contents
	q, score   []F   // [B, 2, T, D], [B, 2, T, W+T]: queries, weights
	null       []F   // [B, 2, T]
	rd         []F   // [B·T, 2D]: what is read
	om         []F   // [D, 2D]: O of both heads side by side
	mem        []F
	at         int
	training   bool
	back       bool
	dob, dread []F // [B·T, D], [B·T, 2D]
	dall, dq   []F // [B, W+T, D], [B, 2, T, D]
	dqo        []F // [B·T, 2D]
	dc, doh    []F // [B·T, D]
	da1, da2   []F // [B, T+1, D]
	part       []F // [B, 2, 3]: scale, slope, null
	dom        []F // [D, 2D]
}

const (
	rR1 = iota
	rR2
	rC
	rQ
	rO
	rScale
	rSlope
	rNull
)

// A readDesk is a thread's scratch memory for reads.
type readDesk[F grad.Float] struct{ rd, ds, order []F }

func (r *reading[F]) take(n int) []F {
	lo := r.at
	r.at += n
	if r.at > len(r.mem) {
		return nil
	}
	return r.mem[lo:r.at:r.at]
}

func (r *reading[F]) lay(t, b, w int, training bool) {
	same := r.mem != nil && r.t == t && r.b == b && r.w == w && r.training == training
	r.t, r.b, r.w, r.training = t, b, w, training
	if same {
		return
	}
	r.at = 0
	r.cut()
	if r.at > len(r.mem) {
		r.mem = make([]F, r.at)
	}
	r.at = 0
	r.cut()
	r.valid = sized(&r.valid, b)
}

func (r *reading[F]) cut() {
	d, de, bt, all := r.p.Config.D, r.p.Config.DE, r.b*r.t, r.w+r.t
	r.ob, r.oh, r.inv = r.take(bt*d), r.take(bt*d), r.take(bt)
	r.e, r.a1, r.a2 = r.take(r.b*(r.t+1)*de), r.take(r.b*(r.t+1)*d), r.take(r.b*(r.t+1)*d)
	r.co, r.qo, r.rd, r.om = r.take(bt*d), r.take(bt*heads*d), r.take(bt*heads*d), r.take(d*heads*d)
	r.all, r.q = r.take(r.b*all*d), r.take(bt*heads*d)
	r.score, r.null = r.take(bt*heads*all), r.take(bt*heads)
	if !r.training {
		return
	}
	r.dob, r.dread, r.dall, r.dq = r.take(bt*d), r.take(bt*heads*d), r.take(r.b*all*d), r.take(bt*heads*d)
	r.dqo, r.dc, r.doh = r.take(bt*heads*d), r.take(bt*d), r.take(bt*d)
	r.da1, r.da2, r.part, r.dom = r.take(r.b*(r.t+1)*d), r.take(r.b*(r.t+1)*d), r.take(r.b*heads*3), r.take(d*heads*d)
}

// runRead records the reads of all Thinkers: outputs with what they read.
func (p *Ports[F]) runRead(t *grad.Tape[F], refs map[string]grad.Ref, w *Window[F], o grad.Ref) (grad.Ref, error) {
	c, tb := p.Config, w.T*w.B
	out := t.Alloc(c.Thinkers, tb, c.D)
	if t.Err() != nil {
		return 0, t.Err()
	}
	list := p.newReadings()
	in := append(list.in[:0], o)
	names := p.readNames()
	for i := range c.Thinkers {
		r := &list.of[i]
		for j := range readTensors {
			ref := refs[names[i][j]]
			if t.Value(ref) == nil {
				return 0, &inputError{"tensor " + names[i][j], 1, 0}
			}
			r.weights[j] = t.Value(ref)
			in = append(in, ref)
		}
		r.lay(w.T, w.B, w.Queue.window, t.Recording())
		r.thinker, r.topK = i, 0
		r.o, r.out = t.Value(o), t.Data(out)
		r.forward(t.Work(), w.E, w.Queue)
	}
	list.in = in
	copy(w.Queue.Last, w.E[(w.T-1)*w.B*c.DE:])
	for b := range w.Queue.Count {
		w.Queue.Count[b] = min(w.Queue.Count[b]+w.T, w.Queue.window)
	}
	if err := t.Opaque(keyRead, in, []grad.Ref{out}, nil, list); err != nil {
		return 0, err
	}
	if !t.Recording() {
		p.reads = append(p.reads, list)
	}
	return out, nil
}

// readNames are the names of the readers' tensors.
func (p *Ports[F]) readNames() [][8]string {
	if len(p.names) == p.Config.Thinkers {
		return p.names
	}
	for _, q := range p.Config.Ports()[1 : 1+p.Config.Thinkers] {
		var n [8]string
		for j, t := range readTensors {
			n[j] = "port." + q + ".wmq." + t
		}
		p.names = append(p.names, n)
	}
	return p.names
}

// A readings is the reads of all Thinkers in a window.
type readings[F grad.Float] struct {
	of []reading[F]
	in []grad.Ref
}

// newReadings returns reads whose window is done, or others.
func (p *Ports[F]) newReadings() *readings[F] {
	if n := len(p.reads); n > 0 {
		r := p.reads[n-1]
		p.reads = p.reads[:n-1]
		return r
	}
	r := &readings[F]{of: make([]reading[F], p.Config.Thinkers)}
	for i := range r.of {
		r.of[i].p = p
	}
	return r
}

// forward reads and writes the queue.
func (r *reading[F]) forward(work *grad.Work[F], e []F, queue *Queue[F]) {
	c := r.p.Config
	d, de, bt, tb := c.D, c.DE, r.b*r.t, r.t*r.b
	copy(r.valid, queue.Count)
	for b := range r.b {
		copy(r.e[b*(r.t+1)*de:], queue.Last[b*de:][:de])
		for t := range r.t {
			copy(r.e[(b*(r.t+1)+t+1)*de:], e[(t*r.b+b)*de:][:de])
			o := r.o[(r.thinker*tb+t*r.b+b)*d:][:d]
			at := b*r.t + t
			copy(r.ob[at*d:], o)
			r.inv[at] = inverseRMS(o)
			oh := r.oh[at*d:][:d]
			copy(oh, o)
			dense.Scale(oh, r.inv[at])
		}
	}
	rows := r.b * (r.t + 1)
	work.MulT(r.a1, r.e, r.weights[rR1], rows, de, d)
	work.MulT(r.a2, r.e, r.weights[rR2], rows, de, d)
	work.MulT(r.co, r.oh, r.weights[rC], bt, d, d)
	work.MulT(r.qo, r.oh, r.weights[rQ], bt, d, heads*d)
	for n := range heads {
		for i := range d {
			copy(r.om[(i*heads+n)*d:], r.weights[rO][(n*d+i)*d:][:d])
		}
	}
	for b := range r.b {
		at := (r.thinker*r.b + b) * r.w * d
		copy(r.all[b*(r.w+r.t)*d:][:r.w*d], queue.Entries[at:])
	}
	r.back = false
	r.p.threads.Range(r.b, max(1, (r.b+r.p.threads.Count()-1)/r.p.threads.Count()), r)
	work.AddMulT(r.ob, r.rd, r.om, bt, heads*d, d)
	for b := range r.b {
		at := (r.thinker*r.b + b) * r.w * d
		copy(queue.Entries[at:][:r.w*d], r.all[(b*(r.w+r.t)+r.t)*d:])
		for t := range r.t {
			copy(r.out[(r.thinker*tb+t*r.b+b)*d:][:d], r.ob[(b*r.t+t)*d:])
		}
	}
}

// inverseRMS is (mean x² + 1e-6)^−½.
func inverseRMS[F grad.Float](x []F) F {
	return F(1 / math.Sqrt(float64(dense.Dot(x, x)/F(len(x)))+1e-6))
}

// Range implements [grad.Ranger] over sequences.
func (r *reading[F]) Range(worker, lo, hi int) {
	k := r.p.desks[worker]
	for b := lo; b < hi; b++ {
		if r.back {
			r.sequenceBack(k, b)
		} else {
			r.sequence(k, b)
		}
	}
}

// sequence reads the entries of one sequence.
func (r *reading[F]) sequence(k *desk[F], b int) {
	d, all := r.p.Config.D, r.w+r.t
	entries := r.all[b*all*d:][:all*d]
	for t := range r.t {
		at, ext := b*r.t+t, b*(r.t+1)+t
		c := entries[(r.w+t)*d:][:d]
		copy(c, r.co[at*d:][:d])
		dense.Add(c, r.a1[(ext+1)*d:][:d])
		dense.Add(c, r.a2[ext*d:][:d])
		for n, a := range [heads][]F{r.a1, r.a2} {
			q := r.q[((b*heads+n)*r.t+t)*d:][:d]
			copy(q, r.qo[(at*heads+n)*d:][:d])
			dense.Axpy(q, r.weights[rScale][n], a[(ext+1)*d:][:d])
		}
	}
	read := sized(&k.reader.rd, r.t*d)
	for n := range heads {
		score := r.score[(b*heads+n)*r.t*all:][:r.t*all]
		k.work.MulT(score, r.q[(b*heads+n)*r.t*d:][:r.t*d], entries, r.t, d, all)
		for t := range r.t {
			r.null[(b*heads+n)*r.t+t] = r.softmax(k, score[t*all:][:all], b, t, n)
		}
		k.work.Mul(read, score, entries, r.t, all, d)
		for t := range r.t {
			copy(r.rd[((b*r.t+t)*heads+n)*d:][:d], read[t*d:])
		}
	}
}

// span is the entries that step t of a sequence sees.
func (r *reading[F]) span(b, t int) (lo, hi int) {
	return max(t, r.w-r.valid[b]), r.w + t
}

// softmax turns products into weights and returns that of the null entry.
func (r *reading[F]) softmax(k *desk[F], s []F, b, t, n int) F {
	lo, hi := r.span(b, t)
	root := F(1 / math.Sqrt(float64(r.p.Config.D)))
	slope, null := r.weights[rSlope][n], r.weights[rNull][n]
	clear(s[:lo])
	clear(s[hi:])
	seen := s[lo:hi]
	for j := range seen {
		seen[j] = seen[j]*root - slope*F(hi-lo-j)
	}
	least := F(math.Inf(-1))
	if r.topK > 0 && r.topK < len(seen) {
		order := append(k.reader.order[:0], seen...)
		slices.Sort(order)
		least = order[len(order)-r.topK]
		k.reader.order = order
	}
	top := null
	for _, x := range seen {
		top = max(top, x)
	}
	for j, x := range seen {
		if x < least {
			x = F(math.Inf(-1))
		}
		seen[j] = x - top
	}
	exps(seen)
	rest := F(math.Exp(float64(null - top)))
	sum := rest
	for _, x := range seen {
		sum += x
	}
	dense.Scale(seen, 1/sum)
	return rest / sum
}
