package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/golden/await"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// bigModel writes a model with 33.5 MB for each layer.
func bigModel(t *testing.T, layers int) string {
	t.Helper()
	const hidden, ffn, vocab = 1024, 4096, 512
	dir := t.TempDir()
	config := fmt.Sprintf(`{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": %d,
		"num_hidden_layers": %d, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": %d, "vocab_size": %d,
		"max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000, "hidden_act": "silu", "tie_word_embeddings": false}`, hidden, layers, ffn, vocab)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var ts []file.TensorSource
	add := func(name string, shape ...int) {
		seed := byte(len(ts))
		ts = append(ts, file.TensorSource{Name: name + ".weight", DType: tensor.BF16, Shape: shape, Write: func(w io.Writer) error {
			n, _ := tensor.Shape(shape).Bytes(tensor.BF16)
			b := make([]byte, n)
			const period = 2048
			for i := 0; i < period; i += 2 { // small numbers of both signs
				b[i], b[i+1] = byte(i>>3)+seed, 0x3c|byte(i>>2&1)<<7
			}
			for at := period; at < n; at *= 2 {
				copy(b[at:], b[:at])
			}
			_, err := w.Write(b)
			return err
		}})
	}
	add("model.embed_tokens", vocab, hidden)
	for l := range layers {
		p := fmt.Sprintf("model.layers.%d.", l)
		for _, m := range []string{"q", "k", "v", "o"} {
			add(p+"self_attn."+m+"_proj", hidden, hidden)
		}
		add(p+"mlp.gate_proj", ffn, hidden)
		add(p+"mlp.up_proj", ffn, hidden)
		add(p+"mlp.down_proj", hidden, ffn)
		add(p+"input_layernorm", hidden)
		add(p+"post_attention_layernorm", hidden)
	}
	add("model.norm", hidden)
	add("lm_head", vocab, hidden)
	if err := file.WriteSafetensors(filepath.Join(dir, "model.safetensors"), nil, ts); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBenchStream: a model that is larger than the memory of a control group,
// where groups are permitted, stays within its budget at every sample, reads as
// many bytes as predicted, and gives the bytes of the mapped model.
func TestBenchStream(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("a model of 130 MB, and Linux's account of memory")
	}
	dir := bigModel(t, 4) // the program itself takes a fifth of the memory that it is given below
	var out, errs bytes.Buffer
	code := Main([]string{"bench", "stream", dir, "--ram", "112MiB", "--passes", "4", "-r", "1", "-t", "1", "--json"}, nil, &out, &errs)
	if code != command.OK {
		t.Fatalf("exit code %d: %s%s", code, out.Bytes(), errs.Bytes())
	}
	var r struct {
		Group string `json:"control_group"`
		Rows  []struct {
			Equal    bool
			Held     int64 `json:"held_bytes"`
			Streamed int64 `json:"streamed_bytes"`
			Limit    int64 `json:"memory_bytes"`
			Streams  struct {
				Peak int64   `json:"peak_bytes"`
				Read float64 `json:"read_bytes"`
			} `json:"streamed"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	t.Logf("control group: %s; %+v", r.Group, r.Rows)
	x := &r.Rows[0]
	if !x.Equal || x.Streams.Peak < x.Held || float64(x.Streams.Peak) > 1.01*float64(x.Limit) {
		t.Errorf("%+v", *x)
	}
	if x.Streamed == 0 || x.Streams.Read > 0 && x.Streams.Read < 0.9*float64(x.Streamed) {
		t.Errorf("%.0f bytes were read a pass, want about %d", x.Streams.Read, x.Streamed)
	}
	out.Reset()
	for _, args := range [][]string{
		{"logits", dir, "--tokens", "1,2,3", "--step", "1", "--stats", "--verify"},
		{"bench", dir, "-p", "0", "-n", "4", "-r", "1"}, // without being asked
	} {
		errs.Reset()
		if code := Main(append(args, "--budget", "ram=112MiB", "--ctx", "32", "--batch-tokens", "16"), nil, &out, &errs); code != command.OK {
			t.Errorf("exit code %d: %s", code, errs.Bytes())
		}
		for _, what := range []string{"ram bytes", "ssd bytes a pass", "s a pass", "overlap"} {
			if !bytes.Contains(errs.Bytes(), []byte(what)) {
				t.Errorf("%s prints no %q: %s", args[0], what, errs.Bytes())
			}
		}
	}
	path := filepath.Join(t.TempDir(), "before.json")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := [][]string{{"--ratio", "0"}, {"-r", "0"}, {"--passes", "0"}}
	if await.Long() { // the disk is measured first, for more than a second
		wrong = append(wrong, []string{"--ram", "much"})
	}
	_, err := (&measurement{ram: "much"}).caps(1)
	if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
		t.Errorf("a size of memory that is none: %v", err)
	}
	for _, args := range wrong {
		if code := Main(append([]string{"bench", "stream", dir}, args...), nil, &out, &errs); code != command.BadUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
	if code := Main([]string{"bench", "stream", dir, "--compare", dir}, nil, &out, &errs); code != command.Failure {
		t.Errorf("compared with a folder: exit code %d", code)
	}
}
