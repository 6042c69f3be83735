package lora

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"atenia/internal/model/file"
)

// The keys and names of llama.cpp's adapters (convert_lora_to_gguf.py).
const (
	ggufType  = "general.type"
	ggufKind  = "adapter.type"
	ggufAlpha = "adapter.lora.alpha"
	ggufA     = weightSuffix + ".lora_a"
	ggufB     = weightSuffix + ".lora_b"
)

// openGGUF reads an adapter in llama.cpp's format, for GGUF files of the model. Its
// errors are those of [Open].
func openGGUF(path string) (*Adapter, error) {
	d, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	a, err := fromGGUF(d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// fromGGUF copies the tensors of an opened file.
func fromGGUF(d *file.Description) (*Adapter, error) {
	for key, want := range map[string]string{ggufType: "adapter", ggufKind: "lora"} {
		if got, _, err := d.Meta.String(key); err != nil || got != want {
			return nil, fmt.Errorf("%w: %s is %q, want %q", errFormat, key, got, want)
		}
	}
	alpha, _, err := d.Meta.Float(ggufAlpha)
	if err != nil || !(alpha >= 0 && alpha < 1e9) {
		return nil, fmt.Errorf("%w: %s is %v", errFormat, ggufAlpha, alpha)
	}
	found := map[string]*halves{}
	for i := range d.Tensors {
		t := &d.Tensors[i]
		module, isA := strings.CutSuffix(t.Name, ggufA)
		module, isB := strings.CutSuffix(module, ggufB)
		if !isA && !isB || len(t.View.Shape) != 2 {
			return nil, fmt.Errorf("%w: tensor %s of shape %v", ErrUnsupported, t.Name, t.View.Shape)
		}
		if found[module] == nil {
			found[module] = &halves{}
		}
		if isA {
			found[module].a = t
		} else {
			found[module].b = t
		}
	}
	a := &Adapter{Config: Config{Alpha: alpha}, gguf: true}
	for _, module := range slices.Sorted(maps.Keys(found)) {
		p, err := found[module].pair(module)
		if err != nil {
			return nil, err
		}
		if p.Scale = 1; alpha != 0 {
			p.Scale = alpha / float64(p.Rank)
		}
		a.Pairs, a.Rank = append(a.Pairs, p), max(a.Rank, p.Rank)
	}
	if len(a.Pairs) == 0 {
		return nil, fmt.Errorf("%w: it has no tensors", errFormat)
	}
	return a, nil
}
