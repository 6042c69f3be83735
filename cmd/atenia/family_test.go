package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// withParallel builds the program with one more family, which is a literal in the package of
// families and its name in a list there, and returns the binary.
func withParallel(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(golden.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	families, dir := filepath.Join(root, "internal", "model", "compile"), t.TempDir()
	const list = "var olderFamilies = []*Family{"
	older, err := os.ReadFile(filepath.Join(families, "older.go"))
	if err != nil || !bytes.Contains(older, []byte(list)) {
		t.Fatalf("no list of families: %v", err)
	}
	literal, err := os.ReadFile(filepath.Join("testdata", "parallel.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]string{}
	for name, b := range map[string][]byte{"older.go": bytes.Replace(older, []byte(list), []byte(list+"&parallel,"), 1), "parallel.go": literal} {
		changed[filepath.Join(families, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": changed})
	if err != nil {
		t.Fatal(err)
	}
	file, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "atenia")
	if err := os.WriteFile(file, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	return bin
}

// halfOf copies a llama model and makes the weights whose names contain dead zero, so that a
// block is its attention or its feed-forward layer alone; the norms of both are the same.
func halfOf(t *testing.T, dead, modelType string) string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join(golden.Root(t), "testdata", "golden", "parity", "llama3")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	edit := func(name string, f func([]byte) []byte) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), f(b), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit("config.json", func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"model_type": "llama"`), []byte(`"model_type": "`+modelType+`"`), 1)
	})
	edit("model.safetensors", func(b []byte) []byte {
		type tensor struct {
			DType string `json:"dtype"`
			Shape []int  `json:"shape"`
			At    [2]int `json:"data_offsets"`
		}
		data := b[8+binary.LittleEndian.Uint64(b):]
		var header map[string]tensor
		if err := json.Unmarshal(bytes.Replace(b[8:len(b)-len(data)], []byte(`"__metadata__":{"format":"pt"},`), nil, 1), &header); err != nil {
			t.Fatal(err)
		}
		for name, x := range maps.Clone(header) {
			if dead != "" && strings.Contains(name, dead) {
				clear(data[x.At[0]:x.At[1]])
			}
			if layer, ok := strings.CutSuffix(name, ".input_layernorm.weight"); ok {
				other := layer + ".post_attention_layernorm.weight"
				copy(data[header[other].At[0]:header[other].At[1]], data[x.At[0]:x.At[1]])
				if modelType != "llama" { // its blocks have one norm; every tensor of a file must be of use, but for these
					header[layer+".self_attn.rotary_emb.inv_freq"] = header[other]
					delete(header, other)
				}
			}
		}
		head, err := json.Marshal(header)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, data)
	})
	return dir
}

// TestOnboarding: a family that is not published, whose halves of a block read the same norm,
// runs once its literal stands among the families: no package that runs plans changes. Where
// one half of a block is silent it computes what llama does, and elsewhere something else.
func TestOnboarding(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	bin := withParallel(t)
	logits := func(dir string, more ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), bin, append([]string{"logits", dir, "--tokens", "3,14,15,9,26,5,35,8", "--all", "--json"}, more...)...)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", dir, err, errs.String())
		}
		var r struct{ Logits json.RawMessage }
		if err := json.Unmarshal(out, &r); err != nil || len(r.Logits) < 1000 {
			t.Fatalf("%v: %.200s", err, out)
		}
		return string(r.Logits)
	}
	for dead, same := range map[string]bool{"o_proj": true, "down_proj": true, "": false} {
		added := halfOf(t, dead, "parallel_test")
		got := logits(added)
		if want := logits(halfOf(t, dead, "llama")); (got == want) != same {
			t.Errorf("without %q: the logits are those of llama: %v, want %v", dead, got == want, same)
		}
		if logits(added, "--step", "1") != got {
			t.Errorf("without %q: single steps have other logits than a prompt", dead)
		}
		if logits(added, "--no-fuse") != got {
			t.Errorf("without %q: fused instructions have other logits", dead)
		}
	}
	file := filepath.Join(t.TempDir(), "m.gguf")
	added := halfOf(t, "", "parallel_test")
	if out, err := exec.CommandContext(t.Context(), bin, "quantize", added, file, "--type", "f32").CombinedOutput(); err != nil {
		t.Fatalf("quantize: %v: %s", err, out)
	}
	if logits(file) != logits(added) {
		t.Error("the model has other logits as GGUF")
	}
}
