package compile

import (
	"testing"
)

// TestFamiliesAreWhole: every family defines the names in its programs, and every
// architecture that is written can be read.
func TestFamiliesAreWhole(t *testing.T) {
	for _, f := range families {
		c := &Config{Family: f.ID, Source: HuggingFace, QKVBias: Present, OutBias: Present, FFNBias: Present, QKNorm: true}
		for mixer := range f.Mixers {
			for ffn := range f.FFNs {
				c.Layers = append(c.Layers, Layer{Mixer: mixer, FFN: ffn})
			}
		}
		b := &binder{c: c, fam: f}
		ids, err := b.ids()
		if err != nil {
			t.Errorf("%s: %v", f.ID, err)
		}
		for _, id := range ids {
			for _, o := range append(id.spec.HF, id.spec.GGUF...) {
				for _, expr := range []string{id.spec.Shape, o.Of} {
					if expr == "" {
						continue
					}
					if _, err := c.shape(expr); err != nil {
						t.Errorf("%s: weight %s: %v", f.ID, id.spec.ID, err)
					}
				}
			}
		}
		if r := published.archs[f.Arch]; r == nil {
			t.Errorf("%s: nothing reads architecture %s", f.ID, f.Arch)
		} else if r.Reorders != f.Reorders {
			t.Errorf("%s and %s disagree about rows of q and k", f.ID, r.ID)
		}
		if _, ok := actAliases[f.Defaults.Act]; !ok {
			t.Errorf("%s: activation %q", f.ID, f.Defaults.Act)
		}
	}
}
