package atenia_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"atenia"
	"atenia/internal/golden/await"
)

// TestOpenCopiesNothing opens a folder whose weights take a quarter of a
// gigabyte, all of it a hole in the file, and counts what Open allocates.
func TestOpenCopiesNothing(t *testing.T) {
	const hidden, ffn, layers, vocab = 1024, 4096, 4, 32000
	dir := t.TempDir()
	config := fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": %d, "intermediate_size": %d,
		"num_hidden_layers": %d, "num_attention_heads": 16, "vocab_size": %d, "rms_norm_eps": 1e-5, "max_position_embeddings": 2048}`,
		hidden, ffn, layers, vocab)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	header := map[string]any{}
	end := int64(0)
	add := func(name string, shape ...int) {
		size := int64(2)
		for _, n := range shape {
			size *= int64(n)
		}
		header[name] = map[string]any{"dtype": "F16", "shape": shape, "data_offsets": []int64{end, end + size}}
		end += size
	}
	add("model.embed_tokens.weight", vocab, hidden)
	add("lm_head.weight", vocab, hidden)
	add("model.norm.weight", hidden)
	for i := range layers {
		p := fmt.Sprintf("model.layers.%d.", i)
		add(p+"input_layernorm.weight", hidden)
		add(p+"post_attention_layernorm.weight", hidden)
		for _, proj := range []string{"q", "k", "v", "o"} {
			add(p+"self_attn."+proj+"_proj.weight", hidden, hidden)
		}
		add(p+"mlp.gate_proj.weight", ffn, hidden)
		add(p+"mlp.up_proj.weight", ffn, hidden)
		add(p+"mlp.down_proj.weight", hidden, ffn)
	}
	head, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "model.safetensors")
	if err := os.WriteFile(file, append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, int64(8+len(head))+end); err != nil {
		t.Fatal(err)
	}

	var m *atenia.Model
	got := await.Bytes(func() { m, err = atenia.Open(t.Context(), dir, nil) })
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got > end/16 {
		t.Errorf("opening %d bytes of weights allocated %d", end, got)
	} else {
		t.Logf("opening %d bytes of weights allocated %d", end, got)
	}
	if weights, _, _ := m.Memory(); weights != end {
		t.Errorf("%d bytes of weights, want %d", weights, end)
	}
}
