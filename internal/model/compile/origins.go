package compile

import (
	"maps"
	"slices"
	"strings"
)

// Origins returns the recipes by which a weight of the plans is made from tensors of
// files of a format: the one by which it was made, if the model was opened from such
// files, or else those that its family knows, the likeliest first. None = it is not
// made of tensors. The prefixes of a Hugging Face model's names depend on how it was
// saved: compare names by [Bare].
func (m *Model) Origins(name string, format Source) []Weight {
	own, ok := m.Weights[name]
	if !ok || len(own.Sources) == 0 {
		return nil
	}
	if m.Config.Source == format {
		return []Weight{own}
	}
	if format != HuggingFace {
		return nil
	}
	c := m.Config
	c.Source = HuggingFace
	var out []Weight
	for i := range m.family.Weights {
		s := &m.family.Weights[i]
		layer := -1
		if rest, ok := strings.CutPrefix(name, "blk."); ok {
			layer = layerOf(rest)
		}
		if canonical(s.ID, layer) != name {
			continue
		}
		for _, o := range s.HF {
			one := *s
			one.HF = []Origin{o}
			b := &binder{c: &c, fam: m.family, used: map[string]bool{}, out: map[string]Weight{}, faults: &faults{}}
			if c.presence(o.If) == Absent {
				continue
			}
			b.weight(&one, layer)
			for _, w := range b.out {
				if m.asGGUF(&w, s, layer) == nil {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

// asGGUF appends what differs between a weight of a GGUF file and the same of a Hugging
// Face folder.
func (m *Model) asGGUF(w *Weight, s *WeightSpec, layer int) error {
	if m.Config.written(s).Of != "" { // joined as it is
		return nil
	}
	hf := *m // as the model would be if it came from the folder
	hf.Config.Source, hf.Config.Interleaved, hf.Config.TiledV = HuggingFace, m.family.Neighbours, false
	x, err := hf.exportTensor(w.Name, layer, []part{{s, *w}})
	if err == nil {
		w.Transform = x.Transform
	}
	return err
}

// Bare returns a tensor's or module's name in a Hugging Face model without the prefix
// that depends on the class from which it was saved.
func Bare(name string) string {
	for _, p := range prefixes {
		for _, s := range []string{p.body, p.head} {
			if rest, ok := strings.CutPrefix(name, s); ok && s != "" {
				return rest
			}
		}
	}
	return name
}

// Matrices returns the names of the weights that have two axes, ascending.
func (m *Model) Matrices() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m.Weights)), func(name string) bool { return len(m.Weights[name].Shape) != 2 })
}
