package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// squeezedModel writes a model with text, of so many layers of 33.5 MB; in a mixture most
// of them are experts. It returns its size, too.
func squeezedModel(t *testing.T, layers int, mixture bool) (dir string, size int64) {
	t.Helper()
	const hidden, ffn, vocab, experts, inner = 1024, 4096, 320, 16, 256
	dir = t.TempDir()
	config := fmt.Sprintf(`"torch_dtype": "bfloat16", "hidden_size": %d, "num_hidden_layers": %d, "num_attention_heads": 16, "num_key_value_heads": 16,
		"intermediate_size": %d, "vocab_size": %d, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000, "hidden_act": "silu", "tie_word_embeddings": false`,
		hidden, layers, ffn, vocab)
	if mixture {
		config = fmt.Sprintf(`{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "head_dim": 64, "num_experts": %d, "num_experts_per_tok": 2,
			"moe_intermediate_size": %d, "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": [], %s}`, experts, inner, config)
	} else {
		config = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", ` + config + "}"
	}
	var ts []file.TensorSource
	add := func(name string, shape ...int) {
		rng := rand.New(rand.NewPCG(uint64(len(ts)), 5))
		n, _ := tensor.Shape(shape).Bytes(tensor.BF16)
		size += int64(n)
		ts = append(ts, file.TensorSource{Name: name + ".weight", DType: tensor.BF16, Shape: shape, Write: func(w io.Writer) error {
			b := make([]byte, 0, n+8)
			for len(b) < n { // between 2^-7 and 2^-5, of either sign
				b = binary.LittleEndian.AppendUint64(b, rng.Uint64()&0x80ff_80ff_80ff_80ff|0x3c00_3c00_3c00_3c00)
			}
			_, err := w.Write(b[:n])
			return err
		}})
	}
	mlp := func(p string, ffn int) {
		add(p+"gate_proj", ffn, hidden)
		add(p+"up_proj", ffn, hidden)
		add(p+"down_proj", hidden, ffn)
	}
	add("model.embed_tokens", vocab, hidden)
	for l := range layers {
		p := fmt.Sprintf("model.layers.%d.", l)
		for _, m := range []string{"q", "k", "v", "o"} {
			add(p+"self_attn."+m+"_proj", hidden, hidden)
		}
		if mixture {
			add(p+"self_attn.q_norm", 64)
			add(p+"self_attn.k_norm", 64)
			add(p+"mlp.gate", experts, hidden)
			for e := range experts {
				mlp(fmt.Sprintf("%smlp.experts.%d.", p, e), inner)
			}
		} else {
			mlp(p+"mlp.", ffn)
		}
		add(p+"input_layernorm", hidden)
		add(p+"post_attention_layernorm", hidden)
	}
	add("model.norm", hidden)
	add("lm_head", vocab, hidden)
	from := filepath.Join(golden.Family(t, "parity"), "llama3")
	err := errors.Join(os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600), file.WriteSafetensors(filepath.Join(dir, "model.safetensors"), nil, ts))
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
		b, err2 := os.ReadFile(filepath.Join(from, name))
		err = errors.Join(err, err2, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, size
}

