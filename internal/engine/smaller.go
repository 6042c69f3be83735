package engine

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/memory/place"
	"atenia/internal/model/compile"
	"atenia/internal/model/quant"
)

// quantized returns the footprint that a model would have with weights of
// another type, and the bytes of those. Without a tenth less of them it returns
// 0.
func (f *footprint) quantized(mix quant.Mix) (*footprint, int64) {
	q := *f
	q.tensors, q.headers = slices.Clone(f.tensors), maps.Clone(f.headers)
	if q.like == "" {
		q.like = place.ModelOf(&place.Input{Tensors: f.tensors, Files: f.files})
	}
	layers := 0
	for i := range f.tensors {
		layers = max(layers, layerOf(f.tensors[i].Name)+1)
	}
	names := f.gguf()
	tied := !slices.ContainsFunc(f.tensors, func(t place.Tensor) bool { return t.Name == "output" })
	for i := range q.tensors {
		t := &q.tensors[i]
		v, ok := q.headers[t.Name]
		name := t.Name + ".weight"
		if len(t.Sources) > 0 {
			name = cmp.Or(names[t.Sources[0]], name)
		}
		if tied && t.Name == vocabularyWeight {
			name = "output.weight"
		}
		if !ok || t.Class == place.Vector {
			continue
		}
		to := mix.TypeFor(name, v.Shape, layerOf(t.Name), layers)
		if n, err := v.Shape.Bytes(to); err == nil && int64(n) < t.Bytes {
			v.DType, t.Bytes = to, int64(n)
			if t.ByRow {
				t.RowBytes = t.Bytes / int64(max(1, v.Shape.Rows()))
			}
			q.headers[t.Name] = v
		}
	}
	if n := q.bytes(); 10*n <= 9*f.bytes() {
		return &q, n
	}
	return nil, 0
}

// ggufNames returns the names that weights have in a GGUF file of the model, by which types
// are chosen, by those in its own files; none if there is no such file.
func ggufNames(m *compile.Model) map[string]string {
	x, err := m.GGUF()
	if err != nil {
		return nil
	}
	names := map[string]string{}
	for _, t := range x.Tensors {
		for _, s := range t.Sources {
			if names[s] == "" {
				names[s] = t.Name
			}
		}
	}
	return names
}

// layerOf returns the layer of a weight by its name, "blk.7.attn_q"; 0 for those
// outside of layers.
func layerOf(name string) int {
	var text string
	if rest, ok := strings.CutPrefix(name, "blk."); ok {
		text, _, _ = strings.Cut(rest, ".")
	}
	n, _ := strconv.Atoi(text)
	return n
}
