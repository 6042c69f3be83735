package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

// TestBudget checks that tensors that do not fit are rejected before any read or
// write, with the numbers in the error, and without side effects.
func TestBudget(t *testing.T) {
	fsys, calls := faultfs.New(0, faultfs.Fail), 0
	v := &memorytest.FakeVRAM{Fail: func(memorytest.Call, string) error { calls++; return nil }}
	m := memory.New(memory.Config{Dir: ssd(t), FS: fsys, Adapter: v, Budget: map[memory.Tier]uint64{memory.RAM: 10, memory.VRAM: 6, memory.SSD: 6}})
	register(t, m, "a", []byte("aaaa"), memory.RAM)
	register(t, m, "b", []byte("bbbb"), memory.RAM)
	move(t, m, "a", memory.VRAM)
	move(t, m, "b", memory.SSD)
	register(t, m, "c", []byte("cccc"), memory.RAM)
	if _, err := m.PlanMove("c", memory.SSD); err != nil { // makes the folder
		t.Fatal(err)
	}
	before, used := m.Ledger(), fsys.Calls()
	calls = 0
	for _, c := range []struct {
		what         string
		do           func() error
		at           memory.Tier
		needed, free uint64
	}{
		{"up", func() error { _, err := m.Move(context.Background(), "c", memory.VRAM); return err }, memory.VRAM, 4, 2},
		{"from SSD up", func() error { _, err := m.Move(context.Background(), "b", memory.VRAM); return err }, memory.VRAM, 4, 2},
		{"new", func() error { _, err := m.RegisterData("d", make([]byte, 7), memory.RAM); return err }, memory.RAM, 7, 6},
		{"new on SSD", func() error { _, err := m.RegisterData("d", make([]byte, 7), memory.SSD); return err }, memory.SSD, 7, 2},
		{"larger", func() error { _, err := m.RegisterData("c", make([]byte, 11), memory.RAM); return err }, memory.RAM, 7, 6},
	} {
		err := c.do()
		e, ok := errors.AsType[*memory.BudgetError](err)
		if !ok || !errors.Is(err, memory.ErrBudget) || e.Tier != c.at || e.Needed != c.needed || e.Free != c.free {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if fsys.Calls() != used || calls != 0 {
		t.Errorf("%d calls to the file system and %d to the device", fsys.Calls()-used, calls)
	}
	if after := m.Ledger(); after != before || len(m.IDs()) != 3 {
		t.Errorf("%+v, then %+v; %q", before, after, m.IDs())
	}
	// The replaced bytes in RAM are free for the new ones.
	register(t, m, "c", make([]byte, 10), memory.RAM)
	// On the way from VRAM to SSD bytes need room in RAM, and there is none.
	_, err := m.Move(context.Background(), "a", memory.SSD)
	wantKind(t, err, memory.ErrBudget, "Ram needs 4 bytes and has 0 free of 10")
}

func TestStalePlan(t *testing.T) {
	m := memory.New(memory.Config{Dir: ssd(t)})
	register(t, m, "t", []byte{1}, memory.RAM)
	p, err := m.PlanMove("t", memory.SSD)
	if err != nil {
		t.Fatal(err)
	}
	register(t, m, "t", []byte{2}, memory.RAM)
	wantKind(t, m.ApplyMove(context.Background(), "t", p), memory.ErrStale, "plan again")
	wantKind(t, m.ApplyMove(context.Background(), "t", memory.PlannedMove{To: memory.SSD}), memory.ErrStale, "")
	wantBytes(t, m, "t", []byte{2})
	move(t, m, "t", memory.SSD)
	if err := m.ApplyMove(context.Background(), "t", p); err != nil {
		t.Errorf("a plan for where it is already: %v", err)
	}
}

func TestLease(t *testing.T) {
	ctx := context.Background()
	m := memory.New(memory.Config{Dir: ssd(t), Adapter: &memorytest.FakeVRAM{}, Budget: map[memory.Tier]uint64{memory.RAM: 8}})
	register(t, m, "t", []byte{1, 2, 3}, memory.RAM)
	for _, at := range []memory.Tier{memory.RAM, memory.SSD, memory.VRAM} {
		move(t, m, "t", at)
		idle := m.Ledger()
		a, err := m.Lease(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Lease(ctx, "t")
		if err != nil || !bytes.Equal(a.Bytes, []byte{1, 2, 3}) || !bytes.Equal(a.Bytes, b.Bytes) {
			t.Fatalf("%x, %x, %v", a.Bytes, b.Bytes, err)
		}
		if want := uint64(6); at != memory.RAM && m.Ledger().RAM.Reserved != want {
			t.Errorf("in %v: %+v, want %d bytes reserved for the copies", at, m.Ledger(), want)
		}
		if at != memory.RAM {
			_, err := m.Lease(ctx, "t")
			wantKind(t, err, memory.ErrBudget, "")
		}
		a.Release()
		a.Release()
		_, err = m.Move(ctx, "t", memory.CPU)
		wantKind(t, err, memory.ErrLeased, "in use")
		_, err = m.RegisterData("t", nil, memory.RAM)
		wantKind(t, err, memory.ErrLeased, "")
		wantKind(t, m.Remove("t"), memory.ErrLeased, "")
		b.Release()
		if m.Ledger() != idle {
			t.Errorf("in %v: %+v, was %+v", at, m.Ledger(), idle)
		}
	}
	_, err := m.Lease(ctx, "unknown")
	wantKind(t, err, memory.ErrUnsupported, "not registered")
	_ = m.Register("empty", 9, memory.RAM)
	_, err = m.Lease(ctx, "empty")
	wantKind(t, err, memory.ErrBudget, "")
	_, err = m.Bytes("empty")
	wantKind(t, err, memory.ErrUnsupported, "no bytes")
}

// TestCancel checks that a context ends waiting, for the tensor, for a slot and
// for the disk, and that the tensor stays whole.
func TestCancel(t *testing.T) {
	started, proceed := make(chan string), make(chan bool)
	v := &memorytest.FakeVRAM{Fail: func(_ memorytest.Call, id string) error { started <- id; <-proceed; return nil }}
	m := memory.New(memory.Config{Dir: ssd(t), Adapter: v, Transfers: 1})
	register(t, m, "a", []byte{1}, memory.RAM)
	register(t, m, "b", []byte{2}, memory.RAM)
	done := make(chan error)
	go func() { _, err := m.Move(context.Background(), "a", memory.VRAM); done <- err }()
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan error)
	for _, id := range []string{"a", "b"} {
		go func() { _, err := m.Move(ctx, id, memory.SSD); waiting <- err }()
	}
	cancel()
	for range 2 {
		err := <-waiting
		wantKind(t, err, context.Canceled, "cancelled")
		wantKind(t, err, memory.ErrIO, "")
	}
	proceed <- true
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantTier(t, m, "a", memory.VRAM)
	wantTier(t, m, "b", memory.RAM)
	wantBytes(t, m, "b", []byte{2})
}

func TestPlace(t *testing.T) {
	full := map[memory.Tier]uint64{memory.VRAM: 1}
	refusing := &memorytest.FakeVRAM{Fail: memorytest.Refuse(map[memorytest.Call][]string{memorytest.Upload: {"*"}})}
	for _, c := range []struct {
		name    string
		adapter memory.Adapter
		budget  map[memory.Tier]uint64
		to, at  memory.Tier
		backing memory.Backing
		why     string
	}{
		{"device", &memorytest.FakeVRAM{}, nil, memory.VRAM, memory.VRAM, memory.BackingVRAMHandle, ""},
		{"no device", nil, nil, memory.VRAM, memory.RAM, memory.BackingRAM, "VRAM unavailable; keeping the bytes in RAM"},
		{"refusing device", refusing, nil, memory.VRAM, memory.RAM, memory.BackingRAM, "refuses; keeping the bytes in RAM"},
		{"full device", &memorytest.FakeVRAM{}, full, memory.VRAM, memory.RAM, memory.BackingRAM, "Vram needs 3 bytes and has 1 free"},
		{"RAM", nil, nil, memory.RAM, memory.RAM, memory.BackingRAM, ""},
		{"SSD", nil, nil, memory.SSD, memory.SSD, memory.BackingSSDFile, ""},
		{"CPU", nil, nil, memory.CPU, memory.CPU, memory.BackingRAM, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := memory.New(memory.Config{Dir: ssd(t), Adapter: c.adapter, Budget: c.budget})
			for range 2 { // the second replaces the first
				at, why, err := m.Place(context.Background(), "t", []byte{1, 2, 3}, c.to)
				if err != nil || at != c.at || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
					t.Fatalf("%v, %q, %v", at, why, err)
				}
				wantTier(t, m, "t", c.at)
				wantBytes(t, m, "t", []byte{1, 2, 3})
				if r, _ := m.Residence("t"); r.Backing != c.backing {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// TestCodedToVRAM checks that bytes are decoded for a device, also if the encoded
// ones have the right length.
func TestCodedToVRAM(t *testing.T) {
	v := &memorytest.FakeVRAM{}
	m := memory.New(memory.Config{Dir: ssd(t), Adapter: v})
	for id, data := range map[string][]byte{"longer": bytes.Repeat([]byte{7}, 300), "same length": {7, 7}} {
		if err := m.RegisterCoded(id, data, blob.RLE); err != nil {
			t.Fatal(err)
		}
		move(t, m, id, memory.VRAM)
		if got, _ := v.Held(id); !bytes.Equal(got, data) {
			t.Errorf("%s: %x", id, got)
		}
	}
	if l := m.Ledger(); l.SSD.Used != 0 || l.VRAM.Used != 302 {
		t.Errorf("%+v", l)
	}
}

// TestCPU checks that tensors of tier CPU keep their bytes, free their handles
// and really move from there.
func TestCPU(t *testing.T) {
	v := &memorytest.FakeVRAM{}
	m := memory.New(memory.Config{Dir: ssd(t), Adapter: v})
	register(t, m, "t", []byte{1, 2}, memory.RAM)
	move(t, m, "t", memory.CPU, memory.SSD, memory.CPU, memory.VRAM, memory.CPU)
	if len(v.IDs()) > 0 {
		t.Errorf("handles left: %q", v.IDs())
	}
	wantBytes(t, m, "t", []byte{1, 2})
	move(t, m, "t", memory.VRAM, memory.CPU, memory.SSD)
	path, _, ok := m.File("t")
	if b, err := os.ReadFile(path); !ok || err != nil || !bytes.Equal(b, []byte{1, 2}) {
		t.Errorf("%x, %v", b, err)
	}
}

// TestTwins checks that ids whose names would collide have bytes of their own,
// on SSD and in the cache.
func TestTwins(t *testing.T) {
	c := openCache(t, t.TempDir())
	m := memory.New(memory.Config{Dir: ssd(t), Cache: c, FS: faultfs.NoSync()})
	for i, id := range oddIDs {
		register(t, m, id, []byte{byte(i)}, memory.RAM)
		move(t, m, id, memory.SSD)
	}
	for i, id := range oddIDs {
		wantBytes(t, m, id, []byte{byte(i)})
		if b, err := c.Get(blob.Tensor, "tensor:"+id+":len1"); err != nil || !bytes.Equal(b, []byte{byte(i)}) {
			t.Errorf("cache: %.9q has %x, %v", id, b, err)
		}
	}
	if h := m.Health(); h.PersistentErrors > 0 {
		t.Errorf("%+v", h)
	}
}

func TestBadIDs(t *testing.T) {
	m := memory.New(memory.Config{Dir: ssd(t)})
	for _, id := range []string{"a\nb", "\x00", "a\x7f", "\u0085", "a\xff"} {
		for _, at := range []memory.Tier{memory.RAM, memory.SSD, memory.CPU} {
			_, err := m.RegisterData(id, []byte{1}, at)
			wantKind(t, err, memory.ErrUnsupported, "control characters")
		}
		wantKind(t, m.Register(id, 1, memory.RAM), memory.ErrUnsupported, "")
		wantKind(t, m.RegisterLazy(id, 1, memory.RAM, blob.Tensor, "k"), memory.ErrUnsupported, "")
	}
	if ids := m.IDs(); len(ids) > 0 {
		t.Errorf("registered %q", ids)
	}
}

// TestVersions checks that registering changes the version of a tensor's content,
// and moving does not.
func TestVersions(t *testing.T) {
	m := memory.New(memory.Config{Dir: ssd(t)})
	version := func() uint64 { r, _ := m.Residence("t"); return r.Version }
	register(t, m, "t", []byte{1}, memory.RAM)
	first := version()
	move(t, m, "t", memory.SSD, memory.RAM)
	if version() != first {
		t.Errorf("version %d after moves, was %d", version(), first)
	}
	register(t, m, "t", []byte{1}, memory.RAM)
	if version() <= first {
		t.Errorf("version %d after registering, was %d", version(), first)
	}
}

// TestFlippedBit checks that a flipped bit on disk is detected in every use of a
// tensor.
func TestFlippedBit(t *testing.T) {
	fsys := faultfs.New(0, faultfs.Fail)
	m := memory.New(memory.Config{Dir: ssd(t), FS: fsys, Adapter: &memorytest.FakeVRAM{}})
	register(t, m, "t", []byte{1, 2, 3}, memory.SSD)
	path, _, _ := m.File("t")
	fsys.FlipBit(path, 9)
	for _, to := range []memory.Tier{memory.RAM, memory.VRAM} {
		_, err := m.Move(context.Background(), "t", to)
		wantKind(t, err, memory.ErrUnsupported, "mismatch")
		wantTier(t, m, "t", memory.SSD)
	}
	_, err := m.Bytes("t")
	wantKind(t, err, memory.ErrUnsupported, "mismatch")
}

// TestOneFileTwoNames checks that a persistent copy is not written twice, and
// that it stays when the tensor moves on.
func TestOneFileTwoNames(t *testing.T) {
	root := t.TempDir()
	m := memory.New(memory.Config{Dir: filepath.Join(root, "ssd"), Cache: openCache(t, filepath.Join(root, "cache"))})
	register(t, m, "t", []byte{1, 2}, memory.RAM)
	move(t, m, "t", memory.SSD)
	path, _, _ := m.File("t")
	a, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "cache", "tensor", "*.bin"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	if b, err := os.Stat(names[0]); err != nil || !os.SameFile(a, b) {
		t.Errorf("two files: %s and %s, %v", path, names[0], err)
	}
	move(t, m, "t", memory.RAM)
	if b, err := m.Cache().Get(blob.Tensor, "tensor:t:len2"); err != nil || !slices.Equal(b, []byte{1, 2}) {
		t.Errorf("%x, %v", b, err)
	}
}

// TestLeftovers checks that a handle that cannot be freed stays in the books
// and goes with the next use of the device.
func TestLeftovers(t *testing.T) {
	broken := true
	v := &memorytest.FakeVRAM{Fail: func(c memorytest.Call, _ string) error {
		if c == memorytest.Free && broken {
			return errors.New("busy")
		}
		return nil
	}}
	m := memory.New(memory.Config{Adapter: v, Budget: map[memory.Tier]uint64{memory.VRAM: 4}})
	register(t, m, "a", []byte{1, 2, 3}, memory.RAM)
	register(t, m, "b", []byte{4, 5, 6}, memory.RAM)
	move(t, m, "a", memory.VRAM, memory.RAM)
	if h := m.Health(); len(h.Leftovers) != 1 || h.Leftovers[0].ID != "a" || m.Ledger().VRAM.Used != 3 {
		t.Errorf("%+v, %+v", h, m.Ledger())
	}
	_, err := m.Move(context.Background(), "b", memory.VRAM)
	wantKind(t, err, memory.ErrBudget, "")
	broken = false
	move(t, m, "b", memory.VRAM)
	if h := m.Health(); len(h.Leftovers) != 0 || m.Ledger().VRAM.Used != 3 || !slices.Equal(v.IDs(), []string{"b"}) {
		t.Errorf("%+v, %+v, %q", h, m.Ledger(), v.IDs())
	}
}

// TestOverwrittenLeftover checks that a handle that could not be freed and was
// then written again is one handle.
func TestOverwrittenLeftover(t *testing.T) {
	v := &memorytest.FakeVRAM{Fail: func(c memorytest.Call, _ string) error {
		if c == memorytest.Free {
			return errors.New("never")
		}
		return nil
	}}
	m := memory.New(memory.Config{Adapter: v})
	register(t, m, "a", []byte{1, 2, 3}, memory.RAM)
	move(t, m, "a", memory.VRAM, memory.RAM, memory.VRAM)
	if h, l := m.Health(), m.Ledger(); len(h.Leftovers) != 0 || l.VRAM.Used != v.Total() {
		t.Errorf("%+v, %+v, %d bytes on the device", h, l, v.Total())
	}
}

// TestOverwrittenCPULeftover checks the same of the file of a tensor that was
// of tier CPU when it moved away: data written later in its place stays.
func TestOverwrittenCPULeftover(t *testing.T) {
	sticky := &stickyFS{FS: faultfs.NoSync()}
	fail := func() { sticky.n.Store(1) } // the next removal
	fail()
	m := memory.New(memory.Config{Dir: t.TempDir(), FS: sticky})
	register(t, m, "a", []byte{1, 2, 3}, memory.SSD)
	move(t, m, "a", memory.CPU, memory.RAM)
	if h := m.Health(); len(h.Leftovers) != 1 {
		t.Fatalf("%+v", h)
	}
	fail()
	move(t, m, "a", memory.SSD)
	if h, l := m.Health(), m.Ledger(); len(h.Leftovers) != 0 || l.SSD.Used != 3 {
		t.Errorf("%+v, %+v", h, l)
	}
	register(t, m, "b", []byte{4}, memory.SSD) // tries leftovers again
	wantBytes(t, m, "a", []byte{1, 2, 3})
}

// TestTransfers checks that no more bytes move at once than configured.
func TestTransfers(t *testing.T) {
	var now, most atomic.Int32
	v := &memorytest.FakeVRAM{Fail: func(memorytest.Call, string) error {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		runtime.Gosched()
		now.Add(-1)
		return nil
	}}
	m := memory.New(memory.Config{Adapter: v, Transfers: 1})
	var wg sync.WaitGroup
	for i := range 16 {
		id := fmt.Sprint(i)
		register(t, m, id, []byte{1}, memory.RAM)
		wg.Go(func() {
			for range 20 {
				if _, err := m.Move(context.Background(), id, memory.VRAM); err != nil {
					t.Error(err)
				}
				if _, err := m.Bytes(id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d transfers at once", most.Load())
	}
}

// A watchedFS calls back before every read and write of a file.
type watchedFS struct {
	durable.FS
	each func(n int)
}

type watchedFile struct {
	durable.File
	each func(n int)
}

func (w watchedFS) OpenFile(name string, flag int, mode fs.FileMode) (durable.File, error) {
	f, err := w.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return watchedFile{f, w.each}, nil
}

func (f watchedFile) Write(b []byte) (int, error) { f.each(len(b)); return f.File.Write(b) }
func (f watchedFile) ReadAt(b []byte, o int64) (int, error) {
	f.each(len(b))
	return f.File.ReadAt(b, o)
}

// TestCancelInside checks that the move of a large tensor ends soon after its
// context, and leaves the tensor in its tier and no file behind.
func TestCancelInside(t *testing.T) {
	const size = 12 << 20
	dir, cancel, moved := ssd(t), func() {}, 0
	m := memory.New(memory.Config{Dir: dir, FS: watchedFS{faultfs.NoSync(), func(n int) { moved += n; cancel() }}})
	register(t, m, "t", make([]byte, size), memory.RAM)
	for _, to := range []memory.Tier{memory.SSD, memory.RAM} {
		at, _ := m.Tier("t")
		before := m.Ledger()
		ctx, stop := context.WithCancel(context.Background())
		cancel, moved = stop, 0
		_, err := m.Move(ctx, "t", to)
		wantKind(t, err, context.Canceled, `"t"`)
		wantTier(t, m, "t", at)
		if moved >= size || m.Ledger() != before {
			t.Errorf("to %v: %d bytes moved; %+v, was %+v", to, moved, m.Ledger(), before)
		}
		if entries, _ := os.ReadDir(dir); at == memory.RAM && len(entries) > 0 {
			t.Errorf("left: %v", entries)
		}
		cancel = func() {}
		move(t, m, "t", to)
	}
}
