package residence

import (
	"fmt"

	"atenia/internal/exec"
	"atenia/internal/memory"
	"atenia/internal/memory/experts"
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
		o.layers = append(o.layers, experts.Layer{Experts: make([]ring.Unit, t.Experts), Held: t.Tier == memory.RAM})
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
