package weights

import (
	"atenia/internal/compile"
	"atenia/internal/modelfile"
	"atenia/tensor"
)

// A Place is where a weight lies in a file, byte for byte as kernels read it.
type Place struct {
	View   tensor.View // Data are the mapped bytes
	File   string
	Offset int64
	Align  int // what the address of the bytes must be a multiple of
}

// Locate returns the place of a weight. Most weights have one, cut from a fused
// tensor or reshaped though they may be; false is said of those that must be
// made: constants, vectors that are not F32, and types without kernels.
func Locate(w *compile.Weight, d *modelfile.Description) (Place, bool) {
	if len(w.Sources) != 1 {
		return Place{}, false
	}
	t, ok := d.Tensor(w.Sources[0])
	if !ok {
		return Place{}, false
	}
	p := Place{View: t.View, File: t.File, Offset: t.Offset, Align: 1}
	for _, tr := range w.Transform {
		if tr.Kind != compile.SliceRows && tr.Kind != compile.Reshape {
			return Place{}, false
		}
		if tr.Kind == compile.SliceRows {
			_, size, err := outer(p.View)
			if err != nil {
				return Place{}, false
			}
			p.Offset += int64(tr.A * size)
		}
		v, err := Apply(tr, p.View)
		if err != nil {
			return Place{}, false
		}
		p.View = v
	}
	if !p.View.Shape.Equal(w.Shape) || !ready(p.View) {
		return Place{}, false
	}
	if !p.View.DType.Quantised() {
		_, p.Align = p.View.DType.Block()
	}
	return p, true
}

// ready reports whether kernels read a view as it is, once it is aligned.
func ready(v tensor.View) bool {
	return v.DType == tensor.F32 || len(v.Shape) >= 2 && (v.DType.Quantised() || v.DType == tensor.F16 || v.DType == tensor.BF16)
}

// One makes one weight of m as [Materialise] does.
func One(w compile.Weight, d *modelfile.Description) (tensor.View, error) {
	v, err := Make(w, func(name string) (tensor.View, bool) {
		t, ok := d.Tensor(name)
		if !ok {
			return tensor.View{}, false
		}
		return t.View, true
	})
	if err != nil {
		return tensor.View{}, err
	}
	if v, err = fit(v); err != nil {
		return tensor.View{}, &Error{Weight: w.Name, Err: err}
	}
	return v, nil
}
