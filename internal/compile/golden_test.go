package compile

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/modelfile"
)

// denseCases are the parity cases whose families compile; every other case is
// refused by TestGoldenRefused.
var denseCases = []string{
	"gemma", "gemma2", "gemma3", "granite", "llama3", "llama_bf16_sharded", "llama_dynamic_rope", "llama_f16",
	"llama_headdim_mha", "llama_linear_rope", "llama_tied_bias", "llama_yarn", "ministral3", "mistral_window", "phi3",
	"phi3_longrope_long", "phi3_longrope_short", "phi4_partial", "qwen2", "qwen2_window", "qwen3", "smollm3",
}

func open(t testing.TB, path string, opts ...modelfile.Option) *modelfile.Description {
	t.Helper()
	d, err := modelfile.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestGoldenParity(t *testing.T) {
	root := golden.Family(t, "parity")
	for _, name := range golden.Dirs(t, root) {
		if !slices.Contains(denseCases, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m, err := Compile(open(t, filepath.Join(root, name)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range m.Diagnostics {
				t.Error(d)
			}
			if name == "ministral3" { // younger than the other dialect
				return
			}
			m5, err := Compile(open(t, filepath.Join(root, name), modelfile.ConfigName("config.v5.json")), Options{})
			if err != nil {
				t.Fatal("config.v5.json:", err)
			}
			m.Provenance, m5.Provenance = nil, nil // they name different keys
			if !reflect.DeepEqual(m, m5) {
				t.Errorf("config.json:    %+v\nconfig.v5.json: %+v", m.Config, m5.Config)
			}
		})
	}
}

func TestGoldenGGUF(t *testing.T) {
	root := golden.Family(t, "gguf/models")
	files, err := filepath.Glob(filepath.Join(root, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			m, err := Compile(open(t, f), Options{})
			if strings.HasPrefix(filepath.Base(f), "qwen3moe") {
				if _, ok := errors.AsType[*UnsupportedModelError](err); !ok {
					t.Fatal("want the architecture refused, got", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range m.Diagnostics {
				t.Error(d)
			}
		})
	}
}