// TestSqueezes: answers that have begun are completed, with the same bytes, whatever
// happens to memory meanwhile: a neighbour takes it, or the limit falls, to a third of the
// model or a tenth, below the floor of its plan, and rises again or not. What is learned is
// on, and kept from run to run. In less than the plan's floor without the program's file,
// whose pages the kernel may take, one of the group's processes has to be killed.
func TestSqueezes(t *testing.T) {
	if testing.Short() {
		t.Skip("models of 240 MB, many times")
	}
	needControlGroups(t)
	draws, moved, layers, tokens := 2, 0, 4, "24"
	if await.Long() {
		draws, layers, tokens = 40, 16, "60"
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	state := t.TempDir()
	type model struct {
		dir         string
		size, least int64
		want        []byte
	}
	args := func(m model) []string {
		return []string{"run", m.dir, "Once", "-n", tokens, "--ignore-eos", "--seed", "7", "--ctx", "96", "--threads", "2"}
	}
	var models []model
	for i := range 2 {
		var m model
		m.dir, m.size = squeezedModel(t, layers, i == 1)
		m.least = leastMemory(t, m.dir)
		var err error
		if m.want, err = program(t, args(m)...).Output(); err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	mixture := models[1]
	if said := inGroup(t, mixture.size*3/4, "", args(mixture)...).err; !strings.Contains(said, "of experts, what tokens choose is read") || strings.Contains(said, " 0 B ") {
		t.Errorf("a mixture in three quarters of its size: %s", said)
	}
	for draw := range draws {
		m := models[draw%2]
		low := m.size/(3+rng.Int64N(8)) + 12<<20 // the program's own pages are part of it
		if rng.IntN(3) == 0 {
			low = rng.Int64N(16 << 20)
		}
		low = max(low, m.least)
		neighbour, back := rng.IntN(2) == 0, rng.IntN(2) == 0
		what := fmt.Sprintf("draw %d: mixture %t, %d bytes, neighbour %t, back %t, low %d MiB", draw, draw%2 == 1, m.size, neighbour, back, low>>20)
		log, err := squeezeOnce(t, args(m), m.want, state, 3*m.size, low, neighbour, back)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if strings.Contains(log, "MoveToSsd") {
			moved++
		}
	}
	t.Logf("weights moved in %d of %d runs", moved, draws)
	if await.Long() && moved < draws*25/40 {
		t.Errorf("weights moved in %d of %d runs only", moved, draws)
	}
}

// leastMemory returns what a run of a model has that the kernel cannot take, by its plan,
// with some for the kernel itself and the code that runs.
func leastMemory(t *testing.T, dir string) int64 {
	t.Helper()
	var errw bytes.Buffer
	c := program(t, "plan", dir, "--ctx", "96", "--ram", "1")
	c.Stderr = &errw
	if err := c.Run(); err == nil {
		t.Fatal("a plan in one byte")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	floor := await.Number(strings.Split(errw.String(), "\n"), "the least that works is --ram ")
	if floor == 0 {
		t.Fatal(errw.String())
	}
	return int64(floor) - st.Size() + 8<<20
}

// squeezeOnce squeezes a run from its first byte on and returns the log of its decisions.
func squeezeOnce(t *testing.T, args []string, want []byte, state string, limit, low int64, neighbour, back bool) (string, error) {
	t.Helper()
	g, err := newControlGroup(limit)
	if err != nil {
		return "", err
	}
	defer g.remove()
	log := filepath.Join(t.TempDir(), "d.jsonl")
	c := program(t, append(args, "--decisions", log)...)
	c.Env = append(c.Env, "XDG_STATE_HOME="+state)
	var errw bytes.Buffer
	c.Stderr = &errw
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	begin(t, g, c)
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil {
		return "", fmt.Errorf("%w: %v: %s", err, c.Wait(), errw.String())
	}
	file := map[string]string{"v1": "memory.limit_in_bytes", "v2": "memory.high"}[g.version]
	var over func()
	lower := func() {}
	if neighbour {
		hoard := program(t)
		hoard.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hoardVar, limit-low))
		in, err := hoard.StdinPipe()
		if err != nil {
			return "", err
		}
		begin(t, g, hoard)
		over = func() {
			in.Close()
			_ = hoard.Wait() // the kernel may have chosen it
		}
	} else {
		at := limit
		lower = func() { // as far as the kernel can take memory back by now, less what it needs for a while
			const some = 32 << 20
			for least := low; least < at-some; {
				n := least + (at-some-least)/2
				if least == low {
					n = low
				}
				if g.set(file, n) == nil {
					at = n
				} else {
					least = n + some/4
				}
			}
			if at < limit && at > low {
				at += some
				_ = g.set(file, at)
			}
		}
		over = func() { _ = g.set(file, limit) }
	}
	rest := make([]byte, len(want)/2)
	n := 0
	for n < len(rest) && err == nil {
		lower()
		var k int
		k, err = out.Read(rest[n : n+1])
		n += k
	}
	if back {
		over()
	}
	tail, err2 := io.ReadAll(out)
	err3 := c.Wait()
	over()
	got := append(append(first, rest[:n]...), tail...)
	if err := errors.Join(err, err2, err3); err != nil || !bytes.Equal(got, want) {
		return "", fmt.Errorf("%w: %q, want %q: %s", err, got, want, errw.String())
	}
	b, err := os.ReadFile(log)
	return string(b), err
}
