package tape

import (
	"fmt"
	"slices"

	"atenia/internal/model/compile"

	"atenia/tensor"
)

// A Param is one tensor of a model's file.
type Param[F Float] struct {
	Name  string // of the file: "model.layers.0.self_attn.q_proj.weight"
	Shape tensor.Shape
	Value []F // row-major
	Grad  []F // backward passes add to it; made by [New], nil while frozen

	Turned bool // the rows of its weights are its columns: a row for each input

	frozen bool
	paged  bool // its values are in memory only inside of blocks that a Pager entered
}

// Frozen reports whether the tensor has no gradient.
func (p *Param[F]) Frozen() bool { return p.frozen }

// Params are the tensors that a model's plan reads, by the names of its file,
// in the order of their first use.
type Params[F Float] struct {
	list   []*Param[F]
	byName map[string]*Param[F]
	loras  map[string]*LoRA[F]
}

// NewParams reads the tensors that the plans of m name. find returns a tensor of
// the file; a nil find leaves all values zero, for models that begin with other
// values than a file's. Block-quantized tensors are read as the values they
// stand for. Errors are those of package compile.
func NewParams[F Float](m *compile.Model, find func(name string) (tensor.View, bool)) (*Params[F], error) {
	p := &Params[F]{byName: map[string]*Param[F]{}, loras: map[string]*LoRA[F]{}}
	shapes := fileShapes(m)
	for _, b := range planOf(m).Weights {
		w := m.Weights[b.Name]
		for _, name := range w.Sources {
			if p.byName[name] != nil {
				continue
			}
			q := &Param[F]{Name: name, Shape: shapes[name], Turned: turns(w)}
			if find != nil {
				if err := q.read(b.Name, find); err != nil {
					return nil, err
				}
			} else if err := q.empty(b.Name); err != nil {
				return nil, err
			}
			p.add(q)
		}
	}
	return p, nil
}

// NewPagedParams is [NewParams] for values that a [Pager] brings to memory. shape
// returns the shape of a tensor of the file; with a nil shape all shapes follow
// from the configuration.
func NewPagedParams[F Float](m *compile.Model, shape func(name string) (tensor.Shape, bool)) (*Params[F], error) {
	p := &Params[F]{byName: map[string]*Param[F]{}, loras: map[string]*LoRA[F]{}}
	shapes := fileShapes(m)
	for _, b := range planOf(m).Weights {
		w := m.Weights[b.Name]
		for _, name := range w.Sources {
			if p.byName[name] != nil {
				continue
			}
			q := &Param[F]{Name: name, Shape: shapes[name], Turned: turns(w), paged: true}
			if shape != nil {
				s, ok := shape(name)
				if !ok {
					return nil, &compile.MaterializeError{Weight: b.Name, Tensor: name, Err: fmt.Errorf("the file has no such tensor")}
				}
				q.Shape = slices.Clone(s)
			}
			if _, err := q.length(b.Name); err != nil {
				return nil, err
			}
			p.add(q)
		}
	}
	return p, nil
}

func (p *Params[F]) add(q *Param[F]) {
	p.list = append(p.list, q)
	p.byName[q.Name] = q
}

// read takes the values of the file's tensor.
func (q *Param[F]) read(weight string, find func(string) (tensor.View, bool)) error {
	v, ok := find(q.Name)
	if !ok {
		return &compile.MaterializeError{Weight: weight, Tensor: q.Name, Err: fmt.Errorf("the file has no such tensor")}
	}
	v, err := compile.WeightToF32(v)
	if err != nil {
		return &compile.MaterializeError{Weight: weight, Tensor: q.Name, Err: err}
	}
	x, _ := v.F32()
	q.Shape = slices.Clone(v.Shape)
	q.Value = make([]F, len(x))
	for i, f := range x {
		q.Value[i] = F(f)
	}
	return nil
}

func (q *Param[F]) empty(weight string) error {
	n, err := q.length(weight)
	if err != nil {
		return err
	}
	q.Value = make([]F, n)
	return nil
}

