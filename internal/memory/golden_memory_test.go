package memory_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/blob"
	"atenia/internal/store/faultfs"
)

// A goldenVRAM is the device of a case.
type goldenVRAM struct {
	Adapter      string   // null or fake
	FailUpload   []string `json:"fail_upload"`
	FailDownload []string `json:"fail_download"`
}

// A goldenTensor is a tensor that a case starts with: bytes or data.
type goldenTensor struct {
	ID    string
	Tier  memory.Tier
	Bytes *uint64
	Data  *hexBytes
}

// A goldenMemory is the manager that a case starts with.
type goldenMemory struct {
	VRAM       goldenVRAM
	SSDDir     string  `json:"ssd_dir"` // ok, empty or blocked
	Persistent *string // nil, ok or blocked
	Tensors    []goldenTensor
}

// A goldenManager is a manager with its tiers.
type goldenManager struct {
	*memory.Manager
	fake  *memorytest.FakeVRAM // nil: there is no device
	cache *blob.Cache
}

// build makes the manager of a case.
func (g *goldenMemory) build(t *testing.T) *goldenManager {
	t.Helper()
	root := t.TempDir()
	m := &goldenManager{}
	if g.Persistent != nil {
		m.cache = goldenCache(t, filepath.Join(root, "cache"), *g.Persistent)
	}
	c := memory.Config{Dir: filepath.Join(root, "ssd", "tensors"), Cache: m.cache, FS: faultfs.NoSync()}
	started := false
	if g.VRAM.Adapter == "fake" {
		refuse := memorytest.Refuse(map[memorytest.Call][]string{memorytest.Upload: g.VRAM.FailUpload, memorytest.Download: g.VRAM.FailDownload})
		m.fake = &memorytest.FakeVRAM{Fail: func(c memorytest.Call, id string) error {
			if !started {
				return nil
			}
			return refuse(c, id)
		}}
		c.Adapter = m.fake
	}
	if g.SSDDir == "empty" {
		c.Dir = ""
	}
	m.Manager = memory.New(c)
	for _, x := range g.Tensors {
		m.start(t, &x)
	}
	if g.SSDDir == "blocked" {
		block(t, c.Dir)
	}
	started = true
	return m
}

// start registers a tensor; one with data in VRAM goes there by way of RAM.
func (m *goldenManager) start(t *testing.T, x *goldenTensor) {
	t.Helper()
	var err error
	switch {
	case x.Bytes != nil:
		err = m.Register(x.ID, *x.Bytes, x.Tier)
	case x.Tier == memory.VRAM:
		if _, err = m.RegisterData(x.ID, *x.Data, memory.RAM); err == nil {
			_, err = m.Move(context.Background(), x.ID, memory.VRAM)
		}
	default:
		_, err = m.RegisterData(x.ID, *x.Data, x.Tier)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// goldenCache opens a cache; a blocked one has a file where its folder would be.
func goldenCache(t *testing.T, root, how string) *blob.Cache {
	t.Helper()
	if how == "blocked" {
		block(t, filepath.Join(root, "x"))
		root = filepath.Join(root, "x")
	}
	c, err := blob.OpenCache(root, blob.Config{FS: faultfs.NoSync()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// block makes a folder impossible: its parent is a file.
func block(t *testing.T, dir string) {
	t.Helper()
	parent := filepath.Dir(dir)
	if err := os.RemoveAll(parent); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(parent), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(parent, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A wantTensor is the expected state of a tensor.
type wantTensor struct {
	ID      string
	Tier    memory.Tier
	Bytes   uint64
	Backing string
	Data    *hexBytes
}

// A wantLedger is the bytes that a case expects in each tier.
type wantLedger struct{ RAM, VRAM, SSD uint64 }

// checkTensors compares every tensor with its expected state.
func (m *goldenManager) checkTensors(t *testing.T, what string, want []wantTensor) {
	t.Helper()
	var ids []string
	for _, w := range want {
		ids = append(ids, w.ID)
		r, _ := m.Residence(w.ID)
		if r.Tier != w.Tier || r.Bytes != w.Bytes || r.Backing.String() != w.Backing {
			t.Errorf("%s: %q is %+v, want %+v", what, w.ID, r, w)
		}
		got, ok := m.bytes(w.ID)
		if ok != (w.Data != nil) || ok && !slices.Equal(got, *w.Data) {
			t.Errorf("%s: %q has %x (%v), want %x", what, w.ID, got, ok, w.Data)
		}
	}
	if got := m.IDs(); !slices.Equal(got, ids) {
		t.Errorf("%s: tensors %q, want %q", what, got, ids)
	}
}

// bytes returns the logical bytes behind a tensor, if there are any.
func (m *goldenManager) bytes(id string) ([]byte, bool) {
	if r, ok := m.Residence(id); !ok || r.Backing == memory.BackingNone {
		return nil, false
	} else if r.Backing == memory.BackingVRAMHandle {
		return m.fake.Held(id)
	}
	data, err := m.Peek(id)
	return data, err == nil
}

// checkLedger compares the bytes in each tier with the expected ones and, unless
// the case changed files itself, with the manager's count.
func (m *goldenManager) checkLedger(t *testing.T, what string, want wantLedger, touched bool) {
	t.Helper()
	var got wantLedger
	for _, id := range m.IDs() {
		if r, _ := m.Residence(id); r.Backing == memory.BackingRAM {
			data, _ := m.Peek(id)
			got.RAM += uint64(len(data))
		}
		if path, _, ok := m.File(id); ok {
			if st, err := os.Stat(path); err == nil {
				got.SSD += uint64(st.Size())
			}
		}
	}
	if m.fake != nil {
		got.VRAM = m.fake.Total()
	}
	if got != want {
		t.Errorf("%s: bytes %+v, want %+v", what, got, want)
	}
	l := m.Ledger()
	if own := (wantLedger{l.RAM.Used, l.VRAM.Used, l.SSD.Used}); own != want && !touched {
		t.Errorf("%s: ledger %+v, want %+v", what, own, want)
	}
	if l.RAM.Reserved != 0 || l.VRAM.Reserved != 0 || l.SSD.Reserved != 0 {
		t.Errorf("%s: bytes still reserved: %+v", what, l)
	}
}
