package compile

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/tensor"
)

// convert writes a model as GGUF, its tensors as F32, and reads it again.
func convert(t *testing.T, d *file.Description, m *Model) (*file.Description, *Model, *Export) {
	t.Helper()
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "converted.gguf")
	write(t, path, x, Find(d))
	if x.Tower != nil {
		write(t, file.TowerName(path), x.Tower, Find(d))
	}
	d2 := open(t, path)
	m2, err := Compile(d2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range m2.Diagnostics {
		t.Error("converted file:", n)
	}
	return d2, m2, x
}

// write writes one file of an export.
func write(t *testing.T, path string, x *Export, find func(string) (tensor.View, bool)) {
	t.Helper()
	var meta file.Metadata
	meta.Set("general.architecture", file.ValueOf(x.Arch))
	for _, kv := range x.Meta {
		meta.Set(kv.Key, kv.Value)
	}
	var sources []file.TensorSource
	for _, w := range x.Tensors {
		sources = append(sources, file.TensorSource{Name: w.Name, DType: tensor.F32, Shape: w.Shape, Write: func(out io.Writer) error {
			v, err := MakeWeight(w, find)
			if err != nil {
				return err
			}
			if v, err = WeightToF32(v); err != nil {
				return err
			}
			_, err = out.Write(v.Data)
			return err
		}})
	}
	var b bytes.Buffer
	if err := file.EncodeGGUF(&b, meta, sources); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// neutral returns a plan's payloads without the fields that the two formats store
// differently.
func neutral(t *testing.T, p *plan.CompiledPlan) []plan.Params {
	t.Helper()
	var out []plan.Params
	for i := range p.Plan.Instructions {
		v, err := p.Plan.Params[p.Plan.Instructions[i].Param].Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch v := v.(type) {
		case *plan.AttentionParams:
			v.RopeStyle, v.QKNormOff = min(v.RopeStyle, 1), 0
		case *plan.NormParams:
			v.Offset = 0
		case *plan.AddParams:
			v.NormOff = 0
		case *plan.MergeParams:
			v.Offset = 0
		case *plan.GatedDeltaParams:
			v.VLayout = 0
		}
		out = append(out, v)
	}
	return out
}

// TestExportIsTheSameModel converts every case and compares plans and weights.
func TestExportIsTheSameModel(t *testing.T) {
	root := golden.Family(t, "parity")
	seen := 0
	for _, name := range golden.Dirs(t, root) {
		d, err := file.Open(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		m, err := Compile(d, Options{KVType: tensor.F32}) // as without blocks
		if _, ok := errors.AsType[*UnsupportedModelError](err); ok {
			continue
		}
		if ce, ok := errors.AsType[*configError](err); ok && ce.Field == "use_bidirectional_attention" {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			d2, m2, x := convert(t, d, m)
			for _, kv := range x.Meta {
				t.Logf("%s = %v", kv.Key, kv.Value)
			}
			for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode, plan.ModeScatter, plan.ModeVisionEncode} {
				a, b := m.Plans.ByMode(mode), m2.Plans.ByMode(mode)
				if a == nil && b == nil { // an encoder does not decode, few models have a tower
					continue
				}
				if !reflect.DeepEqual(a.Plan.Instructions, b.Plan.Instructions) || !reflect.DeepEqual(a.Plan.States, b.Plan.States) || !reflect.DeepEqual(a.Plan.Weights, b.Plan.Weights) {
					t.Errorf("%s: other instructions, states or weights", mode)
				}
				if pa, pb := neutral(t, a), neutral(t, b); !reflect.DeepEqual(pa, pb) {
					for i := range pa {
						if !reflect.DeepEqual(pa[i], pb[i]) {
							t.Errorf("%s: instruction %d:\n%+v\n%+v", mode, i, pa[i], pb[i])
						}
					}
				}
			}
			sameWeights(t, d, d2, m, m2)
		})
	}
	if seen == 0 {
		t.Fatal("no case compiles")
	}
}

