package convert

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/internal/model/text"

	"atenia/tensor"
)

func open(t testing.TB, path string) *file.Description {
	t.Helper()
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// model is a model file with its compiled form.
type model struct {
	*compile.Model
	d       *file.Description
	weights map[string]tensor.View
	text    *text.Text
}

// load returns false for models that are not compiled yet.
func load(t *testing.T, path string) (model, bool) {
	t.Helper()
	d := open(t, path)
	m, err := compile.Compile(d, compile.Options{})
	if _, ok := errors.AsType[*compile.UnsupportedModelError](err); ok {
		return model{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := compile.Materialize(m, d)
	if err != nil {
		t.Fatal(err)
	}
	x, err := text.Load(d)
	if err != nil {
		t.Fatal(err)
	}
	return model{m, d, w, x}, true
}

// TestGoldenParity converts every case as it is stored, and requires the same
// network, weights and text after reading it back.
func TestGoldenParity(t *testing.T) {
	root := golden.Family(t, "parity")
	done := 0
	for _, name := range golden.Dirs(t, root) {
		in := filepath.Join(root, name)
		want, ok := load(t, in)
		if !ok {
			continue
		}
		done++
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), name+".gguf")
			r, err := Convert(t.Context(), want.d, out, Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range r.Warnings {
				if !strings.Contains(w, text.KeyTokenizer) {
					t.Error(w)
				}
			}
			got, ok := load(t, out)
			if !ok {
				t.Fatal("the file is of another architecture")
			}
			if len(got.Diagnostics) > 0 {
				t.Error(got.Diagnostics)
			}
			sameConfig(t, got.Config, want.Config)
			sameWeights(t, got, want)
			sameText(t, got, want)
		})
	}
	if done == 0 {
		t.Fatal("no case compiles")
	}
}

// sameConfig compares all that is not the format's own: families share an
// architecture, and tables of frequencies are compared as weights.
func sameConfig(t *testing.T, got, want compile.Config) {
	t.Helper()
	got.Family, got.Source, got.Interleaved, got.NormPlus, got.Ropes, got.PosSkip = want.Family, want.Source, want.Interleaved, want.NormPlus, want.Ropes, want.PosSkip
	got.TiledV = want.TiledV
	got.Later = want.Later // layers that no file of this format has
	if !reflect.DeepEqual(got, want) {
		t.Errorf("configuration\n got %+v\nwant %+v", got, want)
	}
}

// sameWeights compares the weights of kernels bit for bit, after undoing the
// differences of GGUF: the order of rows, and the offset of norms.
func sameWeights(t *testing.T, got, want model) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(got.weights)), slices.Sorted(maps.Keys(want.weights)); !slices.Equal(g, w) {
		t.Fatalf("weights\n got %v\nwant %v", g, w)
	}
	c := &want.Config
	for name, w := range want.weights {
		var err error
		if w, err = compile.WeightToF32(w); err != nil {
			t.Fatal(err)
		}
		part := name[strings.LastIndexByte(name, '.')+1:]
		heads := map[string]int{"attn_q": c.Heads, "attn_q_bias": c.Heads, "attn_k": c.KVHeads, "attn_k_bias": c.KVHeads}[part]
		switch {
		case heads > 0 && got.Config.Interleaved && !c.Interleaved:
			rotated := c.HeadDim
			if len(c.Ropes) > 0 {
				rotated = c.Ropes[0].Dim
			}
			w, err = compile.ApplyTransform(compile.Transform{Kind: compile.PermuteHeads, A: heads, B: rotated}, w)
		case c.NormPlus != 0 && (strings.HasSuffix(part, "_norm") && part != "gdn_norm" || name == "mm.norm" && c.Vision.Pool):
			// Not the norm of a delta rule's outputs, which is a plain one, nor those of
			// other towers.
			w, err = compile.ApplyTransform(compile.Transform{Kind: compile.AddConst, Value: c.NormPlus}, w)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.Config.TiledV && !c.TiledV {
			w = tile(w, part, &c.Delta)
		}
		if g := got.weights[name]; g.DType != tensor.F32 || !g.Shape.Equal(w.Shape) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s: %s %v differs from %v", name, g.DType, g.Shape, w.Shape)
		}
	}
}

// tile moves the heads of values of a delta rule, of which neighbours share a key
// head, so that the first heads of all keys come first, then the second ones.
func tile(w tensor.View, part string, d *compile.Delta) tensor.View {
	before, width, length := 0, d.VDim, w.Shape[0] // in rows, or in columns
	size := len(w.Data) / w.Shape[0]
	switch part {
	case "gdn_qkv", "gdn_conv":
		before = 2 * d.KHeads * d.KDim
	case "gdn_z":
	case "gdn_a", "gdn_b", "gdn_decay", "gdn_dt_bias":
		width = 1
	case "gdn_out":
		length, size = w.Shape[1], 4
	default:
		return w
	}
	in := w.Data
	w.Data = slices.Clone(in)
	group := d.VHeads / d.KHeads
	for start := 0; start < len(in); start += length * size {
		for h := range d.VHeads {
			from, to := start+(before+h*width)*size, start+(before+(h/group+h%group*d.KHeads)*width)*size
			copy(w.Data[to:to+width*size], in[from:])
		}
	}
	return w
}

