package exec

import (
	"math"

	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// A pooling reduces the rows of each requested row's sequence to one vector, or, of
// rows that were requested already, only divides them by their lengths.
type pooling struct {
	in, out *register
	kind    uint32
	unit    bool
}

// bindPool binds the reduction of a sequence to one vector.
func bindPool(b *Bind, p *plan.PoolParams) (Kernel, error) {
	l := &pooling{in: b.In[0], out: b.Out[0], kind: p.Kind, unit: p.Normalize != 0}
	if l.in.rows == plan.RowsRequested {
		l.kind = plan.PoolRows
	}
	return overRows(l.out, 1<<14, l.rows), nil
}

// A Rows is a range of rows of a step.
type Rows struct{ Lo, Hi int }

// Pooled returns the rows of a run that a step of an encoder must request: one for
// its vector, or all of them with pooling "none".
func Pooled(run *Run, pool string) Rows {
	switch end := run.First + run.Len; pool {
	case "none":
		return Rows{run.First, end}
	case "cls":
		return Rows{run.First, run.First + 1}
	default:
		return Rows{end - 1, end}
	}
}

// rows computes vectors lo to hi. A vector is computed by one worker, the rows of
// its sequence added in order, so that its bits depend on nothing else.
func (l *pooling) rows(s *Step, _, lo, hi int) {
	dim := int(l.out.cols)
	x, y := l.in.f32(s), l.out.f32(s)
	for i := lo; i < hi; i++ {
		dst := y[i*dim : (i+1)*dim]
		if l.in.rows == plan.RowsRequested {
			copy(dst, x[i*dim:])
		} else {
			l.reduce(s, dst, x, int(s.Requested[i]))
		}
		if l.unit {
			toUnit(dst)
		}
	}
}

// reduce writes the vector of the sequence of row r.
func (l *pooling) reduce(s *Step, dst, x []float32, r int) {
	run, dim := &s.Runs[s.rowRun[r]], len(dst)
	switch l.kind {
	case plan.PoolFirst:
		r = run.First
	case plan.PoolLast:
		r = run.First + run.Len - 1
	case plan.PoolMean:
		clear(dst)
		for r := run.First; r < run.First+run.Len; r++ {
			kernel.Add(dst, dst, x[r*dim:(r+1)*dim], 1)
		}
		kernel.Scale(dst, 1/float32(run.Len))
		return
	}
	copy(dst, x[r*dim:(r+1)*dim])
}

// toUnit divides a vector by its length; that of a zero vector counts as 1e-12,
// as in torch.nn.functional.normalize.
func toUnit(v []float32) {
	sum := 0.0
	for _, a := range v {
		sum += float64(a) * float64(a)
	}
	kernel.Scale(v, float32(1/max(math.Sqrt(sum), 1e-12)))
}
