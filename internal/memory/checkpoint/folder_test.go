package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/store/blob"
)

func model(t *testing.T, name string) string {
	return filepath.Join(golden.Root(t), "testdata", "golden", "gguf", "models", name)
}

// statuses returns how often each status was found.
func statuses(t *testing.T, f *Folder) map[Status]int {
	t.Helper()
	checks, err := f.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[Status]int{}
	for _, c := range checks {
		out[c.Status]++
	}
	return out
}

// modelFile is the file of an entry of the cache.
func modelFile(t *testing.T, f *Folder, key string) string {
	t.Helper()
	info, err := f.cache.Stat(blob.Tensor, key)
	if err != nil {
		t.Fatal(err)
	}
	return info.Path
}

// Verify distinguishes missing, damaged and replaced bytes.
func TestVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := OpenFolder(dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Save(t.Context(), Saving{Model: model(t, "llama-q4_k_m.gguf"), Created: 1})
	if err != nil || s.Written != s.Tensors || len(s.NotDurable) > 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := statuses(t, f); got[Good] != s.Tensors {
		t.Fatal(got)
	}
	bin := modelFile(t, f, "tensor:output.weight:len67200")
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	b[1000] ^= 4
	err = errors.Join(os.WriteFile(bin, b, 0o666), os.Remove(modelFile(t, f, "tensor:blk.0.attn_k.weight:len18432")),
		f.cache.Put(blob.Tensor, "tensor:output_norm.weight:len1024", make([]byte, 1024), 5, true))
	if err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, f); got[Damaged] != 1 || got[Missing] != 1 || got[Stale] != 1 || got[Good] != s.Tensors-3 {
		t.Error(got)
	}
	for _, lazy := range []bool{false, true} {
		if _, err := f.Restore(t.Context(), Restoring{Lazy: lazy}); err == nil {
			t.Error("restored what is not what was saved")
		}
	}
	// Saving again writes missing and stale bytes. It does not read bytes that
	// the cache lists.
	if s, err = f.Save(t.Context(), Saving{Model: model(t, "llama-q4_k_m.gguf"), Created: 2, Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, f); s.Written != 2 || got[Damaged] != 1 || got[Good] != s.Tensors-1 {
		t.Error(s, got)
	}
}

// A second model of the same shapes does not touch the first one's bytes, which
// the collection then removes.
func TestReplaceAndCollect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := OpenFolder(dir, "", true)
	if err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(t.TempDir(), "first.gguf")
	b, err := os.ReadFile(model(t, "llama-f16.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	save := func(created uint64) *FolderSaved {
		t.Helper()
		if err := os.WriteFile(first, b, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := f.Save(t.Context(), Saving{Model: first, Created: created, Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	save(1)
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil { // a checkpoint as a kill would leave it
		t.Fatal(err)
	}
	b[len(b)-3] ^= 0x10 // in the last tensor
	if s := save(2); s.Written != 1 {
		t.Errorf("%d written", s.Written)
	}
	old, err := OpenFolder(copied, filepath.Join(dir, "cache"), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, old); got[Good] == 0 || len(got) != 1 {
		t.Errorf("the old checkpoint: %v", got)
	}
	for i, want := range []int{0, 1, 1, 0} { // with the old one; alone: dry, in earnest, again
		others := []string{copied}
		if i > 0 {
			others = nil
		}
		swept, err := f.Collect(t.Context(), others, i == 1)
		if err != nil || len(swept) != want {
			t.Errorf("round %d: %v, %v", i, swept, err)
		}
	}
	if got := statuses(t, f); len(got) != 1 || got[Good] == 0 {
		t.Error(got)
	}
	if s := save(3); s.Written != 0 {
		t.Errorf("%d written although nothing changed", s.Written)
	}
	r, err := f.Restore(t.Context(), Restoring{})
	if err != nil || len(r.Drift) > 0 || !strings.HasPrefix(r.WarmStart.Summary, "warm_start: keep=") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestIDOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"tensor:a:len3": "a", "tensor:a:len3:len12": "a:len3", "tensor:a:len3:x0123": "", "grad:a:len3": "", "k": "", "tensor:a:lenx": ""} {
		if id, _, ok := idOf(blob.Tensor, key); ok != (want != "") || ok && id != want {
			t.Errorf("%q: %q, %v", key, id, ok)
		}
	}
	e := Entry{ID: "g", IsGrad: true, Bytes: 7}
	if id, n, ok := idOf(blob.Gradient, e.DefaultBlob().Key); !ok || id != "g" || n != 7 {
		t.Error(id, n, ok)
	}
}