// length returns the number of values that a weight's tensor has.
func (q *Param[F]) length(weight string) (int, error) {
	n, ok := q.Shape.Size()
	if !ok || q.Shape == nil {
		return 0, &compile.MaterializeError{Weight: weight, Tensor: q.Name, Err: fmt.Errorf("its shape %v does not follow from the configuration", q.Shape)}
	}
	return n, nil
}

// Len returns the number of values, also where they are not in memory.
func (q *Param[F]) Len() int {
	n, _ := q.Shape.Size()
	return n
}

// Paged reports whether a [Pager] brings the values to memory.
func (q *Param[F]) Paged() bool { return q.paged }

// turns reports whether a weight's rows are columns of its tensor.
func turns(w compile.Weight) bool {
	return len(w.Sources) == 1 && len(w.Transform) > 0 && w.Transform[0].Kind == compile.Transpose &&
		!slices.ContainsFunc(w.Transform, func(t compile.Transform) bool { return t.Kind == compile.Reshape })
}

// fileShapes infers the shapes of a file's tensors from the weights made of
// them: weights made of one tensor unchanged, or of its rows.
func fileShapes(m *compile.Model) map[string]tensor.Shape {
	shapes := map[string]tensor.Shape{}
	for _, b := range planOf(m).Weights {
		w := m.Weights[b.Name]
		switch {
		case len(w.Sources) == 0:
		case len(w.Sources) > 1: // equal parts along the first axis
			for _, name := range w.Sources {
				s := slices.Clone(w.Shape)
				if len(s) == 3 && s[0] == len(w.Sources) {
					s = s[1:]
				} else {
					s[0] /= len(w.Sources)
				}
				shapes[name] = s
			}
		default:
			s := sourceShape(&w)
			name := w.Sources[0]
			if old := shapes[name]; old == nil || old[0] < s[0] || old[len(old)-1] < s[len(s)-1] {
				shapes[name] = s
			}
		}
	}
	return shapes
}

// sourceShape returns the shape of the tensor that a weight is made of, or of its
// first rows.
func sourceShape(w *compile.Weight) tensor.Shape {
	s := slices.Clone(w.Shape)
	for i := len(w.Transform) - 1; i >= 0; i-- {
		switch t := w.Transform[i]; t.Kind {
		case compile.SliceRows:
			s[0] = t.B
		case compile.PickRows:
			s[0] = 0
			for _, r := range t.Ranges {
				s[0] = max(s[0], r[1])
			}
		case compile.SliceEach, compile.StepRows:
			switch {
			case i > 0 && w.Transform[i-1].Kind == compile.Reshape:
				s = slices.Clone(w.Transform[i-1].Shape)
			case t.Kind == compile.SliceEach: // the last part of a group says how many rows it has
				s = append(tensor.Shape{t.N * t.B}, s[len(s)-1])
			default:
				s[0] *= t.B
			}
		case compile.Transpose:
			n := len(s)
			if i > 0 && w.Transform[i-1].Kind == compile.Reshape {
				s = slices.Clone(w.Transform[i-1].Shape)
			} else {
				s[n-2], s[n-1] = s[n-1], s[n-2]
			}
		}
	}
	return s
}

// All returns the tensors in the order of their first use, then those of LoRA
// pairs in the order they were attached. The caller must not change the list.
func (p *Params[F]) All() []*Param[F] { return p.list }

// Get returns the tensor of a name.
func (p *Params[F]) Get(name string) (*Param[F], bool) {
	q, ok := p.byName[name]
	return q, ok
}

// Train freezes every tensor for which wanted is false, and no other. Initially
// no tensor is frozen. It takes effect at the next [New].
func (p *Params[F]) Train(wanted func(*Param[F]) bool) {
	for _, q := range p.list {
		if q.frozen = !wanted(q); q.frozen {
			q.Grad = nil
		}
	}
}

// makeGrads gives every trained tensor without a gradient one of zeros.
func (p *Params[F]) makeGrads() {
	for _, q := range p.list {
		if !q.frozen && q.Grad == nil && !q.paged {
			q.Grad = make([]F, len(q.Value))
		}
	}
}
