package residence

import (
	"maps"
	"slices"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"

	"atenia/internal/memory/place"
	"atenia/tensor"
)

// Tensors lists the weights of a model in the order of their first use, as the
// planner expects them: products first, then the weights that every plan pins. Those
// of a tower are not among them, see [Tower].
func Tensors(m *compile.Model, d *file.Description) []place.Tensor {
	products := exec.Products(&m.Plans.Usual().Plan)
	whole := map[string]int{} // products that read all of a weight
	for _, p := range products {
		for _, name := range p.Weights {
			if !p.Rows {
				whole[name]++
			}
		}
	}
	var out []place.Tensor
	seen := map[string]bool{}
	for unit, p := range products {
		if p.Experts {
			out = append(out, bankTensors(m, d, p.Weights, unit)...)
			for _, name := range p.Weights {
				seen[name] = true
			}
			continue
		}
		for _, name := range p.Weights {
			w, ok := m.Weights[name]
			if seen[name] || !ok || p.Rows && whole[name] > 0 { // a head tied to its table is listed where it is read entirely
				continue
			}
			seen[name] = true
			t := describe(&w, d)
			t.Unit = unit
			if p.Rows {
				t.Class, t.ByRow = place.Table, true
				t.RowBytes = t.Bytes / int64(max(1, w.Shape.Rows()))
			}
			if whole[name] > 1 {
				t.Held = "two products read it"
			}
			out = append(out, t)
		}
	}
	tower := towers(m)
	for _, name := range slices.Sorted(maps.Keys(m.Weights)) {
		if w := m.Weights[name]; !seen[name] && !tower[name] {
			t := describe(&w, d)
			t.Class, t.Unit = place.Vector, len(products)
			out = append(out, t)
		}
	}
	return out
}

// Headers returns the weights of a model as an executor will be given them, by
// types and shapes, without bytes.
func Headers(m *compile.Model, d *file.Description) exec.Weights {
	out := exec.Weights{}
	for name, w := range m.Weights {
		v := tensor.View{DType: compile.TypeOf(&w, d), Shape: w.Shape}
		if at, ok := compile.Locate(&w, d); ok {
			v.DType = at.View.DType
		} else if at, ok := compile.LocateExperts(&w, len(w.Sources), d); ok {
			v.DType = at[0].View.DType // they are joined
		}
		out[name] = v
	}
	return out
}

// describe says what one weight takes.
func describe(w *compile.Weight, d *file.Description) place.Tensor {
	t := place.Tensor{Name: w.Name, Sources: w.Sources, Uses: 1}
	if p, ok := locate(w, d); ok {
		t.Bytes = int64(len(p.View.Data))
		if t.Bytes == 0 { // a header alone
			n, _ := p.View.Shape.Bytes(p.View.DType)
			t.Bytes = int64(n)
		}
		return t
	}
	t.Held = "made from its source, since kernels want another form"
	n, _ := w.Shape.Bytes(compile.TypeOf(w, d))
	t.Bytes = int64(n)
	return t
}

// locate is [compile.Locate] for weights of files on disk.
func locate(w *compile.Weight, d *file.Description) (compile.Location, bool) {
	p, ok := compile.Locate(w, d)
	return p, ok && onDisk(d)
}

// onDisk reports whether a model is of files.
func onDisk(d *file.Description) bool { return d.Path != "" && !d.Bytes }

// header is a view without its bytes.
func header(v tensor.View) tensor.View { return tensor.View{DType: v.DType, Shape: v.Shape} }
