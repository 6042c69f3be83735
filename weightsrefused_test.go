package atenia_test

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
)

// A storedTensor is a tensor of a safetensors file.
type storedTensor struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	At    [2]int `json:"data_offsets"`
	data  []byte
}

func readTensors(t *testing.T, file string) map[string]storedTensor {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data := b[8+binary.LittleEndian.Uint64(b):]
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b[8:len(b)-len(data)], &raw); err != nil {
		t.Fatal(err)
	}
	delete(raw, "__metadata__")
	out := map[string]storedTensor{}
	for name, r := range raw {
		var x storedTensor
		if err := json.Unmarshal(r, &x); err != nil {
			t.Fatal(err)
		}
		x.data = data[x.At[0]:x.At[1]]
		out[name] = x
	}
	return out
}

func writeTensors(t *testing.T, file string, tensors map[string]storedTensor) {
	t.Helper()
	head, data := map[string]storedTensor{}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		x := tensors[name]
		x.At = [2]int{len(data), len(data) + len(x.data)}
		data = append(data, x.data...)
		head[name] = x
	}
	h, err := json.Marshal(head)
	if err == nil {
		err = os.WriteFile(file, slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h, data), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// spoiled are tensors that no opcode takes, made of one that it does.
var spoiled = map[string]func(storedTensor) storedTensor{
	"longer": func(x storedTensor) storedTensor {
		row := len(x.data) / x.Shape[0]
		x.Shape = slices.Clone(x.Shape)
		x.Shape[0]++
		x.data = append(slices.Clone(x.data), x.data[:row]...)
		return x
	},
	"shorter": func(x storedTensor) storedTensor {
		row := len(x.data) / x.Shape[0]
		x.Shape = slices.Clone(x.Shape)
		x.Shape[0]--
		x.data = x.data[:len(x.data)-row]
		return x
	},
}

// TestWeightsRefused: a model with one tensor that is not what its instruction takes, or
// without it, is refused by the name of the tensor.
func TestWeightsRefused(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"llama3", "gemma3", "qwen2", "phi3_longrope_long", "mamba", "mamba2_groups"} {
		from := filepath.Join(golden.Family(t, "parity"), name)
		tensors := readTensors(t, filepath.Join(from, "model.safetensors"))
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		refused := func(how, tensor string, all map[string]storedTensor) {
			t.Helper()
			writeTensors(t, filepath.Join(dir, "model.safetensors"), all)
			m, err := atenia.Open(t.Context(), dir, nil)
			if err == nil {
				m.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tensor) {
				t.Errorf("%s, %s %s: %v", name, tensor, how, err)
			}
		}
		for tensor, x := range tensors {
			_, kind, layered := strings.Cut(tensor, ".0.")
			if !layered && strings.Contains(tensor, "layers.") {
				continue // layers are alike
			}
			if !layered {
				kind = tensor
			}
			if seen[kind] || len(x.Shape) == 0 {
				continue
			}
			seen[kind] = true
			for how, spoil := range spoiled {
				all := maps.Clone(tensors)
				all[tensor] = spoil(x)
				refused(how, tensor, all)
			}
			if strings.HasSuffix(tensor, "norm.weight") || strings.Contains(tensor, "proj.weight") {
				all := maps.Clone(tensors)
				delete(all, tensor)
				refused("absent", tensor, all)
			}
		}
	}
	for _, kind := range []string{"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight", "input_layernorm.weight", "self_attn.q_proj.weight", "self_attn.q_proj.bias", "self_attn.q_norm.weight", "mlp.down_proj.weight"} {
		if !seen[kind] {
			t.Errorf("no model has %s", kind)
		}
	}
}
