package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// Bytes that change after a checkpoint do not change it before the next one is
// complete; and bytes that another program replaced in the cache are not
// mistaken for saved ones.
func TestReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.manager()
	w.ram(m, "a", []byte("a1"), true)
	w.ram(m, "b", []byte("b1"), true)
	w.save(m)
	old := w.text()
	w.ram(m, "a", []byte("a2"), false)
	w.ram(m, "b", []byte("b2"), false)
	next := filepath.Join(w.root, "killed before its manifest")
	if err := os.CopyFS(next, os.DirFS(w.dir())); err != nil {
		t.Fatal(err)
	}
	s, err := Save(t.Context(), next, m, 2, SaveOptions{Materialize: true, FS: unsynced{durable.Default(nil)}})
	if err != nil || s.Written != 2 || s.Manifest.Entries[0].Blob.Key == "tensor:a:len2" {
		t.Fatalf("%+v, %v", s, err)
	}
	got, _ := w.restore(RestoreOptions{})
	w.has(got, "a", memory.RAM, []byte("a1"))
	w.has(got, "b", memory.RAM, []byte("b1"))
	got = w.manager()
	if _, err := Restore(t.Context(), next, got, RestoreOptions{Lazy: true}); err != nil {
		t.Fatal(err)
	}
	again, err := Save(t.Context(), next, got, 2, SaveOptions{FS: unsynced{durable.Default(nil)}}) // bytes or not, they are the same entries
	if err != nil || fmt.Sprint(again.Manifest.Entries[0].Blob) != fmt.Sprint(s.Manifest.Entries[0].Blob) || len(again.NotDurable) > 0 {
		t.Errorf("%+v, %v", again, err)
	}
	w.has(got, "a", memory.RAM, []byte("a2"))
	if s, err := Save(t.Context(), next, got, 2, SaveOptions{FS: unsynced{durable.Default(nil)}}); err != nil || len(s.NotDurable) > 0 {
		t.Errorf("%+v, %v", s, err)
	}

	if err := w.cache.Put(blob.Tensor, "tensor:a:len2", []byte("xx"), 0, true); err != nil {
		t.Fatal(err)
	}
	for _, o := range []RestoreOptions{{}, {Lazy: true}} {
		if _, err := Restore(t.Context(), w.dir(), w.manager(), o); !errors.Is(err, ErrInvalidFormat) {
			t.Errorf("restored other bytes: %v", err)
		}
	}
	// Without hashes replaced bytes are not detected; a file of hashes that is
	// damaged or belongs to another manifest is not used.
	sums, err := filepath.Glob(filepath.Join(w.dir(), "*.sums"))
	if err != nil || len(sums) != 1 {
		t.Fatal(sums, err)
	}
	text, err := os.ReadFile(sums[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		if err := os.WriteFile(sums[0], slices.Concat(text[:i], []byte{text[i] ^ 1}, text[i+1:]), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(w.dir(), nil); !errors.Is(err, ErrInvalidFormat) {
			t.Fatalf("hashes changed at %d: %v", i, err)
		}
	}
	w.write(strings.Replace(old, "1234", "1235", 1))
	if m, err := Read(w.dir(), nil); err != nil || m.Entries[0].Hash != (blob.Hash{}) {
		t.Errorf("%+v, %v", m, err)
	}
}
