package compile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/tensor"
)

func open(t testing.TB, path string, opts ...file.Option) *file.Description {
	t.Helper()
	d, err := file.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// refused reports whether err says that the model is known but not supported yet.
func refused(err error) bool {
	e, ok := errors.AsType[*UnsupportedModelError](err)
	return ok && strings.HasPrefix(e.Why, "known")
}

// pooler reports whether a tensor belongs to a layer that BERT was trained with and
// that its vectors are not made with; files have it, and it is left with a notice.
func pooler(tensor string) bool { return strings.HasPrefix(tensor, "pooler.dense.") }

// TestParityCompiles: every parity case compiles without a warning, to the same
// model from both dialects of its configuration, or is rejected by name.
func TestParityCompiles(t *testing.T) {
	root := golden.Family(t, "parity")
	for _, name := range golden.Dirs(t, root) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, name)
			m, err := Compile(open(t, dir), Options{})
			if refused(err) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range m.Diagnostics {
				if !(m.Config.Encoder != nil && d.Code == "ignored_tensor" && pooler(d.Text)) {
					t.Error(d)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "config.v5.json")); err != nil {
				return // families younger than the older dialect
			}
			m5, err := Compile(open(t, dir, file.ConfigName("config.v5.json")), Options{})
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

// TestWeightNamesConsumed binds from names and shapes alone, without the files
// that hold the values.
func TestWeightNamesConsumed(t *testing.T) {
	root := golden.Family(t, "parity")
	bound := 0
	for _, name := range golden.Dirs(t, root) {
		if open(t, filepath.Join(root, name)).Packed != "" {
			continue // its tensors are made of others
		}
		d := &file.Description{Format: file.HuggingFace}
		var err error
		if d.Config, err = os.ReadFile(filepath.Join(root, name, "config.json")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(root, name, "modules.json")); err == nil {
			d.Files = open(t, filepath.Join(root, name)).Files // they say what follows the network
		}
		var tensors map[string]struct{ Shape []int }
		golden.JSON(t, filepath.Join(root, name, "tensors.json"), &tensors)
		for n, x := range tensors {
			d.Tensors = append(d.Tensors, file.Tensor{Name: n, View: tensor.View{DType: tensor.F32, Shape: x.Shape}})
		}
		m, err := Compile(d, Options{})
		if refused(err) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		bound++
		used := map[string]bool{}
		for _, w := range m.Weights {
			for _, s := range w.Sources {
				used[s] = true
			}
		}
		for n := range tensors {
			if !used[n] && !(m.Config.Encoder != nil && pooler(n)) {
				t.Errorf("%s: tensor %s has no part in the model", name, n)
			}
		}
	}
	if bound == 0 {
		t.Fatal("no case compiles")
	}
}

// TestGGUFCompiles: every GGUF case compiles without a warning or is rejected by
// name.
func TestGGUFCompiles(t *testing.T) {
	root := golden.Family(t, "gguf/models")
	files, err := filepath.Glob(filepath.Join(root, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			m, err := Compile(open(t, f), Options{})
			if refused(err) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range m.Diagnostics {
				t.Error(d)
			}
			x, err := m.GGUF()
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range x.Tensors { // written again, the file is unchanged
				if len(w.Transform) > 0 || w.Const == nil && !slices.Equal(w.Sources, []string{w.Name}) {
					t.Errorf("tensor %s is made of %v by %v", w.Name, w.Sources, w.Transform)
				}
			}
			for _, kv := range x.Meta {
				if strings.HasPrefix(kv.Key, ateniaKeys) {
					t.Errorf("%s = %v", kv.Key, kv.Value)
				}
			}
		})
	}
}
