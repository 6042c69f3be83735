package compile

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/tensor"
)

// describe returns a description with every tensor that the configuration
// asks for, under the given prefix.
func describe(t *testing.T, config, body, head string) *file.Description {
	t.Helper()
	m, err := fromJSON(config)
	if err != nil {
		t.Fatal(err)
	}
	d := &file.Description{Format: file.HuggingFace, Config: []byte(config)}
	for _, name := range slices.Sorted(maps.Keys(m.Weights)) {
		w := m.Weights[name]
		if len(w.Sources) == 0 {
			continue
		}
		source := w.Sources[0]
		if rest, ok := strings.CutPrefix(source, "model."); ok {
			source = body + rest
		} else {
			source = head + source
		}
		d.Tensors = append(d.Tensors, file.Tensor{Name: source, View: tensor.View{DType: tensor.F32, Shape: w.Shape}})
	}
	return d
}

const llamaSmall = `{"model_type": "llama", ` + small + `}`

func without(d *file.Description, name string) *file.Description {
	c := *d
	c.Tensors = slices.DeleteFunc(slices.Clone(d.Tensors), func(t file.Tensor) bool { return t.Name == name })
	return &c
}

func with(d *file.Description, name string, shape ...int) *file.Description {
	c := *without(d, name)
	c.Tensors = append(c.Tensors, file.Tensor{Name: name, View: tensor.View{DType: tensor.F32, Shape: shape}})
	return &c
}

func TestPrefixes(t *testing.T) {
	for _, p := range prefixes {
		m, err := Compile(describe(t, llamaSmall, p.body, p.head), Options{})
		if err != nil {
			t.Errorf("prefix %q: %v", p.body, err)
			continue
		}
		if got := m.Weights["blk.1.attn_q"].Sources[0]; got != p.body+"layers.1.self_attn.q_proj.weight" {
			t.Errorf("prefix %q: q from %s", p.body, got)
		}
	}
	both := describe(t, llamaSmall, "model.language_model.", "")
	both.Tensors = append(both.Tensors, describe(t, llamaSmall, "language_model.model.", "language_model.").Tensors...)
	if _, err := Compile(both, Options{}); err == nil || !strings.Contains(err.Error(), "two whole models") {
		t.Errorf("two models in one file: %v", err)
	}
}

