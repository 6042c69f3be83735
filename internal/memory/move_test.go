package memory_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/blob"
)

// ssd returns a folder for SSD tensors that is not there yet.
func ssd(t *testing.T) string { return filepath.Join(t.TempDir(), "ssd") }

func register(t *testing.T, m *memory.Manager, id string, data []byte, at memory.Tier) {
	t.Helper()
	if _, err := m.RegisterData(id, bytes.Clone(data), at); err != nil {
		t.Fatal(err)
	}
}

func move(t *testing.T, m *memory.Manager, id string, to ...memory.Tier) {
	t.Helper()
	for _, to := range to {
		if _, err := m.Move(context.Background(), id, to); err != nil {
			t.Fatal(err)
		}
		wantTier(t, m, id, to)
	}
}

func wantTier(t *testing.T, m *memory.Manager, id string, want memory.Tier) {
	t.Helper()
	if got, ok := m.Tier(id); !ok || got != want {
		t.Errorf("%q in %v (%v), want %v", id, got, ok, want)
	}
}

func wantBytes(t *testing.T, m *memory.Manager, id string, want []byte) {
	t.Helper()
	if got, err := m.Bytes(id); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q has %x (%v), want %x", id, got, err, want)
	}
}

func wantKind(t *testing.T, err, kind error, contains string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), contains) {
		t.Errorf("error %v, want %v with %q", err, kind, contains)
	}
}

