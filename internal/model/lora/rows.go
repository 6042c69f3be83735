package lora

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A Bound is an adapter as a model's products take it: the updates, and A and B of each
// in their order. What the adapter says of a tensor of a file is there of the weights
// that are made of it: its rows in the order of theirs, a part of them for each weight
// of a fused tensor.
type Bound struct {
	plan.LowRank
	A, B [][]float32 // [rank, cols], [rows, rank]
}

// Bind returns what the adapter adds to the products of a model, for rows that ask for
// it, while the weights stay as they are. The model may be a Hugging Face folder or a
// GGUF file of it, of any type. What changes other things than products is rejected with
// [ErrUnsupported] or [ErrBase]: merging the adapter as a model is opened ([Load]) may
// still be possible.
func (a *Adapter) Bind(m *compile.Model, name string) (*Bound, error) {
	format := compile.HuggingFace
	if a.gguf {
		format = compile.GGUF
	}
	pairs, left := map[string]*Pair{}, map[string]bool{}
	for i := range a.Pairs {
		p := &a.Pairs[i]
		pairs[a.bare(p.Tensor())], left[p.Module] = p, true
	}
	b := &Bound{LowRank: plan.LowRank{Name: name}}
	for _, weight := range m.Matrices() {
		for _, w := range m.Origins(weight, format) {
			if len(w.Sources) != 1 || pairs[a.bare(w.Sources[0])] == nil {
				continue
			}
			p := pairs[a.bare(w.Sources[0])]
			ka, kb, err := p.move(&w)
			if err != nil {
				return nil, err
			}
			b.Updates = append(b.Updates, plan.Update{Weight: weight, Rows: w.Shape[0], Cols: w.Shape[1], Rank: p.Rank, Scale: p.Scale})
			b.A, b.B = append(b.A, ka), append(b.B, kb)
			delete(left, p.Module)
			break
		}
	}
	if len(left) > 0 {
		names := slices.Sorted(maps.Keys(left))
		more := ""
		if len(names) > 3 {
			more, names = fmt.Sprintf(" and %d more", len(names)-3), names[:3]
		}
		return nil, fmt.Errorf("%w: there is no matrix of its own for %s%s%s", ErrBase, strings.Join(names, ", "), more, mergeInstead)
	}
	if err := b.Check(&m.Plans); err != nil {
		return nil, fmt.Errorf("%w: %w%s", ErrUnsupported, err, mergeInstead)
	}
	return b, nil
}

// mergeInstead says what to do with an adapter that cannot be bound.
const mergeInstead = "; merge it into the weights instead (Config.Adapter, --lora)"

// otherModel says so of an adapter whose shapes are not the model's.
const otherModel = "; it was made for another model"

// bare returns the part of a tensor's name by which it is compared.
func (a *Adapter) bare(name string) string {
	if a.gguf {
		return name
	}
	return compile.Bare(name)
}

// move returns A and B as they are of a weight that is made by a recipe of the matrix:
// what the recipe does with rows is done with those of B, and what it does with columns
// with those of A.
func (p *Pair) move(w *compile.Weight) (a, b []float32, err error) {
	bad := func(why, instead string) error {
		return fmt.Errorf("%w: %s for weight %s: %s%s", ErrBase, p.Module, w.Name, why, instead)
	}
	steps := w.Transform
	turned := len(steps) > 0 && steps[0].Kind == compile.Transpose
	if turned != p.Turned {
		return nil, nil, bad("fan_in_fan_out says other than the model whether its rows are the matrix's columns", mergeInstead)
	}
	if turned {
		steps = steps[1:]
	}
	va, vb := tensor.FromF32(tensor.Shape{p.Rank, p.In}, p.A), tensor.FromF32(tensor.Shape{p.Out, p.Rank}, p.B)
	for _, t := range steps {
		switch {
		case t.Kind == compile.PickCols:
			va, err = compile.ApplyTransform(t, va)
		case t.Kind == compile.Reshape && len(t.Shape) > 0 && t.Shape.Cols() == p.In:
			t.Shape = slices.Clone(t.Shape)
			t.Shape[len(t.Shape)-1] = p.Rank
			vb, err = compile.ApplyTransform(t, vb)
		case t.RowWise() && t.Kind != compile.Reshape:
			vb, err = compile.ApplyTransform(t, vb)
		default:
			return nil, nil, bad(fmt.Sprintf("%s of its values", t.Kind), mergeInstead)
		}
		if err != nil {
			return nil, nil, bad(fmt.Sprintf("its matrix is [%d, %d], of which there is no %v", p.Out, p.In, err), otherModel)
		}
	}
	if want := (tensor.Shape{w.Shape[0], p.Rank}); !vb.Shape.Equal(want) || va.Shape.Cols() != w.Shape[1] {
		return nil, nil, bad(fmt.Sprintf("its matrix is [%d, %d], the model's makes %v", p.Out, p.In, w.Shape), otherModel)
	}
	a, _ = va.F32()
	b, _ = vb.F32()
	return a, b, nil
}