var phrases = []string{"", "Once upon a time", " two  spaces\n\n", "naïve 中文 🙂 1234567", "<s>[PAD300]</s> <pad>", "it's\tI'LL"}

func sameText(t *testing.T, got, want model) {
	t.Helper()
	for _, s := range phrases {
		for _, special := range []bool{false, true} {
			g, w := got.text.Tokenizer.Encode(s, special), want.text.Tokenizer.Encode(s, special)
			if !slices.Equal(g, w) {
				t.Errorf("tokens of %q\n got %v\nwant %v", s, g, w)
			}
			if g, w := got.text.Tokenizer.Decode(w, special), want.text.Tokenizer.Decode(w, special); g != w {
				t.Errorf("text of %v\n got %q\nwant %q", w, g, w)
			}
		}
	}
	if g, w := got.text.Tokenizer.VocabSize(), want.text.Tokenizer.VocabSize(); g != w {
		t.Errorf("%d tokens, want %d", g, w)
	}
	if !slices.Equal(got.text.Stop, want.text.Stop) {
		t.Errorf("stop tokens %v, want %v", got.text.Stop, want.text.Stop)
	}
	if !reflect.DeepEqual(got.text.Sampling, want.text.Sampling) {
		t.Errorf("sampling\n got %+v\nwant %+v", got.text.Sampling, want.text.Sampling)
	}
	for name, w := range want.text.Vars {
		if g := got.text.Vars[name]; g != w {
			t.Errorf("%s is %q, want %q", name, g, w)
		}
	}
	g, err1 := text.TemplateSource(got.d)
	w, err2 := text.TemplateSource(want.d)
	if g != w || err1 != nil || err2 != nil {
		t.Errorf("template %q, want %q (%v, %v)", g, w, err1, err2)
	}
}

// TestGoldenGGUF rewrites files of the reference writer: as they are, nothing
// changes; as float32, every value is the dequantized one.
func TestGoldenGGUF(t *testing.T) {
	root := golden.Family(t, "gguf/models")
	files, err := filepath.Glob(filepath.Join(root, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			d := open(t, path)
			out := filepath.Join(t.TempDir(), "out.gguf")
			r, err := Convert(t.Context(), d, out, Options{Mix: quant.MixF32})
			if err != nil {
				t.Fatal(err)
			}
			back := open(t, out)
			if len(back.Tensors) != len(d.Tensors) || r.Tensors != len(d.Tensors) || r.FileBytes != back.Parts[0].Bytes {
				t.Fatalf("%d tensors, report %+v", len(back.Tensors), r)
			}
			for i := range d.Tensors {
				want, err := compile.WeightToF32(d.Tensors[i].View)
				if err != nil {
					t.Fatal(err)
				}
				got, ok := back.Tensor(d.Tensors[i].Name)
				if !ok || got.View.DType != tensor.F32 || !got.View.Shape.Equal(want.Shape) || !bytes.Equal(got.View.Data, want.Data) {
					t.Errorf("tensor %s differs", d.Tensors[i].Name)
				}
			}
			for key, v := range d.Meta.All() {
				if got, ok := back.Meta.Get(key); !strings.HasPrefix(key, "split.") && key != "general.file_type" && (!ok || !reflect.DeepEqual(got, v)) {
					t.Errorf("%s is %v, want %v", key, got, v)
				}
			}
		})
	}
}

// TestAgain converts a converted file to its own type: the tensors are copied
// byte for byte, for any number of threads.
func TestAgain(t *testing.T) {
	src := tiny(t, 1, 256)
	for _, mix := range quant.Mixes() {
		t.Run(mix.String(), func(t *testing.T) {
			dir := t.TempDir()
			one, two := filepath.Join(dir, "one.gguf"), filepath.Join(dir, "two.gguf")
			for i, out := range []string{one, two} {
				in := src
				if i == 1 {
					in = open(t, one)
				}
				r, err := Convert(context.Background(), in, out, Options{Mix: mix, Threads: 1 + 2*i})
				if err != nil {
					t.Fatal(err)
				}
				if i == 1 && r.Copied != r.Tensors {
					t.Errorf("%d of %d tensors copied", r.Copied, r.Tensors)
				}
			}
			if a, b := content(t, one), content(t, two); !bytes.Equal(a, b) {
				t.Error("the files differ")
			}
		})
	}
}
