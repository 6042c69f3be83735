package decide

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/blob"
	"atenia/internal/store/faultfs"
)

func openCache(t *testing.T, root string) *blob.Cache {
	t.Helper()
	c, err := blob.OpenCache(root, blob.Config{FS: faultfs.NoSync()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantBytes(t *testing.T, m *memory.Manager, id, want string) {
	t.Helper()
	if data, err := m.Bytes(id); err != nil || string(data) != want {
		t.Errorf("%s holds %q, %v, want %q", id, data, err, want)
	}
	wantTiers(t, m, tiers{id: memory.RAM})
}

// TestGradients is the table of gradients that outlive their manager.
func TestGradients(t *testing.T) {
	t.Run("AG-7", func(t *testing.T) {
		c := openCache(t, t.TempDir())
		m := manager(t, nil, c, nil)
		m.RegisterData("g1", []byte{9, 8, 7}, memory.RAM)
		if r, err := PersistGradients(t.Context(), m, []string{"g1"}, 1234); err != nil || r != (PersistReport{Saved: 1}) {
			t.Errorf("%+v, %v", r, err)
		}
		if !c.Exists(blob.Gradient, "grad:g1:len3") {
			t.Error("the cache has no grad:g1:len3")
		}
		if n := WarmGradients(t.Context(), m, []string{"g1"}); n != 0 {
			t.Errorf("%d restored that are there", n)
		}
		m.Remove("g1")
		if n := WarmGradients(t.Context(), m, []string{"g1", "ghost"}); n != 1 {
			t.Errorf("%d restored", n)
		}
		wantBytes(t, m, "g1", "\x09\x08\x07")
	})
	t.Run("AG-8", func(t *testing.T) {
		c := openCache(t, t.TempDir())
		m := manager(t, &memorytest.FakeVRAM{}, c, tiers{"g2": memory.VRAM})
		if r, err := PersistGradients(t.Context(), m, []string{"g2"}, 0); err != nil || r != (PersistReport{Saved: 1}) {
			t.Errorf("%+v, %v", r, err)
		}
		wantBytes(t, m, "g2", "grad")
		if key, _ := m.GradientKey("g2"); key != "grad:g2:len4" {
			t.Errorf("key %q", key)
		}
	})
	t.Run("AG-9", func(t *testing.T) {
		c := openCache(t, t.TempDir())
		for kind, data := range map[blob.Kind]string{blob.Tensor: "abc", blob.Gradient: "de"} {
			if err := c.Put(kind, "k", []byte(data), 0, false); err != nil {
				t.Fatal(err)
			}
		}
		for kind, want := range map[blob.Kind]string{blob.Tensor: "abc", blob.Gradient: "de"} {
			if data, err := c.Get(kind, "k"); err != nil || string(data) != want {
				t.Errorf("%v has %q, %v", kind, data, err)
			}
		}
	})
	t.Run("skipped", func(t *testing.T) {
		c := openCache(t, t.TempDir())
		device := &memorytest.FakeVRAM{Fail: memorytest.Refuse(map[memorytest.Call][]string{memorytest.Download: {"v"}})}
		m := manager(t, device, c, tiers{"v": memory.VRAM, "s": memory.SSD, "c": memory.CPU})
		m.Register("empty", 4, memory.RAM)
		r, err := PersistGradients(t.Context(), m, []string{"v", "s", "c", "empty", "ghost"}, 0)
		if err != nil || r != (PersistReport{Skipped: 5}) {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("no_cache", func(t *testing.T) {
		m := manager(t, nil, nil, tiers{"g": memory.RAM})
		if _, err := PersistGradients(t.Context(), m, []string{"g"}, 0); !errors.Is(err, blob.ErrIO) {
			t.Error(err)
		}
		if n := WarmGradients(t.Context(), m, []string{"other"}); n != 0 {
			t.Errorf("%d restored from nowhere", n)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		m := manager(t, &memorytest.FakeVRAM{}, openCache(t, t.TempDir()), tiers{"g": memory.VRAM})
		if _, err := PersistGradients(ctx, m, []string{"g"}, 0); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestWarmFromDisk restores gradients that other managers persisted: of each
// requested id the longest intact one.
func TestWarmFromDisk(t *testing.T) {
	root := t.TempDir()
	c := openCache(t, root)
	put := func(id, data string) {
		if err := manager(t, nil, c, nil).PersistGradient(context.Background(), id, []byte(data), 0, true); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "short")
	put("a", "the longest")
	put("a", "damaged and longer")
	put("a:len40", "another id")
	put("a_b", "also safe") // its file name needs no replacement
	file, err := filepath.Glob(filepath.Join(root, "gradient", "grad_a_len18*.bin"))
	if err != nil || len(file) != 1 {
		t.Fatalf("%q, %v", file, err)
	}
	if err := os.WriteFile(file[0], []byte("damaged and l0nger"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := manager(t, nil, c, nil)
	if n := WarmGradients(t.Context(), m, []string{"a", "a:len40", "b", "a_b", "a"}); n != 3 {
		t.Errorf("%d restored", n)
	}
	wantBytes(t, m, "a", "the longest")
	wantBytes(t, m, "a:len40", "another id")
	wantBytes(t, m, "a_b", "also safe")
	if ids := m.IDs(); len(ids) != 3 {
		t.Errorf("restored %q", ids)
	}
}

// TestWarmOldCache finds gradients in a cache that does not note whose entries
// are whose.
func TestWarmOldCache(t *testing.T) {
	root := t.TempDir()
	c := openCache(t, root)
	if err := c.Put(blob.Gradient, "grad:blk.0:len4", []byte("abcd"), 7, true); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "gradient")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch ext := filepath.Ext(f.Name()); ext {
		case ".bin", ".meta":
			err = os.Rename(filepath.Join(dir, f.Name()), filepath.Join(dir, "grad_blk_0_len4"+ext))
		default:
			err = os.Remove(filepath.Join(dir, f.Name()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m := manager(t, nil, openCache(t, root), nil)
	if n := WarmGradients(t.Context(), m, []string{"blk.1", "blk.0"}); n != 1 {
		t.Errorf("%d restored", n)
	}
	wantBytes(t, m, "blk.0", "abcd")
}