func openCache(t *testing.T, root string) *blob.Cache {
	t.Helper()
	c, err := blob.OpenCache(root, blob.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMoves(t *testing.T) {
	ctx := context.Background()
	t.Run("MM-1", func(t *testing.T) {
		m := memory.New(memory.Config{})
		if err := m.Register("t1", 1024, memory.VRAM); err != nil {
			t.Fatal(err)
		}
		wantTier(t, m, "t1", memory.VRAM)
		if got, ok := m.Tier("t2"); ok {
			t.Errorf("t2 in %v", got)
		}
	})
	t.Run("MM-2", func(t *testing.T) {
		m := memory.New(memory.Config{})
		_ = m.Register("t1", 1024, memory.VRAM)
		move(t, m, "t1", memory.RAM)
	})
	t.Run("MM-3", func(t *testing.T) {
		dir := ssd(t)
		m := memory.New(memory.Config{Dir: dir})
		_ = m.Register("t1", 1024, memory.VRAM)
		p, err := m.PlanMove("t1", memory.SSD)
		if err != nil || p.To != memory.SSD {
			t.Errorf("%+v, %v", p, err)
		}
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			t.Errorf("the folder: %v", err)
		}
	})
	t.Run("MM-4", func(t *testing.T) {
		m := memory.New(memory.Config{})
		_ = m.Register("t1", 1024, memory.VRAM)
		if p, err := m.PlanMove("t1", memory.VRAM); err != nil || p.Reason != "Already in target tier" {
			t.Errorf("%+v, %v", p, err)
		}
	})
	t.Run("MM-5", func(t *testing.T) {
		_, err := memory.New(memory.Config{}).PlanMove("t1", memory.RAM)
		wantKind(t, err, memory.ErrUnsupported, "Tensor not registered")
	})
	t.Run("MM-6", func(t *testing.T) {
		dir := ssd(t)
		m := memory.New(memory.Config{Dir: dir})
		register(t, m, "t1", []byte{1, 2, 3, 4}, memory.RAM)
		move(t, m, "t1", memory.SSD)
		path := filepath.Join(dir, "tensor_t1.bin")
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, []byte{1, 2, 3, 4}) {
			t.Errorf("file %x, %v", b, err)
		}
		if got, meta, ok := m.File("t1"); !ok || got != path || meta.Codec != blob.None || meta.OriginalBytes != 4 {
			t.Errorf("%s, %+v, %v", got, meta, ok)
		}
		move(t, m, "t1", memory.RAM)
		wantBytes(t, m, "t1", []byte{1, 2, 3, 4})
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the file is still there: %v", err)
		}
	})
	t.Run("MM-7", func(t *testing.T) {
		m := memory.New(memory.Config{Dir: ssd(t)})
		_ = m.Register("t1", 4, memory.RAM)
		_, err := m.PlanMove("t1", memory.SSD)
		wantKind(t, err, memory.ErrUnsupported, "Cannot move tensor to SSD without backing data")
	})
	t.Run("MM-8", func(t *testing.T) {
		m := memory.New(memory.Config{Dir: ssd(t)})
		register(t, m, "t1", []byte{1, 2, 3, 4}, memory.SSD)
		m.SetFootprint("t1", 3)
		_, err := m.Move(ctx, "t1", memory.RAM)
		wantKind(t, err, memory.ErrUnsupported, "Byte length mismatch")
		wantTier(t, m, "t1", memory.SSD)
		path, _, _ := m.File("t1")
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("MM-9", func(t *testing.T) {
		m := memory.New(memory.Config{Dir: ssd(t), Adapter: &memorytest.FakeVRAM{}})
		register(t, m, "a", []byte{1, 2, 3}, memory.RAM)
		register(t, m, "b", []byte{4, 5, 6}, memory.SSD)
		move(t, m, "a", memory.VRAM, memory.RAM)
		move(t, m, "b", memory.VRAM, memory.RAM)
		wantBytes(t, m, "a", []byte{1, 2, 3})
		wantBytes(t, m, "b", []byte{4, 5, 6})
	})
	t.Run("MM-10", func(t *testing.T) {
		m := memory.New(memory.Config{})
		register(t, m, "t1", []byte{1, 2}, memory.RAM)
		p, err := m.PlanMove("t1", memory.VRAM)
		if err != nil || p.To != memory.RAM || !strings.Contains(p.Reason, "VRAM unavailable") {
			t.Errorf("%+v, %v", p, err)
		}
		if err := m.ApplyMove(ctx, "t1", p); err != nil {
			t.Error(err)
		}
		wantTier(t, m, "t1", memory.RAM)
		wantBytes(t, m, "t1", []byte{1, 2})
	})
	t.Run("MM-14", persistentCopy)
	t.Run("MM-15", withoutPersistentCopy)
}

func persistentCopy(t *testing.T) {
	c := openCache(t, t.TempDir())
	for _, m := range []*memory.Manager{memory.New(memory.Config{Dir: ssd(t), Cache: c}), memory.New(memory.Config{Dir: ssd(t)})} {
		register(t, m, "t1", []byte{1, 2, 3, 4}, memory.RAM)
		move(t, m, "t1", memory.SSD, memory.RAM, memory.SSD)
		wantBytes(t, m, "t1", []byte{1, 2, 3, 4})
	}
	if b, err := c.Get(blob.Tensor, "tensor:t1:len4"); err != nil || !bytes.Equal(b, []byte{1, 2, 3, 4}) || !c.Exists(blob.Tensor, "tensor:t1:len4") {
		t.Errorf("%x, %v", b, err)
	}
}

func withoutPersistentCopy(t *testing.T) {
	root := t.TempDir()
	block(t, filepath.Join(root, "file", "cache"))
	m := memory.New(memory.Config{Dir: filepath.Join(root, "ssd"), Cache: openCache(t, filepath.Join(root, "file", "cache"))})
	register(t, m, "t1", []byte{1, 2, 3, 4}, memory.RAM)
	move(t, m, "t1", memory.SSD)
	wantBytes(t, m, "t1", []byte{1, 2, 3, 4})
	h := m.Health()
	if h.PersistentErrors != 1 || len(h.Persistent) != 1 || h.Persistent[0].ID != "t1" || !errors.Is(h.Persistent[0].Err, blob.ErrIO) {
		t.Errorf("health %+v", h)
	}
}
