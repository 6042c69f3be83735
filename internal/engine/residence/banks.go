package residence

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"atenia/internal/exec"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// bankTensors describes the weights of one layer's experts. Each is read on its
// own if the files have all matrices of all of them.
func bankTensors(m *compile.Model, d *file.Description, names []string, unit int) []place.Tensor {
	mix := &m.Config.Mixture
	out := make([]place.Tensor, len(names))
	apart := true
	for i, name := range names {
		w := m.Weights[name]
		t := describe(&w, d)
		t.Class, t.Unit, t.Uses = place.Expert, unit, float64(mix.TopK)/float64(mix.Experts)
		if at, ok := locateBank(&w, mix.Experts, d); ok {
			t.Bytes, t.Held = bankBytes(at), ""
		} else {
			apart = false
		}
		out[i] = t
	}
	for i := range out {
		if apart {
			out[i].Experts = mix.Experts
		} else if out[i].Held == "" {
			out[i].Held = "used with experts that are made from their sources"
		}
	}
	return out
}

// locateBank is [compile.LocateExperts] for files on disk.
func locateBank(w *compile.Weight, n int, d *file.Description) ([]compile.Location, bool) {
	at, ok := compile.LocateExperts(w, n, d)
	return at, ok && onDisk(d)
}

func bankBytes(at []compile.Location) (total int64) {
	for i := range at {
		n, _ := at[i].View.Shape.Bytes(at[i].View.DType)
		total += int64(n)
	}
	return total
}

// bank adds a weight of all experts of a layer to the cache: those of one unit are
// the parts of its experts.
func (o *opening) bank(t *place.Placed, w compile.Weight) error {
	at, ok := locateBank(&w, t.Experts, o.d)
	if !ok {
		return fmt.Errorf("weight %s: the files do not have its %d experts one by one", t.Name, t.Experts)
	}
	if t.Unit != o.bankOf {
		o.bankOf = t.Unit
		o.layers = append(o.layers, ring.ExpertLayer{Experts: make([]ring.Unit, t.Experts), Held: t.Tier == memory.RAM})
	}
	layer := len(o.layers) - 1
	l := &o.layers[layer]
	part := len(l.Experts[0])
	for e := range at {
		span, err := o.span(t.Name, &at[e])
		if err != nil {
			return err
		}
		l.Experts[e] = append(l.Experts[e], span)
	}
	o.r.Weights[t.Name] = tensor.View{DType: at[0].View.DType, Shape: w.Shape}
	if o.r.Stream.Banks == nil {
		o.r.Stream.Banks = map[string]exec.Bank{}
	}
	o.r.Stream.Banks[t.Name] = exec.Bank{Layer: layer, Part: part}
	return nil
}

// mapped returns the weights as views of the mapped files. Experts that have
// tensors of their own are not joined, which would copy them.
func mapped(m *compile.Model, d *file.Description) (*Residence, error) {
	r := &Residence{mapped: true}
	var apart []string
	for _, p := range exec.Products(&m.Plans.Usual().Plan) {
		for _, name := range p.Weights {
			w := m.Weights[name]
			if !p.Experts || len(w.Sources) < 2 {
				continue
			}
			if at, ok := compile.LocateExperts(&w, m.Config.Mixture.Experts, d); ok && addressable(at) {
				if r.Stream.Apart == nil {
					r.Stream.Apart = map[string][]tensor.View{}
				}
				views := make([]tensor.View, len(at))
				for e := range at {
					views[e] = at[e].View
				}
				r.Stream.Apart[name] = views
				apart = append(apart, name)
			}
		}
	}
	w, err := compile.Materialize(m, d, slices.AppendSeq(apart, maps.Keys(towers(m)))...)
	if err != nil {
		return nil, err
	}
	r.Weights = w
	for _, name := range apart {
		r.Weights[name] = tensor.View{DType: r.Stream.Apart[name][0].DType, Shape: m.Weights[name].Shape}
	}
	return r, nil
}

// addressable reports whether kernels can read all views where they are mapped.
func addressable(at []compile.Location) bool {
	for i := range at {
		if p := unsafe.SliceData(at[i].View.Data); p == nil || uintptr(unsafe.Pointer(p))%uintptr(max(1, at[i].Align)) != 0 {
			return false
		}
	}
	return true
}
