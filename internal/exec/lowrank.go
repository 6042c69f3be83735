package exec

import (
	"cmp"
	"slices"

	"atenia/internal/kernel"
	"atenia/internal/machine/ledger"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A LowRank is an adapter in memory, for the rows of runs that name it. It belongs
// to a model, not to one executor of it, and may be used by several steps.
type LowRank struct {
	id      uint64   // orders rows by adapter
	updates []update // by number of the weight; rank 0 = none
	block   ledger.Block
}

// An update is added to the product with one weight.
type update struct {
	rank  int
	rows  int
	scale float32
	a     kernel.Matrix // [rank, cols]
	b     []float32     // [rank, rows]: a column of B follows another, to be added as vectors
}

// Factors are the A [rank, cols] and B [rows, rank] of an update.
type Factors struct{ A, B []float32 }

// NewLowRank brings an adapter into memory that is reserved in an account. factors has
// those of every update, in their order, which are copied. It fails if the executor's
// products cannot have the updates, see [plan.LowRank.Check], or if there is no memory.
// Release the result when no run names it any more.
func (x *Executor) NewLowRank(plans *plan.ModelPlans, l *plan.LowRank, factors []Factors, account *ledger.Account) (*LowRank, error) {
	if err := l.Check(plans); err != nil {
		return nil, err
	}
	for i := range l.Updates {
		u := &l.Updates[i]
		if n, ok := x.numbers[u.Weight]; !ok || x.shapes[n] != [2]int{u.Rows, u.Cols} {
			return nil, plan.Errorf(plan.ErrWeightBinding, plan.Whole, "adapter %q updates %s [%d, %d], the model has %v", l.Name, u.Weight, u.Rows, u.Cols, x.shapes[n])
		}
		if f := &factors[i]; len(f.A) != u.Rank*u.Cols || len(f.B) != u.Rows*u.Rank {
			return nil, plan.Errorf(plan.ErrWeightBinding, plan.Whole, "adapter %q: %d and %d values for rank %d of %s", l.Name, len(f.A), len(f.B), u.Rank, u.Weight)
		}
	}
	block, err := ledger.NewHugeBlock(account, ledger.Adapters, int(l.Bytes()))
	if err != nil {
		return nil, err
	}
	a := &LowRank{id: x.lowRanks.Add(1), updates: make([]update, len(x.shapes)), block: block}
	left := floats(block.Bytes)
	take := func(n int) (f []float32) {
		f, left = left[:n:n], left[n:]
		return f
	}
	for i := range l.Updates {
		u, f := &l.Updates[i], &factors[i]
		am, b := take(len(f.A)), take(len(f.B))
		copy(am, f.A)
		for r := range u.Rows {
			for k := range u.Rank {
				b[k*u.Rows+r] = f.B[r*u.Rank+k]
			}
		}
		a.updates[x.numbers[u.Weight]] = update{
			rank: u.Rank, rows: u.Rows, scale: float32(u.Scale), b: b,
			a: kernel.Matrix{DType: tensor.F32, Rows: u.Rank, Cols: u.Cols, Data: bytesOf(am)},
		}
	}
	return a, nil
}

// ID returns a number that no other adapter of the executor has.
func (a *LowRank) ID() uint64 { return a.id }

// Release frees the adapter's memory. No step may use it then.
func (a *LowRank) Release() { a.block.Release() }

// number returns the number of a weight whose product is bound. Executors of one model
// bind its products in one order, so that all give the same.
func (x *Executor) number(weight string, rows, cols int) int {
	n, ok := x.numbers[weight]
	if !ok {
		if x.numbers == nil {
			x.numbers = map[string]int{}
		}
		n = len(x.shapes)
		x.numbers[weight] = n
		x.shapes = append(x.shapes, [2]int{})
	}
	x.shapes[n] = [2]int{rows, cols}
	return n
}

// checkLowRank verifies that a run's adapter is of this model.
func (x *Executor) checkLowRank(i int, r *Run) error {
	if r.LowRank == nil {
		return nil
	}
	if len(r.LowRank.updates) != len(x.shapes) {
		return stepErrorf("run %d has the adapter of another model", i)
	}
	return nil
}

// adaptedRows are neighbouring rows of one adapter.
type adaptedRows struct {
	first, n int
	of       *LowRank
	strength float32
}

// layAdapted finds the rows of each adapter, those of one after those of another, so
// that its matrices are read from memory once in a product.
func (s *Step) layAdapted() {
	s.adapted, s.asked = s.adapted[:0], s.asked[:0]
	for i := range s.Runs {
		if r := &s.Runs[i]; r.LowRank != nil {
			s.adapted = addRows(s.adapted, r, r.First, r.Len)
		}
	}
	if len(s.adapted) == 0 {
		return
	}
	for i, row := range s.Requested {
		if r := &s.Runs[s.rowRun[row]]; r.LowRank != nil {
			s.asked = addRows(s.asked, r, i, 1)
		}
	}
	byAdapter := func(a, b adaptedRows) int {
		return cmp.Or(cmp.Compare(a.of.id, b.of.id), cmp.Compare(a.first, b.first))
	}
	slices.SortFunc(s.adapted, byAdapter)
	slices.SortFunc(s.asked, byAdapter)
}

// addRows appends rows of a run, or makes the last ones longer.
func addRows(to []adaptedRows, r *Run, first, n int) []adaptedRows {
	if k := len(to) - 1; k >= 0 && to[k].of == r.LowRank && to[k].strength == r.Strength && to[k].first+to[k].n == first {
		to[k].n += n
		return to
	}
	return append(to, adaptedRows{first, n, r.LowRank, r.Strength})
}

// lower computes scale·A·x of every row that has an adapter, for all parts.
func (l *linear) lower(s *Step) {
	l.adapted = s.adapted
	if l.asked {
		l.adapted = s.asked
	}
	if len(l.adapted) == 0 {
		return
	}
	ranks, size, most := 0, 0, 0
	for i := range l.parts {
		p := &l.parts[i]
		p.low = size
		for j := range l.adapted {
			g := &l.adapted[j]
			rank := g.of.updates[p.at].rank
			ranks, size, most = ranks+rank, size+rank*g.n, max(most, g.n)
		}
	}
	if ranks == 0 {
		l.adapted = nil
		return
	}
	x := s.x
	if len(x.low) < size {
		x.low = make([]float32, size) // grows to the largest adapters in use
	}
	l.low, x.lowTask.l = x.low, l
	s.parallel(ranks, grainFor(most*l.cols), &x.lowTask)
}

// A lowTask carries lower through the worker pool.
type lowTask struct{ l *linear }

// Range computes the ranks lo to hi of all adapters of all parts concatenated.
func (t *lowTask) Range(_, lo, hi int) {
	base := 0
	for i := range t.l.parts {
		p := &t.l.parts[i]
		low := t.l.low[p.low:]
		for j := range t.l.adapted {
			g := &t.l.adapted[j]
			u := &g.of.updates[p.at]
			if a, b := max(lo-base, 0), min(hi-base, u.rank); a < b {
				kernel.MatMul(low, u.rank, &u.a, a, b, t.l.src[g.first*t.l.cols:(g.first+g.n)*t.l.cols], t.l.cols, g.n)
				if f := u.scale * g.strength; f != 1 {
					for r := range g.n {
						kernel.Scale(low[r*u.rank+a:r*u.rank+b], f)
					}
				}
			}
			base += u.rank
			low = low[u.rank*g.n:]
		}
	}
}

// raise adds B·low to outputs lo to hi of the rows that have an adapter.
func (l *linear) raise(p *part, lo, hi int) {
	low := l.low[p.low:]
	for j := range l.adapted {
		g := &l.adapted[j]
		u := &g.of.updates[p.at]
		for r := range g.n {
			dst := p.dst[(g.first+r)*p.stride:][lo:hi]
			for k, f := range low[r*u.rank : (r+1)*u.rank] {
				kernel.Add(dst, dst, u.b[k*u.rows+lo:k*u.rows+hi], f)
			}
		}
		low = low[u.rank*g.n:]
	}
}
