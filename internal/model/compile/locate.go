package compile

import (
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
	if !ok {
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

// ready reports whether kernels can read a view unchanged, given its alignment.
func ready(v tensor.View) bool {
	return v.DType == tensor.F32 || len(v.Shape) >= 2 && (v.DType.Quantized() || v.DType == tensor.F16 || v.DType == tensor.BF16)
}
