package tape

import (
	"fmt"

	"atenia/tensor"
)

// A LoRA adds Scale·B·(A·x) to a product W·x (arXiv 2106.09685).
type LoRA[F Float] struct {
	A, B    *Param[F] // [rank, in], [out, rank]
	Scale   float64   // α/rank, or α/√rank
	Dropout float64   // share of x that is dropped before A, if [Batch.Seed] is not 0
}

// Attach adds a low-rank pair to the product with a tensor of the file. It does
// not freeze that tensor; use [Params.Train]. The pair's tensors are appended
// to the list. A pair of a tensor that holds several weights (phi3's qkv_proj)
// serves each with its rows of B. Attach takes effect at the next [New].
func (p *Params[F]) Attach(name string, l LoRA[F]) error {
	w, ok := p.byName[name]
	switch {
	case !ok:
		return fmt.Errorf("low-rank pair: the model has no tensor %q", name)
	case p.loras[name] != nil:
		return fmt.Errorf("low-rank pair: %s has one already", name)
	case len(w.Shape) != 2 || len(l.A.Shape) != 2 || len(l.B.Shape) != 2:
		return fmt.Errorf("low-rank pair of %s: it, A and B have shapes %v, %v and %v, want matrices", name, w.Shape, l.A.Shape, l.B.Shape)
	}
	rank, out, in := l.A.Shape[0], w.Shape[0], w.Shape[1]
	if w.Turned {
		out, in = in, out
	}
	if want := (tensor.Shape{rank, in}); !l.A.Shape.Equal(want) {
		return &tensor.ShapeError{Op: "A of " + name, Want: want, Got: l.A.Shape}
	}
	if want := (tensor.Shape{out, rank}); !l.B.Shape.Equal(want) {
		return &tensor.ShapeError{Op: "B of " + name, Want: want, Got: l.B.Shape}
	}
	for _, q := range []*Param[F]{l.A, l.B} {
		if p.byName[q.Name] != nil {
			return fmt.Errorf("low-rank pair of %s: there is a tensor %q already", name, q.Name)
		}
		if n, ok := q.Shape.Size(); !ok || n != len(q.Value) {
			return fmt.Errorf("low-rank pair of %s: %s has %d values for shape %v", name, q.Name, len(q.Value), q.Shape)
		}
		p.add(q)
	}
	p.loras[name] = &l
	return nil
}
