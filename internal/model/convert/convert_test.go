package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/internal/model/text"
	"atenia/tensor"
)

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path, s string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tinyVocab is more rows than the tokenizer has tokens.
const tinyVocab = 300

// folder writes a small llama with tied embeddings as a Hugging Face folder.
func folder(t *testing.T, layers, width int) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), fmt.Sprintf(`{"model_type": "llama", "hidden_size": %d, "intermediate_size": %d,
		"num_hidden_layers": %d, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": %d, "rms_norm_eps": 1e-5,
		"max_position_embeddings": 64, "tie_word_embeddings": true, "eos_token_id": 258}`, width, width, layers, tinyVocab))
	rng := rand.New(rand.NewPCG(1, 2))
	var sources []file.TensorSource
	add := func(name string, shape ...int) {
		n, _ := tensor.Shape(shape).Size()
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64()) / 16
		}
		sources = append(sources, file.SourceOf(name, tensor.FromF32(shape, x)))
	}
	add("model.embed_tokens.weight", tinyVocab, width)
	add("model.norm.weight", width)
	for l := range layers {
		p := fmt.Sprintf("model.layers.%d.", l)
		add(p+"input_layernorm.weight", width)
		add(p+"post_attention_layernorm.weight", width)
		add(p+"self_attn.q_proj.weight", width, width)
		add(p+"self_attn.k_proj.weight", width/2, width)
		add(p+"self_attn.v_proj.weight", width/2, width)
		add(p+"self_attn.o_proj.weight", width, width)
		for _, n := range []string{"gate", "up", "down"} {
			add(p+"mlp."+n+"_proj.weight", width, width)
		}
	}
	if err := file.WriteSafetensors(filepath.Join(dir, "model.safetensors"), nil, sources); err != nil {
		t.Fatal(err)
	}
	return dir
}

func tiny(t *testing.T, layers, width int) *file.Description {
	t.Helper()
	return open(t, folder(t, layers, width))
}

// byteTokenizer is a tokenizer.json with a token for each byte, then <unk>,
// <s>, </s> and <end>. template is its post-processor.
func byteTokenizer(t *testing.T, lstrip bool, post string) string {
	t.Helper()
	vocab := map[string]int{}
	next := rune(256)
	for b := range rune(256) {
		c := b
		if b <= ' ' || b > '~' && b < '¡' || b == '\u00ad' {
			c, next = next, next+1
		}
		vocab[string(c)] = int(b)
	}
	v, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	var added []string
	for i, s := range []string{"<unk>", "<s>", "</s>", "<end>"} {
		added = append(added, fmt.Sprintf(`{"id": %d, "content": %q, "single_word": false, "lstrip": %v, "rstrip": false, "normalized": false, "special": true}`, 256+i, s, lstrip))
	}
	return fmt.Sprintf(`{"version": "1.0", "added_tokens": [%s], "normalizer": null,
		"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
		"post_processor": %s, "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
		"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
		"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": %s, "merges": []}}`, strings.Join(added, ","), post, v)
}

const frontBOS = `{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
	"pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
	"special_tokens": {"<s>": {"id": "<s>", "ids": [257], "tokens": ["<s>"]}}}`

