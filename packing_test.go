package atenia_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia"
	"atenia/place"
)

// Weights packed in memory, on disk or not at all give the same logits, and
// what is wrong with a packed file is logged.
func TestPacking(t *testing.T) {
	b, err := os.ReadFile("testdata/golden/gguf/models/llama-q8_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(filepath.Dir(path), "m.packed")
	var log strings.Builder
	logits := func(c atenia.Config) ([][]float32, place.Packing) {
		t.Helper()
		log.Reset()
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		m, err := atenia.Open(t.Context(), path, &c)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		rows, err := m.Logits(t.Context(), []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, atenia.LogitsOptions{All: true, Step: 7})
		if err != nil {
			t.Fatal(err)
		}
		return rows, m.Packing()
	}
	want, p := logits(atenia.Config{Pack: "off"})
	if p.Matrices == 0 || p.Mode != "off" {
		t.Errorf("off: %v", p)
	}
	for i, c := range []struct {
		pack, mode string
		wrote      bool
	}{{"", "memory", false}, {"memory", "memory", false}, {"disk", "disk", true}, {"disk", "disk", false}} {
		got, p := logits(atenia.Config{Pack: c.pack, PackVerify: i == 3})
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q: other logits", c.pack)
		}
		if p.Mode != c.mode || p.Wrote != c.wrote || p.Fault != nil {
			t.Errorf("%q: %v", c.pack, p)
		}
	}
	// Of a model that was written since, the packed file is of no use: a few bytes of it
	// that are compared, too, may be the same.
	touched := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, touched, touched); err != nil {
		t.Fatal(err)
	}
	if _, p := logits(atenia.Config{Pack: "disk"}); !p.Wrote {
		t.Errorf("a model that was touched since: %v", p)
	}
	// Of a model that was written since, the packed file is of no use.
	b[len(b)-40] ^= 0x10 // in a weight
	later := time.Now().Add(time.Hour)
	if err := errors.Join(os.WriteFile(path, b, 0o600), os.Chtimes(path, later, later)); err != nil {
		t.Fatal(err)
	}
	was := want
	want, _ = logits(atenia.Config{Pack: "off"})
	if got, p := logits(atenia.Config{Pack: "disk"}); !p.Wrote || slices.EqualFunc(got, was, slices.Equal) || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("a model of the same size that was written since: %v", p)
	}
	if err := os.Truncate(packed, 5000); err != nil {
		t.Fatal(err)
	}
	got, p := logits(atenia.Config{Pack: "disk"})
	if !slices.EqualFunc(got, want, slices.Equal) || !p.Wrote || !strings.Contains(log.String(), "m.packed: end") {
		t.Errorf("%v\n%s", p, &log)
	}
	// A link that came with a model's folder is replaced, and leads nowhere.
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.Remove(packed), os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, packed)); err != nil {
		t.Fatal(err)
	}
	if _, p := logits(atenia.Config{Pack: "disk"}); !p.Wrote {
		t.Errorf("%v", p)
	}
	if b, err := os.ReadFile(victim); string(b) != "mine" {
		t.Errorf("a link was followed: %d bytes, %v", len(b), err)
	}
	// Nothing can be written where a folder is: the other place serves.
	if err := os.Remove(packed); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(packed, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, p := logits(atenia.Config{Pack: "disk", PackDir: dir}); filepath.Dir(p.Path) != dir {
		t.Errorf("%v", p)
	}
	if _, err := atenia.Open(t.Context(), path, &atenia.Config{Pack: "disc"}); err == nil {
		t.Error("an unknown way to pack was accepted")
	}
}
