package compile

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A MaterializeError says which weight could not be made. It unwraps to the cause.
type MaterializeError struct {
	Weight string
	Tensor string // of the file; empty if no single tensor is at fault
	Err    error
}

func (e *MaterializeError) Error() string {
	if e.Tensor == "" {
		return fmt.Sprintf("weight %s: %v", e.Weight, e.Err)
	}
	return fmt.Sprintf("weight %s from tensor %q: %v", e.Weight, e.Tensor, e.Err)
}

// Unwrap returns the cause.
func (e *MaterializeError) Unwrap() error { return e.Err }

// Materialize returns every weight of m by its plan name. Weights without
// transforms share the memory of d: they are valid until d is closed and
// read-only. Conversions are noted in m.Diagnostics. It leaves out the weights that
// the caller names.
func Materialize(m *Model, d *file.Description, without ...string) (map[string]tensor.View, error) {
	byName := make(map[string]*file.Tensor, len(d.Tensors))
	for i := range d.Tensors {
		byName[d.Tensors[i].Name] = &d.Tensors[i]
	}
	tensors := func(name string) (*file.Tensor, bool) { t, ok := byName[name]; return t, ok }
	out := make(map[string]tensor.View, len(m.Weights))
	for _, name := range slices.Sorted(maps.Keys(m.Weights)) {
		if slices.Contains(without, name) {
			continue
		}
		w := m.Weights[name]
		v, err := materialise(w, reading(tensors))
		if err != nil {
			return nil, err
		}
		if from := sourceType(&w, tensors); from != v.DType && len(v.Shape) > 1 {
			m.Diagnostics = append(m.Diagnostics, plan.PlanDiagnostic{Code: "converted",
				Text: fmt.Sprintf("%s: %s to %s", name, from, v.DType)})
		}
		out[name] = v
	}
	return out, nil
}

// MaterializeOne makes one weight of a model in a form that kernels read.
func MaterializeOne(w Weight, d *file.Description) (tensor.View, error) {
	return materialise(w, Find(d))
}

// Find returns a function that reads the tensors of d, for [MakeWeight]: views of
// the files, or new memory for those that are made from others.
func Find(d *file.Description) func(name string) (tensor.View, bool) {
	return reading(d.Tensor)
}

func reading(tensors func(name string) (*file.Tensor, bool)) func(string) (tensor.View, bool) {
	return func(name string) (tensor.View, bool) {
		t, ok := tensors(name)
		if !ok {
			return tensor.View{}, false
		}
		return t.Read(), true
	}
}

// TypeOf returns the type in which [MaterializeOne] makes a weight.
func TypeOf(w *Weight, d *file.Description) tensor.DType {
	v := tensor.View{DType: sourceType(w, d.Tensor), Shape: w.Shape}
	if slices.ContainsFunc(w.Transform, func(t Transform) bool { return !t.RowWise() }) || !ready(v) {
		return tensor.F32
	}
	return v.DType
}

// materialise follows a recipe and makes the result suitable for kernels.
func materialise(w Weight, find func(string) (tensor.View, bool)) (tensor.View, error) {
	v, err := MakeWeight(w, find)
	if err != nil {
		return tensor.View{}, err
	}
	if v, err = fit(v); err != nil {
		return tensor.View{}, &MaterializeError{Weight: w.Name, Err: err}
	}
	return v, nil
}

func sourceType(w *Weight, tensors func(name string) (*file.Tensor, bool)) tensor.DType {
	if len(w.Sources) > 0 {
		if t, ok := tensors(w.Sources[0]); ok {
			return t.View.DType
		}
	}
	return tensor.F32
}

// MakeWeight follows one recipe. The result shares memory with the sources if
// possible. It has the type of the sources, or F32 if a transform requires plain
// values.
func MakeWeight(w Weight, find func(string) (tensor.View, bool)) (tensor.View, error) {
	if len(w.Sources) == 0 {
		v := tensor.FromF32(tensor.Shape{len(w.Const)}, w.Const)
		if n, ok := w.Shape.Size(); !ok || n != len(w.Const) {
			return tensor.View{}, &MaterializeError{Weight: w.Name, Err: &tensor.ShapeError{Op: "constant", Want: w.Shape, Got: v.Shape}}
		}
		v.Shape = w.Shape
		return v, nil
	}
	parts := make([]tensor.View, len(w.Sources))
	for i, s := range w.Sources {
		v, ok := find(s)
		if !ok {
			return tensor.View{}, &MaterializeError{Weight: w.Name, Tensor: s, Err: fmt.Errorf("the file has no such tensor")}
		}
		if _, err := tensor.NewView(v.DType, v.Shape, v.Data); err != nil {
			return tensor.View{}, &MaterializeError{Weight: w.Name, Tensor: s, Err: err}
		}
		parts[i] = v
	}
	v, err := joinRows(parts)
	if err != nil {
		return tensor.View{}, &MaterializeError{Weight: w.Name, Err: err}
	}
	for _, t := range w.Transform {
		if v, err = ApplyTransform(t, v); err != nil {
			return tensor.View{}, &MaterializeError{Weight: w.Name, Tensor: w.Sources[0], Err: err}
		}
	}
	if !v.Shape.Equal(w.Shape) {
		return tensor.View{}, &MaterializeError{Weight: w.Name, Tensor: w.Sources[0], Err: &tensor.ShapeError{Op: "recipe", Want: w.Shape, Got: v.Shape}}
	}
	return v, nil
}

// fit makes a view suitable for kernels: vectors and types without kernels as
// F32, plain values aligned to their size.
func fit(v tensor.View) (tensor.View, error) {
	if !ready(v) {
		return WeightToF32(v)
	}
	if _, size := v.DType.Block(); !v.DType.Quantized() && uintptr(unsafe.Pointer(unsafe.SliceData(v.Data)))%uintptr(size) != 0 {
		v.Data = aligned(v.Data)
	}
	return v, nil
}

// aligned copies bytes to memory aligned for float32.
func aligned(b []byte) []byte {
	buf := make([]float32, (len(b)+3)/4)
	out := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buf))), 4*len(buf))[:len(b):len(b)]
	copy(out, b)
	return out
}

// WeightToF32 converts a view of any type to float32, exactly.
func WeightToF32(v tensor.View) (tensor.View, error) {
	n, ok := v.Shape.Size()
	if !ok {
		return tensor.View{}, fmt.Errorf("shape %v overflows", v.Shape)
	}
	dst := make([]float32, n)
	if err := quant.Dequantize(dst, v.DType, v.Data); err != nil {
		return tensor.View{}, err
	}
	return tensor.FromF32(v.Shape, dst), nil
}
