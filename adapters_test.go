package atenia_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/model/lora"
	"atenia/place"
	"atenia/tensor"
)

// drawAdapter writes an adapter for a model's folder with random targets, ranks and
// scales.
func drawAdapter(t *testing.T, rng *rand.Rand, base, targets string) (dir string, a *lora.Adapter) {
	t.Helper()
	d, err := file.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	shapes := map[string]tensor.Shape{}
	for i := range d.Tensors {
		shapes[d.Tensors[i].Name] = d.Tensors[i].View.Shape
	}
	tg, err := lora.ParseTargets(targets)
	if err != nil {
		t.Fatal(err)
	}
	c := lora.Config{Rank: 1 + rng.IntN(8), Targets: tg, RSLoRA: rng.IntN(2) == 0, Base: base}
	c.Alpha = float64(c.Rank) * (0.5 + rng.Float64())
	a, err = lora.New(c, shapes, rng.Uint64())
	for ; errors.Is(err, lora.ErrConfig) && c.Rank > 1; a, err = lora.New(c, shapes, rng.Uint64()) {
		c.Rank-- // a router may have few rows
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Pairs {
		for k := range a.Pairs[i].B {
			a.Pairs[i].B[k] = float32(rng.NormFloat64() / 4)
		}
	}
	dir = filepath.Join(t.TempDir(), "adapter")
	if err := a.Write(nil, dir); err != nil {
		t.Fatal(err)
	}
	return dir, a
}

// inFloat32 copies a model's folder with all weights in float32, so that what is merged
// into them is not rounded.
func inFloat32(t *testing.T, base string) string {
	t.Helper()
	dir := t.TempDir()
	d, err := file.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var out []file.TensorSource
	for i := range d.Tensors {
		v, err := compile.WeightToF32(d.Tensors[i].Read())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file.SourceOf(d.Tensors[i].Name, v))
	}
	if err := file.WriteSafetensors(filepath.Join(dir, "model.safetensors"), nil, out); err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(base, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err == nil && !strings.Contains(filepath.Base(path), ".index.") {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// logitsOf returns the logits after each token.
func logitsOf(t *testing.T, path string, c atenia.Config, o atenia.LogitsOptions) [][]float32 {
	t.Helper()
	m, err := atenia.Open(context.Background(), path, &c)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return logitsIn(t, m, o)
}

func logitsIn(t *testing.T, m *atenia.Model, o atenia.LogitsOptions) [][]float32 {
	t.Helper()
	o.All = true
	x, err := m.Logits(context.Background(), []int32{5, 9, 2, 7, 7, 1, 3, 20}, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// apart returns the largest difference over the largest value.
func apart(a, b [][]float32) float64 {
	most, size := 0.0, 0.0
	for r := range a {
		for i := range a[r] {
			most, size = max(most, math.Abs(float64(a[r][i])-float64(b[r][i]))), max(size, math.Abs(float64(b[r][i])))
		}
	}
	return most / size
}

// beside is the configuration of a model with an adapter beside its weights.
func beside(path string, scale float32) atenia.Config {
	return atenia.Config{Threads: 1, Precise: true, CacheType: "f32", Adapters: []atenia.Adapter{{Name: "a", Path: path, Scale: scale}}}
}

// TestAdapterBeside: an adapter beside the weights gives the logits of the model that it
// is merged into, for Hugging Face folders of every family, fused and turned matrices
// included. What cannot be kept beside the weights says so.
func TestAdapterBeside(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const tolerance = 1e-4
	root := filepath.Join(golden.Root(t), "testdata", "golden", "parity")
	checked := 0
	for i, name := range []string{
		"llama3", "gpt2", "gpt_neox", "phi4_partial", "falcon_7b", "falcon_40b", "bloom", "mpt", "glm4", "cohere", "gemma3", "qwen3",
		"mamba", "mamba2_groups", "granite_hybrid", "lfm2", "deepseek_v3", "qwen2_moe", "granitemoeshared", "qwen3_next", "minicpm3",
	} {
		t.Run(name, func(t *testing.T) {
			base := inFloat32(t, filepath.Join(root, name))
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			targets := lora.AllLinear
			if strings.Contains(name, "moe") || name == "qwen3_next" || name == "deepseek_v3" {
				targets = `.*\.(self_attn|linear_attn|shared_\w+|shared_expert\w*)\..*_proj\w*|.*\.shared_mlp\..*|.*\.(mlp|block_sparse_moe)\.(gate|router\.layer)`
			}
			dir, a := drawAdapter(t, rng, base, targets)
			turned := name == "gpt2"
			if turned {
				a.Turned = true
				for i := range a.Pairs { // drawn for the shapes of the file
					p := &a.Pairs[i]
					p.Turned, p.In, p.Out = true, p.Out, p.In
					p.A, p.B = make([]float32, p.Rank*p.In), make([]float32, p.Out*p.Rank)
					for _, x := range [][]float32{p.A, p.B} {
						for k := range x {
							x[k] = float32(rng.NormFloat64() / 4)
						}
					}
				}
				if err := a.Write(nil, dir); err != nil {
					t.Fatal(err)
				}
			}
			c := beside(dir, 0)
			m, err := atenia.Open(context.Background(), base, &c)
			if err != nil {
				if !errors.Is(err, lora.ErrBase) && !errors.Is(err, lora.ErrUnsupported) || !strings.Contains(err.Error(), "merge") {
					t.Fatal(err)
				}
				t.Log(err)
				return
			}
			defer m.Close()
			got := logitsIn(t, m, atenia.LogitsOptions{Adapter: "a"})
			want := logitsOf(t, base, atenia.Config{Threads: 1, Precise: true, CacheType: "f32", Adapter: dir}, atenia.LogitsOptions{})
			if d := apart(got, want); !(d <= tolerance) {
				t.Errorf("%.2g from the merged model", d)
			}
			plain := logitsOf(t, base, atenia.Config{Threads: 1, Precise: true, CacheType: "f32"}, atenia.LogitsOptions{})
			if d := apart(plain, want); !(d > 100*tolerance) {
				t.Errorf("the adapter changes logits by %.2g", d)
			}
			for r, row := range logitsIn(t, m, atenia.LogitsOptions{}) {
				if !slices.Equal(row, plain[r]) {
					t.Fatal("a request without the adapter is not the model's")
				}
			}
			checked++
		})
	}
	if checked < 12 {
		t.Errorf("%d families keep an adapter beside the weights", checked)
	}
}

// TestAdapterOnQuantized: the adapter of a folder, and the same in llama.cpp's format,
// beside the weights of GGUF files of the model. Of quantized ones the reference is
// the file's own values in float32.
func TestAdapterOnQuantized(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const tolerance = 1e-4
	for i, base := range []string{"train/llama_untied", "parity/qwen3", "parity/cohere"} {
		base = inFloat32(t, filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(base)))
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		dir, _ := drawAdapter(t, rng, base, "q_proj,k_proj,o_proj,up_proj,down_proj")
		want := logitsOf(t, base, atenia.Config{Threads: 1, Precise: true, CacheType: "f32", Adapter: dir}, atenia.LogitsOptions{})
		folder := t.TempDir()
		for _, kind := range []string{"f32", "q8_0", "q4_0", "q4_k_s"} {
			mix, err := atenia.ParseMix(kind)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, kind+".gguf")
			if _, err := atenia.Quantize(t.Context(), base, path, atenia.QuantizeOptions{Mix: mix}); err != nil {
				t.Fatal(err)
			}
			if kind != "f32" {
				plain := filepath.Join(folder, kind+"-f32.gguf")
				mix, _ := atenia.ParseMix("f32")
				if _, err := atenia.Quantize(t.Context(), path, plain, atenia.QuantizeOptions{Mix: mix}); err != nil {
					t.Fatal(err)
				}
				want = logitsOf(t, plain, beside(dir, 0), atenia.LogitsOptions{Adapter: "a"})
			}
			got := logitsOf(t, path, beside(dir, 0), atenia.LogitsOptions{Adapter: "a"})
			if d := apart(got, want); !(d <= tolerance) {
				t.Errorf("%s as %s: %.2g from the reference", base, kind, d)
			}
			peer := writeGGUFAdapter(t, base, path, dir)
			for r, row := range logitsOf(t, path, beside(peer, 0), atenia.LogitsOptions{Adapter: "a"}) {
				if !slices.Equal(row, got[r]) {
					t.Fatalf("%s as %s: the adapter as GGUF gives other logits", base, kind)
				}
			}
		}
	}
}

// writeGGUFAdapter writes the adapter of a folder as llama.cpp's converter does: with
// the rows of B in the order of the model's file.
func writeGGUFAdapter(t *testing.T, base, model, dir string) string {
	t.Helper()
	a, err := lora.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := file.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	var meta file.Metadata
	meta.Set("general.architecture", file.ValueOf(x.Arch))
	meta.Set("general.type", file.ValueOf("adapter"))
	meta.Set("adapter.type", file.ValueOf("lora"))
	meta.Set("adapter.lora.alpha", file.ValueOf(float32(a.Pairs[0].Scale*float64(a.Pairs[0].Rank))))
	var tensors []file.TensorSource
	for i := range a.Pairs {
		p := &a.Pairs[i]
		k := slices.IndexFunc(x.Tensors, func(w compile.Weight) bool { return slices.Equal(w.Sources, []string{p.Tensor()}) })
		b := tensor.FromF32(tensor.Shape{p.Out, p.Rank}, p.B)
		for _, tr := range x.Tensors[k].Transform {
			if b, err = compile.ApplyTransform(tr, b); err != nil {
				t.Fatal(err)
			}
		}
		name := x.Tensors[k].Name
		tensors = append(tensors, file.SourceOf(name+".lora_a", tensor.FromF32(tensor.Shape{p.Rank, p.In}, p.A)), file.SourceOf(name+".lora_b", b))
	}
	path := filepath.Join(t.TempDir(), "adapter.gguf")
	if err := file.WriteGGUF(path, meta, tensors); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAdaptersTogether: answers of several adapters and of none at once are those that
// each has alone; an adapter is loaded and unloaded while others run; and requests for
// one that is not there say which are.
func TestAdaptersTogether(t *testing.T) {
	base := filepath.Join(golden.Family(t, "parity"), "llama3")
	rng := rand.New(rand.NewPCG(3, 3))
	a, _ := drawAdapter(t, rng, base, lora.AllLinear)
	b, _ := drawAdapter(t, rng, base, "q_proj,v_proj")
	m, err := atenia.Open(context.Background(), base, &atenia.Config{Threads: 2, Slots: 8, Adapters: []atenia.Adapter{{Name: "a", Path: a}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.LoadAdapter(atenia.Adapter{Name: "b", Path: b, Scale: 0.5}); err != nil {
		t.Fatal(err)
	}
	if err := m.LoadAdapter(atenia.Adapter{Name: "b", Path: b}); !errors.Is(err, atenia.ErrAdapter) {
		t.Error(err)
	}
	answer := func(o atenia.Options) (out []int32) {
		o.MaxTokens, o.IgnoreEnd = 24, true
		for tok, err := range m.Generate(context.Background(), atenia.Prompt{Tokens: []int32{4, 8, 15, 16, 23, 42}, Options: o}) {
			if err != nil {
				t.Error(err)
			}
			if tok.Finish == "" {
				out = append(out, tok.ID)
			}
		}
		return out
	}
	kinds := []atenia.Options{{}, {Adapter: "a"}, {Adapter: "b"}, {Adapter: "a", AdapterScale: 0.25}, {Adapter: "b", AdapterScale: -1}}
	var want []string
	for _, o := range kinds {
		want = append(want, fmt.Sprint(answer(o)))
	}
	if s := slices.Compact(slices.Sorted(slices.Values(want))); len(s) != len(kinds) {
		t.Fatalf("adapters do not change the answers: %v", want)
	}
	var all sync.WaitGroup
	for range 3 {
		for k, o := range kinds {
			all.Go(func() {
				if got := fmt.Sprint(answer(o)); got != want[k] {
					t.Errorf("%+v: %s, want %s", o, got, want[k])
				}
			})
		}
	}
	all.Wait()
	if got := m.Adapters(); len(got) != 2 || got[1].Name != "b" || got[1].Scale != 0.5 || got[1].Bytes == 0 || got[1].Users != 0 {
		t.Errorf("%+v", got)
	}
	o := kinds[1]
	o.ID = "asked"
	answer(o)
	if w := m.Why("asked"); len(w) == 0 || w[0].Adapter != "a" || !strings.Contains(fmt.Sprint(w[0]), "adapter a") {
		t.Errorf("%v", w)
	}
	// Unloaded while it is in use: the request that has it goes on.
	n := 0
	for _, err := range m.Generate(context.Background(), atenia.Prompt{Tokens: []int32{4, 8}, Options: atenia.Options{Adapter: "b", MaxTokens: 30, IgnoreEnd: true}}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			if err := m.UnloadAdapter("b"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 31 {
		t.Errorf("%d tokens", n)
	}
	for _, err := range m.Generate(context.Background(), atenia.Prompt{Tokens: []int32{4}, Options: atenia.Options{Adapter: "b"}}) {
		if !errors.Is(err, atenia.ErrAdapter) || !strings.Contains(err.Error(), "there are a") {
			t.Error(err)
		}
	}
	if err := m.UnloadAdapter("b"); !errors.Is(err, atenia.ErrAdapter) {
		t.Error(err)
	}
	if err := m.LoadAdapter(atenia.Adapter{Name: "b", Path: a}); err != nil { // another, of the same name
		t.Fatal(err)
	}
	if got := fmt.Sprint(answer(atenia.Options{Adapter: "b"})); got != want[1] {
		t.Errorf("%s, want %s", got, want[1])
	}
}

// TestAdapterBudget: the placement leaves room for the adapters that a model is opened
// with, and one that is loaded later has what is left.
func TestAdapterBudget(t *testing.T) {
	base := filepath.Join(golden.Family(t, "parity"), "llama3")
	dir, _ := drawAdapter(t, rand.New(rand.NewPCG(3, 3)), base, lora.AllLinear)
	c := atenia.Config{Budget: place.Budget{RAM: 1 << 30}, Adapters: []atenia.Adapter{{Name: "a", Path: dir}}}
	with, err := atenia.OpenPlan(base, &c)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := with.Place()
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(pl.Rows()); !strings.Contains(s, "reserve adapters") {
		t.Errorf("no room for the adapter: %s", s)
	}
	m, err := atenia.Open(context.Background(), base, &c)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Error(left, err)
	}
}
