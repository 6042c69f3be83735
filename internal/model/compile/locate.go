package compile

import (
	"slices"

	"atenia/internal/model/file"
	"atenia/tensor"
)

// A Location is the position of a weight in a file, if kernels can read it
// unchanged.
type Location struct {
	View   tensor.View // Data alias the mapped file
	File   string
	Offset int64
	Align  int // required alignment of the address
}

// Locate returns where the files have a weight. Most weights have one, even if they are
// a slice of a fused tensor or reshaped; it returns false for those that must be
// computed: constants, vectors that are not F32, and types without kernels.
func Locate(w *Weight, d *file.Description) (Location, bool) {
	if len(w.Sources) != 1 {
		return Location{}, false
	}
	t, ok := d.Tensor(w.Sources[0])
	if !ok || t.Made() {
		return Location{}, false
	}
	p := Location{View: t.View, File: t.File, Offset: t.Offset, Align: 1}
	for _, tr := range w.Transform {
		if tr.Kind != SliceRows && tr.Kind != Reshape {
			return Location{}, false
		}
		if tr.Kind == SliceRows {
			_, size, err := outer(p.View)
			if err != nil {
				return Location{}, false
			}
			p.Offset += int64(tr.A * size)
		}
		v, err := ApplyTransform(tr, p.View)
		if err != nil {
			return Location{}, false
		}
		p.View = v
	}
	if !p.View.Shape.Equal(w.Shape) || !ready(p.View) {
		return Location{}, false
	}
	if !p.View.DType.Quantized() {
		_, p.Align = p.View.DType.Block()
	}
	return p, true
}

// LocateExperts returns where the files have the matrix of each of n experts, which
// a weight has row after row: slices of one tensor, or tensors of their own. It
// returns false for weights that must be computed.
func LocateExperts(w *Weight, n int, d *file.Description) ([]Location, bool) {
	if n < 1 || len(w.Shape) == 0 || w.Shape[0]%n != 0 {
		return nil, false
	}
	shape := slices.Clone(w.Shape)
	shape[0] /= n
	out := make([]Location, n)
	if len(w.Sources) == n && n > 1 && len(w.Transform) == 0 {
		for e := range out {
			one := Weight{Name: w.Name, Shape: shape, Sources: w.Sources[e : e+1]}
			at, ok := Locate(&one, d)
			if !ok || at.View.DType != out[0].View.DType && e > 0 {
				return nil, false
			}
			out[e] = at
		}
		return out, true
	}
	if last := len(w.Transform) - 1; last >= 0 && len(w.Sources) == 1 && w.Transform[last].Kind == SliceEach && w.Transform[last].N == n {
		return locateEach(w, n, d)
	}
	at, ok := Locate(w, d)
	if !ok {
		return nil, false
	}
	size, err := shape.Bytes(at.View.DType)
	if err != nil {
		return nil, false
	}
	for e := range out {
		v := tensor.View{DType: at.View.DType, Shape: shape}
		if at.View.Data != nil {
			v.Data = at.View.Data[e*size : (e+1)*size : (e+1)*size]
		}
		out[e] = Location{View: v, File: at.File, Offset: at.Offset + int64(e*size), Align: at.Align}
	}
	return out, true
}

// locateEach is LocateExperts for rows of each expert's part of a fused tensor.
func locateEach(w *Weight, n int, d *file.Description) ([]Location, bool) {
	out, last := make([]Location, n), w.Transform[len(w.Transform)-1]
	t, ok := d.Tensor(w.Sources[0])
	if !ok {
		return nil, false
	}
	size, _ := t.View.Shape.Size()
	cols := w.Shape.Cols()
	if cols < 1 || size/cols%n != 0 {
		return nil, false
	}
	group := size / cols / n
	for e := range out {
		one := Weight{Name: w.Name, Shape: slices.Clone(w.Shape), Sources: w.Sources, Transform: slices.Clone(w.Transform)}
		one.Shape[0] /= n
		one.Transform[len(one.Transform)-1] = Transform{Kind: SliceRows, A: e*group + last.A, B: e*group + last.B}
		at, ok := Locate(&one, d)
		if !ok {
			return nil, false
		}
		out[e] = at
	}
	return out, true
}

// ready reports whether kernels can read a view unchanged, given its alignment.
func ready(v tensor.View) bool {
	return v.DType == tensor.F32 || len(v.Shape) >= 2 && (v.DType.Quantized() || v.DType == tensor.F16 || v.DType == tensor.BF16)
}
