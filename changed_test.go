package atenia_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/model/embedded"
	"atenia/place"
)

// readAll generates until the request ends, and calls first after the first token.
func readAll(t *testing.T, m *atenia.Model, tokens int, first func()) error {
	t.Helper()
	p := atenia.Prompt{Tokens: []int32{1, 5, 9}}
	p.Options.MaxTokens, p.Options.IgnoreEnd = tokens, true
	for _, err := range m.Generate(t.Context(), p) {
		if err != nil {
			return err
		}
		if first != nil {
			first()
			first = nil
		}
	}
	return nil
}

// TestShrunkFile: the file of a mapped model is shortened during a generation. The
// request and those after it end with an error that names the file and a byte that is
// lost; another model, and the process, go on. Every form of weights has its kernels.
func TestShrunkFile(t *testing.T) {
	dir := t.TempDir()
	other, err := atenia.Open(t.Context(), "", &atenia.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, c := range []struct{ name, mix, pack string }{
		{"f32", "f32", "off"}, {"f16", "f16", "off"}, {"bf16", "bf16", "off"}, {"q8", "q8_0", "off"}, {"q4", "q4_0", "off"}, {"packed file", "f16", "disk"}, {"streamed", "f16", "off"},
	} {
		for _, threads := range []int{1, 2} {
			t.Run(c.name, func(t *testing.T) {
				path := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-")+".gguf")
				mix, err := atenia.ParseMix(c.mix)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := atenia.Quantize(t.Context(), "", path, atenia.QuantizeOptions{Mix: mix}); err != nil {
					t.Fatal(err)
				}
				cfg := &atenia.Config{Threads: threads, Pack: c.pack}
				streamed := c.name == "streamed"
				if streamed {
					cfg.Placement = place.Rules{Pins: []string{"ffn_(up|gate|down)=ssd"}, NoProbe: true}
				}
				m, err := atenia.Open(t.Context(), path, cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				cut := path
				if p := m.Packing(); p.Path != "" {
					cut = p.Path
				}
				st, err := os.Stat(cut)
				if err != nil {
					t.Fatal(err)
				}
				keep := st.Size() / 2
				err = readAll(t, m, 200, func() {
					if err := os.Truncate(cut, keep); err != nil {
						t.Fatal(err)
					}
				})
				check := func(err error) {
					t.Helper()
					e, ok := errors.AsType[*atenia.ChangedError](err)
					switch {
					case !ok:
						t.Fatalf("%v, want a *ChangedError", err)
					case e.File != cut || e.Was != st.Size() || e.Now != keep || e.Offset < keep || e.Offset >= e.Was:
						t.Errorf("%+v, want a byte from %d to %d of %s", e, keep, st.Size(), cut)
					case e.Streamed != streamed || strings.Contains(err.Error(), "--no-mmap") == streamed:
						t.Errorf("streamed is %v: %v", e.Streamed, err)
					case !strings.Contains(err.Error(), "rename"):
						t.Errorf("no remedy in %v", err)
					}
				}
				if err == nil { // all tokens were there before the first was read
					err = readAll(t, m, 200, nil)
				}
				check(err)
				check(readAll(t, m, 4, nil))
				_, err = m.Logits(t.Context(), []int32{1}, atenia.LogitsOptions{})
				check(err)
				if err := readAll(t, other, 4, nil); err != nil {
					t.Errorf("another model: %v", err)
				}
				if err := m.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
	}
}

// TestReplacedFile: a model is written over the open one with the same number of
// bytes, which no read notices. A file that takes its name is another matter, and a
// copy does not see either.
func TestReplacedFile(t *testing.T) {
	model := embedded.Story()
	for _, c := range []struct {
		name    string
		copied  bool
		replace func(path string, b []byte) error
		lost    bool
	}{
		{"cp", false, func(path string, b []byte) error { return os.WriteFile(path, b, 0o666) }, true},
		{"cp over a copy", true, func(path string, b []byte) error { return os.WriteFile(path, b, 0o666) }, false},
		{"truncated copy", true, func(path string, b []byte) error { return os.Truncate(path, 4096) }, false},
		{"rename", false, func(path string, b []byte) error {
			return errors.Join(os.WriteFile(path+"2", b, 0o666), os.Rename(path+"2", path))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			if err := os.WriteFile(path, model, 0o666); err != nil {
				t.Fatal(err)
			}
			m, err := atenia.Open(t.Context(), path, &atenia.Config{Pack: "off", NoMmap: c.copied})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			was, err := m.Logits(t.Context(), []int32{1, 2}, atenia.LogitsOptions{})
			if err != nil {
				t.Fatal(err)
			}
			other := bytes.Clone(model)
			for i := len(other) / 2; i < len(other); i++ {
				other[i] ^= 1
			}
			if err := c.replace(path, other); err != nil {
				t.Fatal(err)
			}
			is, err := m.Logits(t.Context(), []int32{1, 2}, atenia.LogitsOptions{})
			if e, ok := errors.AsType[*atenia.ChangedError](err); ok != c.lost || ok && e.File != path {
				t.Fatalf("%v, lost is %v", err, c.lost)
			}
			if !c.lost && (err != nil || is[0][7] != was[0][7]) {
				t.Errorf("%v, %v, want the old model's logits", is[0][7], err)
			}
		})
	}
}

// TestShrunkSource: the source of a quantization is shortened while it is read. There is
// an error that names it, and no new file.
func TestShrunkSource(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out.gguf")
	for _, to := range []string{"f16", "q8_0"} { // copied, and computed
		mix, err := atenia.ParseMix(to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := atenia.Quantize(t.Context(), "", in, atenia.QuantizeOptions{Mix: must(atenia.ParseMix("f16"))}); err != nil {
			t.Fatal(err)
		}
		o := atenia.QuantizeOptions{Mix: mix, Progress: func(done, total int64, tensor string) {
			if err := os.Truncate(in, 8192); err != nil {
				t.Error(err)
			}
		}}
		_, err = atenia.Quantize(t.Context(), in, out, o)
		if e, ok := errors.AsType[*atenia.ChangedError](err); !ok || e.File != in || e.Now != 8192 || e.Offset < 8192 {
			t.Errorf("to %s: %v", to, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("to %s: there is a new file", to)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
