package neuron

import (
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
)

// An Extra is what a port of one session attends to besides what table 6.2.2
// gives it, in inference. All of it may be nil.
type Extra[F grad.Float] struct {
	Bias    []F    // [N]: added to the logits of neurons: need_vector, z_shard, [R-10.4]
	Allowed []bool // [N]: neurons that may be selected; an Analysis attends to these alone, to none without
	Query   []F    // [D]: added to the query
	Keys    []F    // [rows, D]: more rows of keys and values: recall, look-up memory, what was injected
	Values  []F    // [rows, D]
	Streams []F    // [≤ k_p, D]: an Analysis' rows as streams
}

func (x *Extra[F]) empty() bool {
	return x.Bias == nil && x.Allowed == nil && x.Query == nil && len(x.Keys) == 0 && len(x.Streams) == 0
}

func (r *run[F]) extraOf(port, b int) *Extra[F] {
	if r.extra == nil {
		return nil
	}
	x := &r.extra[port*r.b+b]
	if x.empty() {
		return nil
	}
	return x
}

// attendExtra is [run.attend] for one row with an extra.
func (r *run[F]) attendExtra(k *desk[F], q *state[F], x *Extra[F], tb, b int, own []F) {
	c := r.p.Config
	d, n, f := c.D, c.N, &q.fold
	root := F(1 / math.Sqrt(float64(d)))
	qp, l, w := q.qp[tb*d:][:d], q.logits[tb*n:][:n], q.nw[tb*n:][:n]
	y, value := q.ay[(2*tb+1)*d:][:d], q.extraValue[b*d:][:d]
	clear(w)
	clear(y)
	clear(value)
	query := sized(&k.c, d)
	dense.MatVec(query, f.w[tQ], own)
	if x.Query != nil {
		dense.Add(query, x.Query)
		dense.AddMatVecT(qp, f.w[tK], x.Query)
	}
	ids := r.selected(k, q, tb, x.Allowed)
	switch {
	case q.Kind == Analysis && x.Allowed == nil:
		ids = k.heap[:0]
	case q.Kind == Analysis:
		k.heap = TopK(k.heap[:0], q.u[tb*n:][:n], portStreams(c), x.Allowed)
		ids = k.heap
	case ids == nil:
		k.heap = k.heap[:0]
		for i := range n {
			if x.Allowed == nil || x.Allowed[i] {
				k.heap = append(k.heap, int32(i))
			}
		}
		ids = k.heap
	}
	count := len(ids)
	row := sized(&k.row, count+len(x.Keys)/d)
	if len(row) == 0 {
		r.merits(q, tb, 1)
		return
	}
	for a, j := range ids {
		row[a] = dense.Dot(qp, r.x[(tb*n+int(j))*d:][:d])*root + logUtility(q.u[tb*n+int(j)])
		if x.Bias != nil {
			row[a] += x.Bias[j]
		}
		l[j] = row[a]
	}
	for a := range len(x.Keys) / d {
		row[count+a] = dense.Dot(query, x.Keys[a*d:][:d]) * root
	}
	dense.Softmax(row, row)
	var total F
	for a, j := range ids {
		w[j] = row[a]
		total += row[a]
		dense.Axpy(y, row[a], r.x[(tb*n+int(j))*d:][:d])
	}
	for a, s := range row[count:] {
		dense.Axpy(value, s, x.Values[a*d:][:d])
	}
	if total == 0 {
		total = 1
	}
	r.merits(q, tb, total)
}

// compressExtra adds an extra's values and streams to an output.
func (r *run[F]) compressExtra(q *state[F], x *Extra[F], tb, b int) {
	c := r.p.Config
	d, m := c.D, portStreams(c)
	o := q.o[tb*d:][:d]
	if len(x.Keys) > 0 {
		dense.AddMatVec(o, q.fold.e1, q.extraValue[b*d:][:d])
	}
	for a := range min(m, len(x.Streams)/d) {
		for i := range o {
			o[i] += dense.Dot(q.fold.rows[(i*m+a)*d:][:d], x.Streams[a*d:][:d])
		}
	}
}