// TestBindingFaults damages a model file and checks that errors name each fault,
// with the expected and the actual shape.
func TestBindingFaults(t *testing.T) {
	good := describe(t, llamaSmall, "model.", "")
	q := "model.layers.2.self_attn.q_proj.weight"
	damaged := with(with(without(without(good, "lm_head.weight"), "model.norm.weight"), q, 64, 63), "model.layers.3.extra.weight", 5)
	_, err := Compile(damaged, Options{})
	var got []weightBindingError
	if f, ok := errors.AsType[*faults](err); ok {
		for _, e := range f.Errs {
			if b, ok := errors.AsType[*weightBindingError](e); ok {
				got = append(got, *b)
			}
		}
	}
	want := map[string]weightBindingError{
		"lm_head.weight":              {Layer: -1, Want: tensor.Shape{50, 64}},
		"model.norm.weight":           {Layer: -1, Want: tensor.Shape{64}},
		q:                             {Layer: 2, Want: tensor.Shape{64, 64}, Have: tensor.Shape{64, 63}},
		"model.layers.3.extra.weight": {Layer: 3, Have: tensor.Shape{5}},
	}
	if len(got) != len(want) || !errors.Is(err, plan.ErrWeightBinding) {
		t.Fatalf("want %d faults, got %v", len(want), err)
	}
	for _, g := range got {
		w := want[g.Tensor]
		if g.Family != "llama" || g.Layer != w.Layer || !g.Want.Equal(w.Want) || !g.Have.Equal(w.Have) {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
}

// TestFaultsAreBounded: the error for many wrong tensors is short.
func TestFaultsAreBounded(t *testing.T) {
	d := describe(t, llamaSmall, "model.", "")
	for i := range 1000 {
		d = &file.Description{Format: d.Format, Config: d.Config, Tensors: append(d.Tensors, file.Tensor{Name: strings.Repeat("x", i+1000)})}
	}
	_, err := Compile(d, Options{})
	if f, ok := errors.AsType[*faults](err); !ok || f.More != 1000-maxFaults || len(err.Error()) > 20000 {
		t.Errorf("%d bytes of error, %T", len(err.Error()), err)
	}
}

// TestVocabRows: a table with other rows than the configuration's vocabulary is refused
// with both numbers.
func TestVocabRows(t *testing.T) {
	d := describe(t, llamaSmall, "model.", "")
	c := *d
	c.Config = []byte(strings.Replace(string(d.Config), `"vocab_size": `, `"vocab_size": 7`, 1))
	_, err := Compile(&c, Options{})
	if err == nil || !strings.Contains(err.Error(), "vocab_size is 7") || !strings.Contains(err.Error(), "the table has ") {
		t.Errorf("%v", err)
	}
}

func TestTiedHead(t *testing.T) {
	untied := describe(t, llamaSmall, "model.", "")
	tied := `{"model_type": "llama", "tie_word_embeddings": true, ` + small + `}`
	for name, d := range map[string]*file.Description{"absent": without(untied, "lm_head.weight"), "saved too": untied} {
		c := *d
		c.Config = []byte(tied)
		m, err := Compile(&c, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		both := name == "saved too" // they need not be equal, and transformers ties only those that are
		if _, ok := m.Weights["output"]; ok != both || m.Config.TiedHead == both {
			t.Errorf("%s: the head has a weight of its own: %t; tied is %t", name, ok, m.Config.TiedHead)
		}
		if noted := slices.ContainsFunc(m.Diagnostics, func(d plan.PlanDiagnostic) bool { return d.Code == OwnHead }); noted != both {
			t.Errorf("%s: diagnostics %v", name, m.Diagnostics)
		}
	}
}

// TestBiasesByPresence: where the configuration is silent the tensors decide,
// and where it speaks they must agree.
func TestBiasesByPresence(t *testing.T) {
	d := describe(t, llamaSmall, "model.", "")
	for i := range 4 {
		layer := "model.layers." + string(rune('0'+i)) + ".self_attn."
		d = with(with(with(d, layer+"q_proj.bias", 64), layer+"k_proj.bias", 64), layer+"v_proj.bias", 64)
	}
	m, err := Compile(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Config; c.QKVBias != Present || c.OutBias != Absent {
		t.Errorf("biases %q %q", c.QKVBias, c.OutBias)
	}
	d.Config = []byte(`{"model_type": "llama", "attention_bias": false, ` + small + `}`)
	if _, err := Compile(d, Options{}); !errors.Is(err, plan.ErrWeightBinding) {
		t.Errorf("biases that the configuration denies: %v", err)
	}
}

func TestIgnorable(t *testing.T) {
	d := with(describe(t, llamaSmall, "model.", ""), "model.layers.0.self_attn.rotary_emb.inv_freq", 8)
	m, err := Compile(d, Options{})
	if err != nil || len(m.Diagnostics) != 1 || m.Diagnostics[0].Code != "ignored_tensor" {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	d := describe(t, llamaSmall, "model.", "")
	for _, o := range []Options{{PageTokens: -1}, {PageTokens: 1 << 20}, {KVType: tensor.Q4_K}, {KVType: tensor.Q8_0}} {
		if _, err := Compile(d, o); err == nil {
			t.Errorf("%+v was accepted (heads are 16 wide)", o)
		}
	}
	m, err := Compile(d, Options{PageTokens: 32, KVType: tensor.F16})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Plans.Decode.Plan.States[0]; s.PageTokens != 32 || s.Sections[0].DType != tensor.F16 {
		t.Errorf("state %+v", s)
	}
	for i := range d.Tensors {
		d.Tensors[i].View.DType = tensor.Q8_0
	}
	if m, err = Compile(d, Options{}); err != nil || m.Plans.Decode.Plan.States[0].Sections[0].DType != tensor.F16 {
		t.Errorf("quantized weights: %v", err)
	}
}

// BenchmarkCompile compiles a model of 48 layers with all its tensors.
func BenchmarkCompile(b *testing.B) {
	config := `{"model_type": "llama", "num_hidden_layers": 48, "hidden_size": 4096}`
	m, err := fromJSON(config)
	if err != nil {
		b.Fatal(err)
	}
	d := &file.Description{Format: file.HuggingFace, Config: []byte(config)}
	for _, w := range m.Weights {
		if len(w.Sources) > 0 {
			d.Tensors = append(d.Tensors, file.Tensor{Name: w.Sources[0], View: tensor.View{DType: tensor.F32, Shape: w.Shape}})
		}
	}
	for b.Loop() {
		if _, err := Compile(d, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
