package lora

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/store/faultfs"
	"atenia/tensor"
)

// reference opens a model and an adapter that the reference library made.
func reference(t *testing.T) (*file.Description, *Adapter) {
	t.Helper()
	dir := filepath.Join(golden.Family(t, "train"), "llama_untied")
	d, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	a, err := Open(filepath.Join(dir, "lora"))
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}

// matrices returns the shapes of a model's tensors.
func matrices(d *file.Description) map[string]tensor.Shape {
	m := map[string]tensor.Shape{}
	for i := range d.Tensors {
		m[d.Tensors[i].Name] = d.Tensors[i].View.Shape
	}
	return m
}

func TestOpen(t *testing.T) {
	t.Parallel()
	_, a := reference(t)
	if a.Alpha != 2*float64(a.Rank) || !slices.Equal(a.Targets.Names, []string{"q_proj", "v_proj"}) || len(a.Pairs) != 4 {
		t.Fatalf("%+v with %d pairs", a.Config, len(a.Pairs))
	}
	p := &a.Pairs[1]
	if p.Module != "model.layers.0.self_attn.v_proj" || p.Scale != 2 || p.Rank != a.Rank || p.Out >= p.In || len(p.A) != p.Rank*p.In || len(p.B) != p.Out*p.Rank {
		t.Errorf("%s: scale %v, [%d, %d]", p.Module, p.Scale, p.Out, p.In)
	}
}

// naive returns W + scale·B·A in float64.
func naive(t *testing.T, d *file.Description, p *Pair) []float64 {
	t.Helper()
	w, _ := d.Tensor(p.Tensor())
	x, err := values(w)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(x))
	for o := range p.Out {
		for i := range p.In {
			sum := 0.0
			for r := range p.Rank {
				sum += float64(p.B[o*p.Rank+r]) * float64(p.A[r*p.In+i])
			}
			out[o*p.In+i] = float64(x[o*p.In+i]) + p.Scale*sum
		}
	}
	return out
}

// TestMerge merges into a folder and into an opened model, and compares with
// the definition.
func TestMerge(t *testing.T) {
	t.Parallel()
	d, a := reference(t)
	dir := filepath.Join(t.TempDir(), "merged")
	if err := a.Merge(faultfs.NoSync(), d, dir); err != nil {
		t.Fatal(err)
	}
	merged, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer merged.Close()
	if len(merged.Tensors) != len(d.Tensors) || string(merged.Config) != string(d.Config) {
		t.Errorf("%d tensors of %d", len(merged.Tensors), len(d.Tensors))
	}
	want := map[string][]float64{}
	for i := range a.Pairs {
		want[a.Pairs[i].Tensor()] = naive(t, d, &a.Pairs[i])
	}
	check := func(d *file.Description) {
		t.Helper()
		for name, want := range want {
			at, _ := d.Tensor(name)
			got, err := values(at)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Abs(float64(got[i])-want[i]) > 1e-6 {
					t.Fatalf("%s[%d] is %v, want %v", name, i, got[i], want[i])
				}
			}
		}
	}
	check(merged)
	for i := range d.Tensors {
		x := &d.Tensors[i]
		if y, _ := merged.Tensor(x.Name); want[x.Name] == nil && string(x.View.Data) != string(y.View.Data) {
			t.Errorf("%s is not what it was", x.Name)
		}
	}
	if err := a.Overlay(d, filepath.Join(t.TempDir(), "over.safetensors")); err != nil {
		t.Fatal(err)
	}
	check(d)
	if err := a.Merge(nil, merged, dir); !errors.Is(err, ErrConfig) {
		t.Errorf("merged over the original: %v", err)
	}
	a.Pairs[0].Module = "other"
	if err := a.Overlay(d, "none"); !errors.Is(err, ErrBase) || !strings.Contains(err.Error(), "other.weight") {
		t.Error(err)
	}
}

