package compile

import (
	"bytes"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// TestLatentOldGGUF: files with keys and values in one tensor, the widths of heads
// in key_length and value_length, and no rank of queries in the small model, are the
// same models.
func TestLatentOldGGUF(t *testing.T) {
	for _, name := range []string{"deepseek_v3", "deepseek_v2_lite", "minicpm3"} {
		d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", name))
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
		l, arch := &m.Config.Latent, m.Config.Arch
		var meta file.Metadata
		for _, kv := range x.Meta {
			switch strings.TrimPrefix(kv.Key, arch+".attention.") {
			case "key_length_mla", "value_length_mla", "head_count_kv":
				continue
			case "key_length":
				kv.Value = file.ValueOf(uint32(l.Nope + l.Rope))
			case "value_length":
				kv.Value = file.ValueOf(uint32(l.V))
			}
			meta.Set(kv.Key, kv.Value)
		}
		meta.Set(arch+".attention.head_count_kv", file.ValueOf(uint32(m.Config.Heads)))
		var sources []file.TensorSource
		add := func(w Weight) {
			sources = append(sources, file.TensorSource{Name: w.Name, DType: tensor.F32, Shape: w.Shape, Write: func(out io.Writer) error {
				v, err := MaterializeOne(w, d)
				if err != nil {
					return err
				}
				_, err = out.Write(v.Data)
				return err
			}})
		}
		for _, w := range x.Tensors {
			switch {
			case strings.HasSuffix(w.Name, "attn_v_b.weight"):
			case strings.HasSuffix(w.Name, "attn_k_b.weight"):
				add(Weight{Name: strings.Replace(w.Name, "attn_k_b", "attn_kv_b", 1), Sources: w.Sources, Shape: tensor.Shape{m.Config.Heads * (l.Nope + l.V), l.KVRank}})
			default:
				add(w)
			}
		}
		var b bytes.Buffer
		if err := file.EncodeGGUF(&b, meta, sources); err != nil {
			t.Fatal(err)
		}
		d2, err := file.OpenBytes("old.gguf", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		m2, err := Compile(d2, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m2.Config.Latent != m.Config.Latent {
			t.Errorf("%s: %+v, want %+v", name, m2.Config.Latent, m.Config.Latent)
		}
		sameWeights(t, d, d2, m, m2)
		if x, err = m2.GGUF(); err != nil {
			t.Fatal(err)
		}
		for _, w := range x.Tensors { // what is written is the newer form, where the architecture has it
			if whole := name == "minicpm3"; strings.Contains(w.Name, "attn_kv_b") && !whole || strings.Contains(w.Name, "attn_k_b") && whole {
				t.Errorf("%s: %s was written", name, w.Name)
			}
			if _, err := MaterializeOne(w, d2); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestLatentScale: scores of DeepSeek V2 with yarn are multiplied by the square of
// mscale (0.1·0.707·ln 40 + 1), as its own code does and some references do not; so
// does a file of llama.cpp say it.
func TestLatentScale(t *testing.T) {
	const yarn = `"rope_scaling": {"type": "yarn", "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707, "original_max_position_embeddings": 4096}`
	m, err := fromJSON(`{"model_type": "deepseek_v2", "num_hidden_layers": 2, "num_experts_per_tok": 6, "max_position_embeddings": 163840, ` + yarn + `}`)
	if err != nil {
		t.Fatal(err)
	}
	strength := 0.1*0.707*math.Log(40) + 1
	want := strength * strength / math.Sqrt(192)
	if got := float64(m.Config.AttnScale); math.Abs(got-want) > 1e-7 {
		t.Errorf("scale %g, want %g", got, want)
	}
	if got := m.Config.rope("full").Scale; got != 1 {
		t.Errorf("cos and sin are multiplied by %g", got)
	}
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range x.Meta {
		if log, _ := kv.Value.Float(); kv.Key == "deepseek2."+yarnLog && math.Abs(log-0.0707) > 1e-6 {
			t.Errorf("%s = %g", kv.Key, log)
		}
	}
}

// TestLaterLayers: layers that predict several tokens at once are not read, others
// after the last are faults. Kimi K2 is the same network under another name.
func TestLaterLayers(t *testing.T) {
	const config = `{"model_type": "kimi_k2", "num_hidden_layers": 2, "first_k_dense_replace": 1, "n_routed_experts": 2, "num_experts_per_tok": 1, "n_group": 1, "topk_group": 1,
		"num_nextn_predict_layers": 1, "hidden_size": 32, "vocab_size": 16, "num_attention_heads": 2, "intermediate_size": 16, "moe_intermediate_size": 16}`
	m, err := fromJSON(config)
	if err != nil {
		t.Fatal(err)
	}
	d := &file.Description{Format: file.HuggingFace, Config: []byte(config)}
	shapes := map[string]tensor.Shape{}
	for _, w := range m.Weights {
		for _, s := range w.Sources {
			shapes[s] = slices.Clone(w.Shape)
			if n := len(w.Sources); n > 1 {
				shapes[s][0] /= n
			}
			if strings.HasSuffix(s, "kv_b_proj.weight") {
				shapes[s] = tensor.Shape{2 * (m.Config.Latent.Nope + m.Config.Latent.V), m.Config.Latent.KVRank}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		d.Tensors = append(d.Tensors, file.Tensor{Name: name, View: tensor.View{DType: tensor.F32, Shape: shapes[name]}})
	}
	if m, err = Compile(with(d, "model.layers.2.eh_proj.weight", 4, 4), Options{}); err != nil {
		t.Fatal(err)
	}
	if m.Family != "deepseek_v3" || len(m.Diagnostics) == 0 || m.Diagnostics[0].Code != "ignored_tensor" {
		t.Errorf("%s: %v", m.Family, m.Diagnostics)
	}
	if _, err := Compile(with(d, "model.layers.3.eh_proj.weight", 4, 4), Options{}); err == nil {
		t.Error("a tensor of another layer was ignored")
	}
}
