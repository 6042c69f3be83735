package quant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"atenia/tensor"
)

// A Stored is a tensor as the files have it.
type Stored struct {
	Name string
	View tensor.View
}

// A Tensor is a tensor of the model: one of the files, or a matrix whose rows
// are made from several.
type Tensor struct {
	Name  string
	DType tensor.DType
	Shape tensor.Shape
	Parts []int // positions of the stored tensors that it is made from
	// Rows writes the rows lo to hi as blocks or values of DType; rows are those of
	// the last axis, all others joined. It is nil if the only part is the tensor
	// itself. It is safe for concurrent use.
	Rows func(dst []byte, lo, hi int)
}

// A Folder is what a quantized folder means.
type Folder struct {
	Method  string // in the spelling of [Methods]
	Tensors []Tensor
	Zeros   *Zeros // of GPTQ digits; nil if the folder has none
}

// Read finds the matrices of a quantized folder from the JSON object
// quantization_config of its configuration and the configuration's dtype. It
// returns nil if the object is missing or names none of [Methods]. Without
// tensors the result has none either. Its errors are [*Error].
//
// It reads the bytes of column orders and, for types that depend on them, of
// scales and zero points; those of the matrices are read by Rows alone.
//
// zeros is the version of GPTQ's zero points, [ZerosV1] or [ZerosV2]; "" takes what
// the digits or else the configuration tell. Digits of another kind have none.
func Read(quantization []byte, dtype, zeros string, stored []Stored) (*Folder, error) {
	s, err := settingsOf(quantization, dtype)
	if err != nil || s.m == nil {
		return nil, err
	}
	r := &reader{settings: s, stored: stored, at: make(map[string]int, len(stored)), taken: make([]bool, len(stored)), asked: zeros}
	for i := range stored {
		r.at[stored[i].Name] = i
	}
	read, ok := methods[s.method()]
	if !ok {
		return nil, nil
	}
	if err := read(r); err != nil {
		return nil, err
	}
	for i := range stored {
		if !r.taken[i] {
			v := stored[i].View
			r.out = append(r.out, Tensor{Name: stored[i].Name, DType: v.DType, Shape: v.Shape, Parts: []int{i}})
		}
	}
	slices.SortStableFunc(r.out, func(a, b Tensor) int { return cmp.Compare(a.Parts[0], b.Parts[0]) })
	seen := make(map[string]bool, len(r.out))
	for i := range r.out {
		if name := r.out[i].Name; seen[name] {
			return nil, &Error{Tensor: name, Field: "name", Want: "a matrix in one form", Got: "it as stored and in packed form", Fix: fixFetch}
		} else {
			seen[name] = true
		}
	}
	return &Folder{Method: s.method(), Tensors: r.out, Zeros: r.zeros}, nil
}

// A reader collects the matrices of one folder.
type reader struct {
	settings
	stored []Stored
	at     map[string]int
	taken  []bool
	out    []Tensor
	asked  string // version of zero points that the user asked for
	zeros  *Zeros
}

// each calls f for every stored tensor whose name ends in suffix, in the order
// of the files, with what precedes it.
func (r *reader) each(suffix string, f func(base string) error) error {
	for i := range r.stored {
		if base, ok := strings.CutSuffix(r.stored[i].Name, suffix); ok {
			if err := f(base); err != nil {
				return err
			}
		}
	}
	return nil
}

// A part is a stored tensor of a matrix.
type part struct {
	tensor.View
	name string
	i    int
}

// find returns a stored tensor.
func (r *reader) find(name string) (part, bool) {
	i, ok := r.at[name]
	if !ok {
		return part{name: name}, false
	}
	return part{r.stored[i].View, name, i}, true
}

// need returns a stored tensor of one of the given types.
func (r *reader) need(name string, types ...tensor.DType) (part, error) {
	p, ok := r.find(name)
	if !ok {
		return p, &Error{Tensor: name, Field: "name", Want: "a tensor of that name, as its matrix needs it", Got: "none", Fix: fixFetch}
	}
	return p, p.is(types...)
}

// is checks the type of a part, and that it has the bytes that its shape says.
func (p *part) is(types ...tensor.DType) error {
	if !slices.Contains(types, p.DType) {
		return &Error{Tensor: p.name, Field: "element type", Want: fmt.Sprintf("one of %v", types), Got: p.DType.String(), Fix: fixOther}
	}
	if _, err := tensor.NewView(p.DType, p.Shape, p.Data); err != nil {
		return &Error{Tensor: p.name, Field: "data", Want: "the bytes of its shape", Got: err.Error(), Fix: fixFetch}
	}
	return nil
}

// shaped checks the shape of a part.
func (p *part) shaped(want ...int) error {
	if !slices.Equal([]int(p.Shape), want) {
		return p.misshapen(tensor.Shape(want).String())
	}
	return nil
}

func (p *part) misshapen(want string) error {
	return &Error{Tensor: p.name, Field: "shape", Want: want, Got: p.Shape.String(), Fix: fixFetch}
}

// maxSide bounds the rows and columns of a matrix, so that sizes in bits do not
// overflow.
const maxSide = 1 << 31

// sized checks the sides of a matrix that is made from p.
func (p *part) sized(rows, cols int) error {
	if rows < 1 || cols < 1 || rows > maxSide || cols > maxSide {
		return p.misshapen(fmt.Sprintf("a matrix of 1 to %d rows and columns", maxSide))
	}
	return nil
}

// add adds a matrix made from parts.
func (r *reader) add(name string, d tensor.DType, shape tensor.Shape, rows func([]byte, int, int), parts ...part) {
	t := Tensor{Name: name, DType: d, Shape: shape, Rows: rows}
	for _, p := range parts {
		r.taken[p.i] = true
		t.Parts = append(t.Parts, p.i)
	}
	slices.Sort(t.Parts)
	r.out = append(r.out, t)
}