// TestNew makes adapters, which do not change the model before training and differ
// by seed, writes and reads them.
func TestNew(t *testing.T) {
	t.Parallel()
	d, _ := reference(t)
	for targets, want := range map[string]int{
		"q_proj,mlp.down_proj":              4,
		`.*layers\.1\..*(q|k|v)_proj`:       3,
		"all-linear":                        14,
		"model.layers.0.self_attn.o_proj":   1,
		`(?:.*\.)?lm_head|.*embed_tokens.*`: 2,
	} {
		tg, err := ParseTargets(targets)
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(Config{Rank: 4, Targets: tg, RSLoRA: true}, matrices(d), 1)
		if err != nil || len(a.Pairs) != want {
			t.Fatalf("%s: %d pairs, want %d: %v", targets, len(a.Pairs), want, err)
		}
		b, err := New(Config{Rank: 4, Targets: tg, RSLoRA: true}, matrices(d), 2)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range a.Pairs {
			bound := float32(1 / math.Sqrt(float64(p.In)))
			if p.Scale != 4 || slices.Max(p.A) > bound || slices.Min(p.A) < -bound || slices.Max(p.A) < bound*0.9 || slices.Max(p.B) != 0 || slices.Min(p.B) != 0 {
				t.Errorf("%s: scale %v, A to %v", p.Module, p.Scale, slices.Max(p.A))
			}
			if slices.Equal(p.A, b.Pairs[i].A) || i > 0 && slices.Equal(p.A, a.Pairs[i-1].A) {
				t.Errorf("%s is as another", p.Module)
			}
			p.B[0] = 0.5
		}
		dir := filepath.Join(t.TempDir(), "adapter")
		if err := a.Write(faultfs.NoSync(), dir); err != nil {
			t.Fatal(err)
		}
		back, err := Open(dir)
		if err != nil || fmt.Sprintf("%+v", back.Config.Targets) != fmt.Sprintf("%+v", a.Targets) || back.Rank != 4 || !back.RSLoRA {
			t.Fatalf("%+v: %v", back, err)
		}
		for i := range a.Pairs {
			if p, q := &a.Pairs[i], &back.Pairs[i]; p.Module != q.Module || p.Scale != q.Scale || !slices.Equal(p.A, q.A) || !slices.Equal(p.B, q.B) {
				t.Errorf("%s came back otherwise", p.Module)
			}
		}
	}
	for want, c := range map[string]Config{
		"rank -1": {Rank: -1}, "alpha -1": {Alpha: -1}, "dropout 1": {Dropout: 1}, "no matrix": {Targets: Targets{Names: []string{"x"}}},
		"missing closing": {Targets: Targets{Pattern: "("}}, "rank 65": {Rank: 65},
	} {
		if _, err := New(c, matrices(d), 1); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestFaults: invalid adapters, and those that would run incorrectly, are
// rejected.
func TestFaults(t *testing.T) {
	t.Parallel()
	view := func(shape ...int) tensor.View {
		n := 1
		for _, s := range shape {
			n *= s
		}
		return tensor.FromF32(shape, make([]float32, n))
	}
	a, b := file.Tensor{Name: "base_model.model.m.lora_A.weight", View: view(2, 3)}, file.Tensor{Name: "base_model.model.m.lora_B.weight", View: view(4, 2)}
	const ok = `{"peft_type":"LORA","r":2,"lora_alpha":4,"target_modules":["m"]`
	for _, c := range []struct {
		config  string
		tensors []file.Tensor
		want    error
		text    string
	}{
		{ok + `}`, []file.Tensor{a, b}, nil, ""},
		{ok + `,"alpha_pattern":{"m":8}}`, []file.Tensor{a, b}, nil, ""},
		{ok + `,"use_dora":true}`, []file.Tensor{a, b}, ErrUnsupported, "use_dora"},
		{ok + `,"bias":"all"}`, []file.Tensor{a, b}, ErrUnsupported, "bias all"},
		{ok + `,"modules_to_save":["lm_head"]}`, []file.Tensor{a, b}, ErrUnsupported, "modules_to_save"},
		{ok + `,"fan_in_fan_out":true}`, []file.Tensor{a, b}, nil, ""},
		{`{"peft_type":"IA3"}`, []file.Tensor{a, b}, ErrUnsupported, "IA3"},
		{`{"r":0}`, []file.Tensor{a, b}, errFormat, "rank 0"},
		{`[]`, []file.Tensor{a, b}, errFormat, ""},
		{ok + `}`, []file.Tensor{a}, errFormat, "one of its two"},
		{ok + `}`, nil, errFormat, "no tensors"},
		{ok + `}`, []file.Tensor{a, {Name: b.Name, View: view(4, 3)}}, errFormat, "shapes"},
		{ok + `}`, []file.Tensor{a, {Name: b.Name, View: view(8)}}, ErrUnsupported, "want a matrix"},
		{ok + `}`, []file.Tensor{a, b, {Name: "x.lora_embedding_A", View: view(1, 1)}}, ErrUnsupported, "lora_embedding_A"},
	} {
		x, err := assemble([]byte(c.config), c.tensors)
		if !errors.Is(err, c.want) || c.text != "" && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v %q", c.config, err, c.want, c.text)
		}
		if err == nil && x.Pairs[0].Scale != x.Alpha/2 && x.Pairs[0].Scale != 4 {
			t.Errorf("%s: scale %v", c.config, x.Pairs[0].Scale)
		}
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "is not an adapter") {
		t.Error(err)
	}
}

// TestWriteFaults fails at every call of the file system in turn: the folder then
// holds the old adapter, the new one, or files that Open rejects.
func TestWriteFaults(t *testing.T) {
	t.Parallel()
	shapes := map[string]tensor.Shape{"m.weight": {4, 3}}
	old, err := New(Config{Rank: 1}, shapes, 1)
	if err != nil {
		t.Fatal(err)
	}
	next, err := New(Config{Rank: 1, Alpha: 7}, shapes, 2)
	if err != nil {
		t.Fatal(err)
	}
	for n, fsys := range faultfs.Each(faultfs.Stop) {
		dir := t.TempDir()
		if err := old.Write(faultfs.NoSync(), dir); err != nil {
			t.Fatal(err)
		}
		written := next.Write(fsys, dir)
		got, err := Open(dir)
		switch {
		case written == nil && (err != nil || got.Alpha != 7):
			t.Fatalf("call %d: written, and %v", n, err)
		case err != nil && !errors.Is(err, os.ErrNotExist): // it has no configuration
			t.Fatalf("call %d: %v", n, err)
		case err == nil && !slices.Equal(got.Pairs[0].A, map[float64][]float32{2: old.Pairs[0].A, 7: next.Pairs[0].A}[got.Alpha]):
			t.Fatalf("call %d: a mixture", n)
		}
	}
}

// FuzzAssemble joins any configuration with tensors of any names and sizes.
func FuzzAssemble(f *testing.F) {
	f.Add([]byte(`{"r":2,"lora_alpha":4,"alpha_pattern":{"m":1}}`), "m.lora_A.weight m.lora_B.weight", uint8(2), uint8(2))
	f.Fuzz(func(t *testing.T, config []byte, names string, rows, cols uint8) {
		var tensors []file.Tensor
		for _, name := range strings.Fields(names) {
			shape := tensor.Shape{int(rows) % 17, int(cols) % 17}
			tensors = append(tensors, file.Tensor{Name: name, View: tensor.FromF32(shape, make([]float32, shape[0]*shape[1]))})
		}
		for key, value := range settings(config) {
			if len(key) > 50 || len(value) > 50 {
				t.Fatalf("%d and %d bytes are told", len(key), len(value))
			}
		}
		a, err := assemble(config, tensors)
		if err != nil {
			if !errors.Is(err, errFormat) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		for i := range a.Pairs {
			p := &a.Pairs[i]
			p.AddTo(make([]float32, p.In*p.Out))
		}
		if _, err := a.encode(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTurned: a pair adds the same to a matrix and to its transpose.
func TestTurned(t *testing.T) {
	p := Pair{In: 3, Out: 2, Rank: 2, Scale: 0.5, A: []float32{1, 2, 3, 4, 5, 6}, B: []float32{1, -1, 2, 3}}
	plain, turned := make([]float32, 6), make([]float32, 6)
	p.AddTo(plain)
	p.Turned = true
	p.AddTo(turned)
	for o := range p.Out {
		for i := range p.In {
			if plain[o*p.In+i] == 0 || plain[o*p.In+i] != turned[i*p.Out+o] {
				t.Fatalf("[%d, %d]: %v in %v, %v turned", o, i, plain[o*p.In+i], plain, turned)
			}
		}
	}
}

// An adapter is added to the matrices that a quantized folder means; the folder
// itself cannot be written in their form.
func TestPackedBase(t *testing.T) {
	d, err := file.Open(filepath.Join("..", "quant", "testdata", "awq"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const module = "model.layers.0.self_attn.q_proj"
	x, _ := d.Tensor(module + ".weight")
	before, err := values(x)
	if err != nil {
		t.Fatal(err)
	}
	p := Pair{Module: module, Rank: 1, Out: x.View.Shape[0], In: x.View.Shape[1], Scale: 2, A: make([]float32, x.View.Shape[1]), B: make([]float32, x.View.Shape[0])}
	p.A[3], p.B[5] = 0.25, 1
	a := &Adapter{Pairs: []Pair{p}}
	if err := a.Merge(nil, d, t.TempDir()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("merged folder: %v", err)
	}
	if err := a.Overlay(d, filepath.Join(t.TempDir(), "m.safetensors")); err != nil {
		t.Fatal(err)
	}
	x, _ = d.Tensor(module + ".weight")
	after, err := values(x)
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		want := before[i]
		if i == 5*p.In+3 {
			want += 0.5
		}
		if math.Abs(float64(after[i]-want)) > 1e-3*math.Abs(float64(want)) { // float16
			t.Fatalf("value %d: got %v, want %v", i, after[i], want)
		}
	}
}

// ggufAdapter encodes an adapter of one pair as llama.cpp's converter writes it.
func ggufAdapter(t testing.TB, alpha float32, b tensor.Shape) []byte {
	t.Helper()
	var meta file.Metadata
	meta.Set("general.architecture", file.ValueOf("llama"))
	meta.Set(ggufType, file.ValueOf("adapter"))
	meta.Set(ggufKind, file.ValueOf("lora"))
	meta.Set(ggufAlpha, file.ValueOf(alpha))
	n, _ := b.Size()
	var out bytes.Buffer
	err := file.EncodeGGUF(&out, meta, []file.TensorSource{
		file.SourceOf("blk.0.attn_q.weight.lora_a", tensor.FromF32(tensor.Shape{2, 8}, make([]float32, 16))),
		file.SourceOf("blk.0.attn_q.weight.lora_b", tensor.FromF32(b, make([]float32, n))),
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFromGGUF: scales are alpha over the rank, or 1 without alpha; what does not fit
// together is refused.
func TestFromGGUF(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		alpha float32
		b     tensor.Shape
		scale float64
		err   error
	}{{8, tensor.Shape{4, 2}, 4, nil}, {0, tensor.Shape{4, 2}, 1, nil}, {8, tensor.Shape{4, 3}, 0, errFormat}, {-1, tensor.Shape{4, 2}, 0, errFormat}} {
		d, err := file.OpenBytes("a", ggufAdapter(t, c.alpha, c.b))
		if err != nil {
			t.Fatal(err)
		}
		a, err := fromGGUF(d)
		if !errors.Is(err, c.err) || err == nil && (a.Pairs[0].Scale != c.scale || a.Pairs[0].Out != 4 || a.Pairs[0].Module != "blk.0.attn_q") {
			t.Errorf("%+v: %+v, %v", c, a, err)
		}
		d.Close()
	}
}

func FuzzFromGGUF(f *testing.F) {
	f.Add(ggufAdapter(f, 8, tensor.Shape{4, 2}))
	f.Add(ggufAdapter(f, 0, tensor.Shape{4, 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := file.OpenBytes("a", b)
		if err != nil {
			return
		}
		defer d.Close()
		a, err := fromGGUF(d)
		if err != nil {
			return
		}
		for i := range a.Pairs {
			if p := &a.Pairs[i]; p.Rank < 1 || p.Rank > largest || len(p.A) != p.Rank*p.In || len(p.B) != p.Out*p.Rank || !(math.Abs(p.Scale) < 1e9) {
				t.Errorf("%s: rank %d, scale %v", p.Module, p.Rank, p.Scale)
			}
		}
	})
}

// TestWriteIntoLinks: files of an adapter, and of a merged model, replace links that their
// folder came with, and what these point to is not written.
func TestWriteIntoLinks(t *testing.T) {
	d, a := reference(t)
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{TensorsFile, configFile, "config.json", "model.safetensors"}
	for name := range d.Files {
		names = append(names, name)
	}
	for _, name := range names {
		if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Skip(err)
		}
	}
	if err := errors.Join(a.Write(nil, dir), a.Merge(nil, d, dir)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(victim); string(b) != "precious" {
		t.Errorf("%.20q, %v", b, err)
	}
	for _, name := range names {
		if st, err := os.Lstat(filepath.Join(dir, name)); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}