// reordered returns the values of a query or key projection in the order of
// interleaved rope: rows i and i+r/2 of each head become neighbours.
func reordered(t *testing.T, m *Model, name string, v tensor.View) []float32 {
	t.Helper()
	heads := 0
	switch base := strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "_bias"); base {
	case "attn_q":
		heads = m.Config.Heads
	case "attn_k":
		heads = m.Config.KVHeads
	default:
		x, _ := v.F32()
		return x
	}
	in := rows(t, v)
	width := len(in) / heads
	rotated := width
	if len(m.Config.Ropes) > 0 {
		rotated = m.Config.Ropes[0].Dim
	}
	var out []float32
	for i := range in {
		head, at := i/width, i%width
		if at < rotated { // those after it keep their place
			at = at/2 + at%2*rotated/2
		}
		out = append(out, in[head*width+at]...)
	}
	return out
}

// tiled returns values with the heads of a delta rule that share keys apart: the
// first heads of all keys, then the second, and so on.
func tiled(t *testing.T, c *Config, tile Tile, v tensor.View) []float32 {
	t.Helper()
	before, err1 := c.eval(tile.Before)
	width, err2 := c.eval(tile.Width)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	in, _ := v.F32()
	values, keys := c.Delta.VHeads, c.Delta.KHeads
	size := 1 // of what is moved: a row, or a value of each row
	for _, n := range v.Shape[1:] {
		size *= n
	}
	length := v.Shape[0]
	if tile.Cols {
		length, size = v.Shape[1], 1
	}
	out := slices.Clone(in)
	for start := 0; start < len(in); start += length * size {
		for h := range values {
			to := h/(values/keys) + h%(values/keys)*keys
			a, b := start+(before+h*width)*size, start+(before+to*width)*size
			copy(out[b:b+width*size], in[a:])
		}
	}
	return out
}

func sameWeights(t *testing.T, d, d2 *file.Description, m, m2 *Model) {
	t.Helper()
	a, err := Materialize(m, d)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Materialize(m2, d2)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) {
		t.Fatalf("weights %v, converted %v", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
	for name := range a {
		want, _ := WeightToF32(a[name])
		got, _ := WeightToF32(b[name])
		x, _ := want.F32()
		y, _ := got.F32()
		x, y = slices.Clone(x), slices.Clone(y)
		spec := m.family.Weights.get(name[strings.LastIndexByte(name, '.')+1:])
		if spec == nil && m.tower != nil {
			spec = m.tower.Weights.get(name)
		}
		if off := m.Config.NormPlus - m2.Config.NormPlus; off != 0 && spec != nil && spec.Norm {
			for i := range x {
				x[i] += off
			}
		}
		if m.Config.Interleaved != m2.Config.Interleaved {
			x = reordered(t, m, name, want)
		}
		if m.Config.TiledV != m2.Config.TiledV && spec != nil && spec.Tile.Width != "" {
			x = tiled(t, &m.Config, spec.Tile, want)
		}
		if !want.Shape.Equal(got.Shape) || !slices.Equal(x, y) {
			t.Errorf("weight %s differs", name)
		}
	}
}

// TestTowerOfAnotherWriter reads a tower's file without our own key, as
// llama.cpp's converter writes it: one epsilon for all norms, no tokens.
func TestTowerOfAnotherWriter(t *testing.T) {
	d, err := file.Open(filepath.Join(golden.Family(t, "parity"), "mistral3"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := Compile(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	x.Tower.Meta = slices.DeleteFunc(x.Tower.Meta, func(kv KV) bool { return kv.Key == ownVision })
	path := filepath.Join(t.TempDir(), "model.gguf")
	write(t, path, x, Find(d))
	write(t, file.TowerName(path), x.Tower, Find(d))
	d2, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d2.Close()
	m2, err := Compile(d2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := *m.Config.Vision
	want.ProjEps = want.NormEps
	if got := *m2.Config.Vision; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	rows := x.Tower.Tensors[len(x.Tower.Tensors)-1]
	if rows.Name != breakTensor {
		t.Fatalf("the last tensor is %s, want %s", rows.Name, breakTensor)
	}
	v, err := MakeWeight(rows, Find(d))
	if err != nil {
		t.Fatal(err)
	}
	e, err := MakeWeight(m.Weights["token_embd"], Find(d))
	if err != nil {
		t.Fatal(err)
	}
	if _, size, _ := outer(e); !bytes.Equal(v.Data, e.Data[12*size:13*size]) {
		t.Error("the row of [IMG_BREAK] is another one")
	}
}
