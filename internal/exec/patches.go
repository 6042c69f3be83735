package exec

import (
	"math"

	"atenia/internal/kernel"
	"atenia/internal/plan"
)

// A patchEmbed is one bound embedding of image patches: a product and, in some
// models, learned positions of a square grid, resized to that of the image.
type patchEmbed struct {
	x     *Executor
	p     *plan.PatchParams
	out   *register
	l     *linear
	src   scratch
	cols  int
	table *kernel.Matrix // of positions; nil = none
	line  scratch        // a row of the table and a sum, for each worker
	axes  [2][]blend     // by row and by column of the image
	tasks [2]Kernel      // gather, positions
}

// bindPatchEmbed binds the embedding of image patches.
func bindPatchEmbed(b *Bind, p *plan.PatchParams) (Kernel, error) {
	e := &patchEmbed{x: b.x, p: p, out: b.Out[0], cols: int(p.Patch * p.Patch * p.Channels * p.Temporal)}
	if in := int(b.In[0].cols); in != e.cols {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "patches have %d values, want %d", in, e.cols)
	}
	e.l = b.linear(e.cols)
	if err := b.add(e.l, "weight", "bias", int(p.Dim)); err != nil {
		return nil, err
	}
	e.l.parts[0].stride = int(p.Dim)
	e.src = b.floats(e.cols * b.maxRows)
	if b.Has("pos") {
		var err error
		if e.table, err = b.matrix("pos", int(p.GridSide*p.GridSide), int(p.Dim)); err != nil {
			return nil, err
		}
		e.line = b.floats(2 * int(p.Dim) * b.x.cfg.Threads)
	}
	e.tasks[0] = overRows(e.out, e.cols, e.gather)
	e.tasks[1] = overRows(e.out, 8*int(p.Dim), e.place)
	return e.run, nil
}

func (e *patchEmbed) run(s *Step) error {
	if err := e.tasks[0](s); err != nil {
		return err
	}
	e.l.parts[0].dst = e.out.f32(s)
	if err := e.l.run(s, e.x.floatsOf(e.src), s.rows); err != nil || e.table == nil {
		return err
	}
	for i, n := range s.patches.Grid[1:] {
		e.axes[i] = blends(e.axes[i][:0], int(e.p.GridSide), n, e.p.Resize)
	}
	return e.tasks[1](s)
}

// gather copies patches to the order of the step's rows.
func (e *patchEmbed) gather(s *Step, _, lo, hi int) {
	dst := e.x.floatsOf(e.src)
	for r := lo; r < hi; r++ {
		from := int(s.order[r]) * e.cols
		copy(dst[r*e.cols:(r+1)*e.cols], s.patches.Values[from:from+e.cols])
	}
}

// place adds the positions of rows lo to hi.
func (e *patchEmbed) place(s *Step, worker, lo, hi int) {
	dim := int(e.p.Dim)
	line := e.x.floatsOf(e.line)[2*worker*dim : 2*(worker+1)*dim]
	row, sum := line[:dim], line[dim:]
	y, size := e.out.f32(s), len(e.table.Data)/e.table.Rows
	for r := lo; r < hi; r++ {
		at := s.places[r]
		v, h := &e.axes[0][at[1]], &e.axes[1][at[2]]
		clear(sum)
		for j, a := range v.weights {
			for k, b := range h.weights {
				i := (v.first+j)*int(e.p.GridSide) + h.first + k
				kernel.LoadRow(row, e.table.DType, e.table.Data[i*size:(i+1)*size])
				kernel.Add(sum, sum, row, a*b)
			}
		}
		kernel.AddBias(y[r*dim:(r+1)*dim], sum)
	}
}

// A blend is the entries of an axis of a table that a position reads: first and
// those after it, with their weights.
type blend struct {
	first   int
	weights []float32
}

// blends returns, for each of n positions, what it reads of an axis of side
// entries.
func blends(out []blend, side, n int, how uint32) []blend {
	for i := range n {
		var t blend
		switch {
		case how == plan.PosCorners:
			at := float32(0) // as torch.linspace(0, side−1, n)
			if n > 1 {
				step := float32(side-1) / float32(n-1)
				at = step * float32(i)
				if i >= n/2 {
					at = float32(side-1) - step*float32(n-1-i)
				}
			}
			lo := min(int(at), side-1)
			d := at - float32(lo)
			t = blend{lo, []float32{1 - d, d}[:min(2, side-lo)]}
		case how == plan.PosArea:
			t = areaBlend(side, n, i)
		default:
			t = blend{min(i, side-1), []float32{1}}
		}
		out = append(out, t)
	}
	return out
}

// areaBlend returns the triangle filter of position i of n over side entries, as
// torch.nn.functional.interpolate does with antialias: it is as wide as a
// position's share of the entries, or as an entry.
func areaBlend(side, n, i int) blend {
	scale := float32(side) / float32(n)
	support, inv := max(scale, 1), 1/max(scale, 1)
	center := scale * (float32(i) + 0.5)
	lo := max(int(center-support+0.5), 0)
	hi := min(int(center+support+0.5), side)
	t := blend{first: lo}
	total := float32(0)
	for k := lo; k < hi; k++ {
		w := max(0, 1-float32(math.Abs(float64((float32(k)-center+0.5)*inv))))
		t.weights = append(t.weights, w)
		total += w
	}
	for k := range t.weights {
		t.weights[k] /= total
	}
	return t
}
