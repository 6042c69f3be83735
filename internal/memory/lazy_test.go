package memory_test

import (
	"context"
	"slices"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/blob"
)

// TestLazy checks that the bytes of a lazily restored tensor are read once, at
// the first use, and that registering the tensor again cancels the read.
func TestLazy(t *testing.T) {
	c := openCache(t, t.TempDir())
	if err := c.Put(blob.Tensor, "k", []byte{1, 2, 3}, 0, false); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	lazily := func(t *testing.T, at memory.Tier, key string) *memory.Manager {
		m := memory.New(memory.Config{Dir: ssd(t), Adapter: &memorytest.FakeVRAM{}, Cache: c})
		if err := m.RegisterLazy("t", 3, at, blob.Tensor, key); err != nil {
			t.Fatal(err)
		}
		return m
	}
	state := func(t *testing.T, m *memory.Manager, want memory.LazyState) {
		t.Helper()
		if s, ok := m.LazyState("t"); !ok || s != want {
			t.Errorf("%v (%v), want %v", s, ok, want)
		}
	}
	for name, use := range map[string]func(*memory.Manager) error{
		"ensure": func(m *memory.Manager) error { return m.EnsureMaterialized(ctx, "t") },
		"bytes":  func(m *memory.Manager) error { _, err := m.Bytes("t"); return err },
		"lease":  func(m *memory.Manager) error { l, err := m.Lease(ctx, "t"); l.Release(); return err },
		"move":   func(m *memory.Manager) error { _, err := m.Move(ctx, "t", memory.VRAM); return err },
		"spill":  func(m *memory.Manager) error { _, err := m.Move(ctx, "t", memory.SSD); return err },
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []memory.Tier{memory.RAM, memory.SSD} {
				m := lazily(t, at, "k")
				wantTier(t, m, "t", at)
				state(t, m, memory.Unmaterialized)
				if at == memory.SSD && name == "spill" {
					continue // it is there already
				}
				if err := use(m); err != nil {
					t.Fatal(err)
				}
				state(t, m, memory.Materialized)
				wantBytes(t, m, "t", []byte{1, 2, 3})
			}
			m := lazily(t, memory.RAM, "missing")
			wantKind(t, use(m), blob.ErrNotFound, `"t"`)
			state(t, m, memory.Unmaterialized)
		})
	}
	t.Run("register again", func(t *testing.T) {
		m := lazily(t, memory.RAM, "k")
		register(t, m, "t", []byte{9}, memory.RAM)
		if s, ok := m.LazyState("t"); ok {
			t.Errorf("still lazy: %v", s)
		}
		if err := m.EnsureMaterialized(ctx, "t"); err != nil {
			t.Error(err)
		}
		wantBytes(t, m, "t", []byte{9})
	})
	t.Run("other length", func(t *testing.T) {
		m := memory.New(memory.Config{Cache: c})
		_ = m.RegisterLazy("t", 4, memory.RAM, blob.Tensor, "k")
		wantKind(t, m.EnsureMaterialized(ctx, "t"), memory.ErrUnsupported, "Byte length mismatch")
		state(t, m, memory.Unmaterialized)
	})
	t.Run("without a cache", func(t *testing.T) {
		m := memory.New(memory.Config{})
		_ = m.RegisterLazy("t", 3, memory.RAM, blob.Tensor, "k")
		wantKind(t, m.EnsureMaterialized(ctx, "t"), blob.ErrIO, "Persistent cache not attached")
		if err := m.EnsureMaterialized(ctx, "unknown"); err != nil {
			t.Error(err)
		}
	})
}

func TestHints(t *testing.T) {
	m := memory.New(memory.Config{})
	if h, ok := m.Hint("t"); ok {
		t.Errorf("%+v", h)
	}
	to := memory.VRAM
	m.SetHint("t", memory.Hint{Desired: &to, Summary: "soon", HasSummary: true})
	to = memory.SSD
	if h, ok := m.Hint("t"); !ok || *h.Desired != memory.VRAM || h.Summary != "soon" || !h.HasSummary {
		t.Errorf("%+v", h)
	}
}

func TestGradients(t *testing.T) {
	ctx, c := context.Background(), openCache(t, t.TempDir())
	m := memory.New(memory.Config{Cache: c})
	_, err := m.RestoreGradient("g")
	wantKind(t, err, blob.ErrNotFound, "g")
	if err := m.PersistGradient(ctx, "g", []byte{9, 8, 7}, 5, false); err != nil {
		t.Fatal(err)
	}
	wantKind(t, m.PersistGradient(ctx, "g", []byte{9, 8, 7}, 5, false), blob.ErrExists, "")
	if key, ok := m.GradientKey("g"); !ok || key != "grad:g:len3" {
		t.Errorf("%q, %v", key, ok)
	}
	other := memory.New(memory.Config{Cache: c}) // a later process, told of the key
	other.IndexGradient("g", "grad:g:len3")
	for _, m := range []*memory.Manager{m, other} {
		if b, err := m.RestoreGradient("g"); err != nil || !slices.Equal(b, []byte{9, 8, 7}) {
			t.Errorf("%x, %v", b, err)
		}
	}
	without := memory.New(memory.Config{})
	wantKind(t, without.PersistGradient(ctx, "g", nil, 0, true), blob.ErrIO, "Persistent cache not attached to HybridMemoryManager")
	_, err = without.RestoreGradient("g")
	wantKind(t, err, blob.ErrIO, "Persistent cache not attached to HybridMemoryManager")
}
