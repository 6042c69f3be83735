package tier_test

import (
	"context"
	"slices"
	"testing"

	"atenia/tier"
	"atenia/tier/blob"
	"atenia/tier/tiertest"
)

// TestLazy checks that the bytes of a lazily restored tensor come with whatever
// needs them first, once, and that registering it again cancels that.
func TestLazy(t *testing.T) {
	c := openCache(t, t.TempDir())
	if err := c.Put(blob.Tensor, "k", []byte{1, 2, 3}, 0, false); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	lazily := func(t *testing.T, at tier.Tier, key string) *tier.Manager {
		m := tier.New(tier.Config{Dir: ssd(t), Adapter: &tiertest.FakeVRAM{}, Cache: c})
		if err := m.RegisterLazy("t", 3, at, blob.Tensor, key); err != nil {
			t.Fatal(err)
		}
		return m
	}
	state := func(t *testing.T, m *tier.Manager, want tier.LazyState) {
		t.Helper()
		if s, ok := m.LazyState("t"); !ok || s != want {
			t.Errorf("%v (%v), want %v", s, ok, want)
		}
	}
	for name, use := range map[string]func(*tier.Manager) error{
		"ensure": func(m *tier.Manager) error { return m.EnsureMaterialized(ctx, "t") },
		"bytes":  func(m *tier.Manager) error { _, err := m.Bytes("t"); return err },
		"lease":  func(m *tier.Manager) error { l, err := m.Lease(ctx, "t"); l.Release(); return err },
		"move":   func(m *tier.Manager) error { _, err := m.Move(ctx, "t", tier.VRAM); return err },
		"spill":  func(m *tier.Manager) error { _, err := m.Move(ctx, "t", tier.SSD); return err },
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []tier.Tier{tier.RAM, tier.SSD} {
				m := lazily(t, at, "k")
				wantTier(t, m, "t", at)
				state(t, m, tier.Unmaterialized)
				if at == tier.SSD && name == "spill" {
					continue // it is there already
				}
				if err := use(m); err != nil {
					t.Fatal(err)
				}
				state(t, m, tier.Materialized)
				wantBytes(t, m, "t", []byte{1, 2, 3})
			}
			m := lazily(t, tier.RAM, "missing")
			wantKind(t, use(m), blob.ErrNotFound, `"t"`)
			state(t, m, tier.Unmaterialized)
		})
	}
	t.Run("register again", func(t *testing.T) {
		m := lazily(t, tier.RAM, "k")
		register(t, m, "t", []byte{9}, tier.RAM)
		if s, ok := m.LazyState("t"); ok {
			t.Errorf("still lazy: %v", s)
		}
		if err := m.EnsureMaterialized(ctx, "t"); err != nil {
			t.Error(err)
		}
		wantBytes(t, m, "t", []byte{9})
	})
	t.Run("other length", func(t *testing.T) {
		m := tier.New(tier.Config{Cache: c})
		_ = m.RegisterLazy("t", 4, tier.RAM, blob.Tensor, "k")
		wantKind(t, m.EnsureMaterialized(ctx, "t"), tier.ErrUnsupported, "Byte length mismatch")
		state(t, m, tier.Unmaterialized)
	})
	t.Run("without a cache", func(t *testing.T) {
		m := tier.New(tier.Config{})
		_ = m.RegisterLazy("t", 3, tier.RAM, blob.Tensor, "k")
		wantKind(t, m.EnsureMaterialized(ctx, "t"), blob.ErrIO, "Persistent cache not attached")
		if err := m.EnsureMaterialized(ctx, "unknown"); err != nil {
			t.Error(err)
		}
	})
}

func TestHints(t *testing.T) {
	m := tier.New(tier.Config{})
	if h, ok := m.Hint("t"); ok {
		t.Errorf("%+v", h)
	}
	to := tier.VRAM
	m.SetHint("t", tier.Hint{Desired: &to, Summary: "soon", HasSummary: true})
	to = tier.SSD
	if h, ok := m.Hint("t"); !ok || *h.Desired != tier.VRAM || h.Summary != "soon" || !h.HasSummary {
		t.Errorf("%+v", h)
	}
}

func TestGradients(t *testing.T) {
	ctx, c := context.Background(), openCache(t, t.TempDir())
	m := tier.New(tier.Config{Cache: c})
	_, err := m.RestoreGradient("g")
	wantKind(t, err, blob.ErrNotFound, "g")
	if err := m.PersistGradient(ctx, "g", []byte{9, 8, 7}, 5, false); err != nil {
		t.Fatal(err)
	}
	wantKind(t, m.PersistGradient(ctx, "g", []byte{9, 8, 7}, 5, false), blob.ErrExists, "")
	if key, ok := m.GradientKey("g"); !ok || key != "grad:g:len3" || !slices.Equal(m.Gradients(), []string{"g"}) {
		t.Errorf("%q, %v, %q", key, ok, m.Gradients())
	}
	other := tier.New(tier.Config{Cache: c}) // a later process, told of the key
	other.IndexGradient("g", "grad:g:len3")
	for _, m := range []*tier.Manager{m, other} {
		if b, err := m.RestoreGradient("g"); err != nil || !slices.Equal(b, []byte{9, 8, 7}) {
			t.Errorf("%x, %v", b, err)
		}
	}
	without := tier.New(tier.Config{})
	wantKind(t, without.PersistGradient(ctx, "g", nil, 0, true), blob.ErrIO, "Persistent cache not attached to HybridMemoryManager")
	_, err = without.RestoreGradient("g")
	wantKind(t, err, blob.ErrIO, "Persistent cache not attached to HybridMemoryManager")
}