// TestText converts folders whose texts differ, and checks that the results read
// alike. keys are Atenia's keys that the file must have.
func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		lstrip     bool
		post       string
		config     string // tokenizer_config.json
		generation string
		keys       []string
	}{
		"plain":     {post: "null", config: `{"eos_token": "</s>"}`},
		"bos":       {post: frontBOS, config: `{"bos_token": "<s>", "eos_token": {"content": "</s>"}, "unk_token": "<unk>"}`},
		"silent":    {post: "null", config: `{}`},
		"template":  {post: "null", config: `{"eos_token": "</s>", "chat_template": "{{ messages[0].content }}<end>"}`, generation: `{"eos_token_id": [258, 259]}`},
		"stops":     {post: "null", config: `{"eos_token": "</s>"}`, generation: `{"eos_token_id": [256, 258, 259]}`, keys: []string{text.KeyStops}},
		"whole":     {lstrip: true, post: "null", config: `{"eos_token": "</s>"}`, keys: []string{text.KeyTokenizer}},
		"moved":     {post: frontBOS, config: `{"bos_token": "<end>", "eos_token": "</s>"}`, keys: []string{text.KeyTokenizer}},
		"sampling":  {post: "null", config: `{}`, generation: `{"temperature": 0.5, "top_k": 7, "top_p": 0.9, "min_p": 0.1, "repetition_penalty": 1.1}`},
		"typical":   {post: "null", config: `{}`, generation: `{"temperature": 0.5, "typical_p": 0.25}`, keys: []string{text.KeyTypical}},
		"greedy":    {post: "null", config: `{}`, generation: `{"do_sample": false}`},
		"malformed": {post: "null", config: `{"chat_template": "{% unknown %}"}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, 1, 32)
			write(t, filepath.Join(dir, "tokenizer.json"), byteTokenizer(t, c.lstrip, c.post))
			write(t, filepath.Join(dir, "tokenizer_config.json"), c.config)
			if c.generation != "" {
				write(t, filepath.Join(dir, "generation_config.json"), c.generation)
			}
			out := filepath.Join(t.TempDir(), "out.gguf")
			in := open(t, dir)
			if _, err := Convert(t.Context(), in, out, Options{}); err != nil {
				t.Fatal(err)
			}
			got, want := model{d: open(t, out)}, model{d: in}
			var gotErr, wantErr error
			got.text, gotErr = text.Load(got.d)
			want.text, wantErr = text.Load(want.d)
			if (gotErr == nil) != (wantErr == nil) {
				t.Fatalf("got %v, want %v", gotErr, wantErr)
			}
			sameText(t, got, want)
			for _, key := range []string{text.KeyStops, text.KeyTokenizer, text.KeyTypical} {
				if _, ok := got.d.Meta.Get(key); ok != slices.Contains(c.keys, key) {
					t.Errorf("%s: there is %v", key, ok)
				}
			}
			if tokens, _, _ := got.d.Meta.Strings("tokenizer.ggml.tokens"); len(tokens) != tinyVocab {
				t.Errorf("%d tokens, want one for each of %d rows", len(tokens), tinyVocab)
			}
		})
	}
}

// TestTypes checks the types of a mix, and the warning if rows do not fit.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		width    int
		mix      quant.Mix
		embed, v tensor.DType
		warnings string
	}{
		{256, quant.MixF32, tensor.F32, tensor.F32, "no tokenizer.json"},
		{256, quant.MixBF16, tensor.BF16, tensor.BF16, "no tokenizer.json"},
		{256, quant.MixQ8_0, tensor.Q8_0, tensor.Q8_0, "no tokenizer.json"},
		{256, quant.MixQ4_K_M, tensor.Q6_K, tensor.Q4_K, "no tokenizer.json"}, // the table is the output matrix too
		{128, quant.MixQ4_K_M, tensor.Q8_0, tensor.Q5_0, "22 tensors have rows that are not whole blocks of q4_k_m"},
	} {
		t.Run(fmt.Sprint(c.mix, c.width), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.gguf")
			var last, total int64
			r, err := Convert(t.Context(), tiny(t, 3, c.width), out, Options{Mix: c.mix, Progress: func(d, n int64, _ string) {
				if d < last || total != 0 && n != total {
					t.Errorf("progress %d of %d after %d of %d", d, n, last, total)
				}
				last, total = d, n
			}})
			if err != nil {
				t.Fatal(err)
			}
			if last != total || total != r.TensorBytes {
				t.Errorf("progress ended at %d of %d, report says %d", last, total, r.TensorBytes)
			}
			if !strings.Contains(strings.Join(r.Warnings, "\n"), c.warnings) {
				t.Errorf("warnings %q, want %q", r.Warnings, c.warnings)
			}
			d := open(t, out)
			for name, want := range map[string]tensor.DType{"token_embd.weight": c.embed, "blk.1.attn_v.weight": c.v, "output_norm.weight": tensor.F32} {
				if x, ok := d.Tensor(name); !ok || x.View.DType != want {
					t.Errorf("%s: %+v, want %s", name, x, want)
				}
			}
			if n, _, _ := d.Meta.Uint("general.file_type"); n != uint64(c.mix.FileType()) {
				t.Errorf("file type %d", n)
			}
		})
	}
}

// TestNothingLeft fails and stops conversions midway: no file may appear.
func TestNothingLeft(t *testing.T) {
	d := tiny(t, 2, 64)
	ctx, stop := context.WithCancel(t.Context())
	x, _ := d.Tensor("model.layers.1.mlp.up_proj.weight")
	bad := slices.Clone(x.View.Data)
	copy(bad[4*100:], []byte{0, 0, 0xc0, 0x7f}) // not a number
	for name, c := range map[string]struct {
		ctx  context.Context
		o    Options
		data []byte
		want string
	}{
		"cancelled": {ctx, Options{Progress: func(int64, int64, string) { stop() }}, x.View.Data, context.Canceled.Error()},
		"value":     {t.Context(), Options{Mix: quant.MixQ8_0}, bad, `tensor "blk.1.ffn_up.weight": from row 0`},
	} {
		t.Run(name, func(t *testing.T) {
			x.View.Data = c.data
			out := filepath.Join(t.TempDir(), "out.gguf")
			_, err := Convert(c.ctx, d, out, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			left, err := os.ReadDir(filepath.Dir(out))
			if err != nil || len(left) > 0 {
				t.Error("left behind:", left, err)
			}
		})
	}
}

// TestOntoItself: converting a file onto itself is rejected.
func TestOntoItself(t *testing.T) {
	dir := folder(t, 1, 32)
	gguf := filepath.Join(t.TempDir(), "model.gguf")
	if _, err := Convert(t.Context(), open(t, dir), gguf, Options{}); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.gguf")
	if err := os.Symlink(gguf, link); err != nil {
		t.Skip(err)
	}
	for in, outs := range map[string][]string{
		dir:  {dir, filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "config.json")},
		gguf: {gguf, link},
	} {
		for _, out := range outs {
			_, err := Convert(t.Context(), open(t, in), out, Options{})
			if _, ok := errors.AsType[*pathError](err); !ok {
				t.Errorf("%s to %s: %v", in, out, err)
			}
		}
	}
}

// TestQuantisedAgain warns about losses upon losses.
func TestQuantisedAgain(t *testing.T) {
	dir := t.TempDir()
	q8, q4 := filepath.Join(dir, "q8.gguf"), filepath.Join(dir, "q4.gguf")
	if _, err := Convert(t.Context(), tiny(t, 1, 256), q8, Options{Mix: quant.MixQ8_0}); err != nil {
		t.Fatal(err)
	}
	r, err := Convert(t.Context(), open(t, q8), q4, Options{Mix: quant.MixQ4_0})
	if err != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "quantized already") {
		t.Errorf("%v, %v", r.Warnings, err)
	}
	if r, err = Convert(t.Context(), open(t, q8), q4, Options{}); err != nil || len(r.Warnings) != 0 {
		t.Errorf("to float32: %v, %v", r.Warnings, err)
	}
}
