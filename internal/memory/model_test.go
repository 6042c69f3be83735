package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

// A world is a manager, its tiers, and a model of its expected contents.
type world struct {
	m      *memory.Manager
	dir    string
	vram   *memorytest.FakeVRAM
	r      *rand.Rand
	faulty bool // adapter calls may fail
	data   map[string][]byte
	leases map[string]memory.Lease
}

// oddIDs are ids that names of files and formats could trip over.
var oddIDs = []string{"t", "T", "a/b", "a_b", "A_b", "../x", "blk.0:q", "αβ", "é", "e\u0301", string(bytes.Repeat([]byte{'x'}, 300)), ".", "con", "none"}

func newWorld(t *testing.T, seed uint64, fsys *faultfs.FS, budget map[memory.Tier]uint64) *world {
	w := &world{dir: ssd(t), r: rand.New(rand.NewPCG(seed, 1)), data: map[string][]byte{}, leases: map[string]memory.Lease{}}
	w.vram = &memorytest.FakeVRAM{Fail: func(c memorytest.Call, id string) error {
		if w.faulty && w.r.IntN(6) == 0 {
			return errors.New("injected")
		}
		return nil
	}}
	c := memory.Config{Dir: w.dir, Adapter: w.vram, Budget: budget, FS: faultfs.NoSync()}
	if fsys != nil {
		c.FS = fsys
	}
	w.m = memory.New(c)
	return w
}

// step performs one random operation, which must not change anything if it fails.
func (w *world) step(t *testing.T) string {
	ctx, id := context.Background(), oddIDs[w.r.IntN(len(oddIDs))]
	before, known := w.m.Residence(id)
	var what string
	var err error
	switch op := w.r.IntN(20); {
	case op < 4:
		data := make([]byte, w.r.IntN(40))
		for i := range data {
			data[i] = byte(w.r.Uint32())
		}
		to := memory.Tier(w.r.IntN(4))
		what = fmt.Sprintf("place %.9q %v", id, to)
		if _, _, err = w.m.Place(ctx, id, bytes.Clone(data), to); err == nil {
			w.data[id] = data
		}
	case op < 15:
		to := memory.Tier(w.r.IntN(4))
		what = fmt.Sprintf("move %.9q %v", id, to)
		_, err = w.m.Move(ctx, id, to)
	case op < 16:
		what = fmt.Sprintf("remove %.9q", id)
		if err = w.m.Remove(id); err == nil {
			delete(w.data, id)
		}
	case op < 18:
		what = fmt.Sprintf("lease %.9q", id)
		if l, ok := w.leases[id]; ok {
			l.Release()
			delete(w.leases, id)
		} else if l, e := w.m.Lease(ctx, id); e == nil {
			w.leases[id] = l
			if !bytes.Equal(l.Bytes, w.data[id]) {
				t.Errorf("%s: %x, want %x", what, l.Bytes, w.data[id])
			}
		}
	default:
		what = "device comes or goes"
		w.vram.SetAvailable(w.r.IntN(3) > 0)
	}
	if after, ok := w.m.Residence(id); err != nil && (ok != known || after != before) {
		t.Errorf("%s failed (%v) and left %+v, was %+v", what, err, after, before)
	}
	if err != nil && what[0] != 'r' && !known && errors.Is(err, memory.ErrStale) {
		t.Errorf("%s: %v", what, err)
	}
	return what
}

// check compares the manager with the model: bytes, ledger, files and handles.
func (w *world) check(t *testing.T, what string) {
	t.Helper()
	want := w.m.Ledger()
	var ram, ssd uint64
	files := map[string]bool{}
	for _, id := range w.m.IDs() {
		r, _ := w.m.Residence(id)
		data, err := w.held(id, r.Backing)
		if err != nil || !bytes.Equal(data, w.data[id]) {
			t.Fatalf("%s: %.9q in %v has %x (%v), want %x", what, id, r.Backing, data, err, w.data[id])
		}
		switch r.Backing {
		case memory.BackingRAM:
			ram += uint64(len(data))
		case memory.BackingSSDFile:
			path, _, _ := w.m.File(id)
			files[filepath.Base(path)] = true
		}
	}
	if len(w.m.IDs()) != len(w.data) {
		t.Fatalf("%s: %d tensors, want %d", what, len(w.m.IDs()), len(w.data))
	}
	left := len(w.m.Health().Leftovers)
	entries, _ := os.ReadDir(w.dir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil {
			ssd += uint64(st.Size())
		}
		if !files[e.Name()] && left == 0 {
			t.Fatalf("%s: %s belongs to nobody", what, e.Name())
		}
	}
	if want.RAM.Used != ram || want.SSD.Used != ssd || want.VRAM.Used != w.vram.Total() {
		t.Fatalf("%s: ledger %+v, but RAM %d, SSD %d, VRAM %d", what, want, ram, ssd, w.vram.Total())
	}
	for _, a := range []memory.Account{want.VRAM, want.RAM, want.SSD} {
		if a.Used+a.Reserved > a.Total || a.Reserved > 0 && len(w.leases) == 0 {
			t.Fatalf("%s: ledger %+v", what, want)
		}
	}
}

// held returns the stored bytes of a tensor, read without injected faults.
func (w *world) held(id string, b memory.Backing) (data []byte, err error) {
	switch b {
	case memory.BackingVRAMHandle:
		data, _ = w.vram.Held(id)
	case memory.BackingSSDFile:
		path, _, _ := w.m.File(id)
		data, err = os.ReadFile(path)
	default:
		data, err = w.m.Peek(id)
	}
	return data, err
}

// finish removes all tensors without faults and checks that no file is left.
func (w *world) finish(t *testing.T) {
	t.Helper()
	w.faulty = false
	w.vram.SetAvailable(true)
	for _, l := range w.leases {
		l.Release()
	}
	ctx := context.Background()
	for _, id := range w.m.IDs() {
		if err := w.m.Remove(id); err != nil {
			t.Fatal(err)
		}
	}
	// The next use of a tier retries frees that failed before.
	_, _, err := w.m.Place(ctx, "last", nil, memory.SSD)
	if err := errors.Join(err, w.m.Remove("last")); err != nil {
		t.Fatal(err)
	}
	l := w.m.Ledger()
	if l.RAM.Used+l.SSD.Used+l.VRAM.Used+l.RAM.Reserved+l.SSD.Reserved+l.VRAM.Reserved != 0 || w.vram.Total() != 0 {
		t.Errorf("still held: %+v, on the device %q", l, w.vram.IDs())
	}
	if entries, _ := os.ReadDir(w.dir); len(entries) > 0 {
		t.Errorf("files left: %v", entries)
	}
}

// TestRandomMoves moves tensors with unusual ids at random, with a device that
// appears, disappears and fails, a disk that fails once and small budgets, and
// compares with a model after every step.
func TestRandomMoves(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var budget map[memory.Tier]uint64
			if seed%3 > 0 {
				budget = map[memory.Tier]uint64{memory.RAM: 100 * seed, memory.VRAM: 60, memory.SSD: 90}
			}
			var disk *faultfs.FS
			if seed >= 8 {
				disk = faultfs.New(int(20+31*(seed-8)), faultfs.Torn)
			}
			w := newWorld(t, seed, disk, budget)
			w.faulty = seed%2 == 1
			for range 120 {
				w.check(t, w.step(t))
			}
			w.finish(t)
		})
	}
}

// TestFaultyDisk stops, fails and fills the disk at every call of a sequence of
// moves: a tensor keeps its bytes or the failed call reported the loss, and the
// ledger agrees with the folder.
func TestFaultyDisk(t *testing.T) {
	data := []byte("some bytes of a tensor")
	for _, fault := range []faultfs.Fault{faultfs.Fail, faultfs.Torn, faultfs.Full, faultfs.Stop} {
		for n, fsys := range faultfs.Each(fault) {
			w := newWorld(t, 1, fsys, nil)
			w.vram.SetAvailable(true)
			if _, _, err := w.m.Place(context.Background(), "a/b", bytes.Clone(data), memory.SSD); err == nil {
				w.data["a/b"] = data
			}
			for _, to := range []memory.Tier{memory.RAM, memory.SSD, memory.VRAM, memory.SSD, memory.CPU, memory.RAM} {
				_, err := w.m.Move(context.Background(), "a/b", to)
				if known := w.data["a/b"] != nil; err != nil && known && !errors.Is(err, memory.ErrIO) {
					t.Errorf("fault %d at call %d: %v", fault, n, err)
				}
				if at, ok := w.m.Tier("a/b"); ok && err == nil && at != to {
					t.Errorf("fault %d at call %d: in %v, want %v", fault, n, at, to)
				}
			}
			if len(w.data) > 0 && fault != faultfs.Stop {
				wantBytes(t, w.m, "a/b", data)
			}
			whole, err := filepath.Glob(filepath.Join(w.dir, "tensor_*.bin"))
			for _, f := range whole {
				if b, err := os.ReadFile(f); err != nil || !bytes.Equal(b, data) {
					t.Errorf("fault %d at call %d: %s has %q, %v", fault, n, f, b, err)
				}
			}
			if err != nil {
				t.Error(err)
			}
			if h := w.m.Health(); len(h.Leftovers) > 1 {
				t.Errorf("fault %d at call %d: leftovers %v", fault, n, h.Leftovers)
			}
		}
	}
}

// TestTwoManagers checks that managers share no state except their arguments.
func TestTwoManagers(t *testing.T) {
	worlds := []*world{newWorld(t, 1, nil, nil), newWorld(t, 2, nil, nil)}
	t.Run("group", func(t *testing.T) {
		for i, w := range worlds {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for range 100 {
					w.check(t, w.step(t))
				}
			})
		}
	})
	for _, w := range worlds {
		w.finish(t)
	}
}

// TestManyMovers moves the same tensors from several goroutines: plans become
// stale, bytes never change, and no tensor is stored twice.
func TestManyMovers(t *testing.T) {
	w := newWorld(t, 1, nil, map[memory.Tier]uint64{memory.RAM: 10_000, memory.VRAM: 300})
	ids := []string{"a", "b", "c"}
	for i, id := range ids {
		w.data[id] = bytes.Repeat([]byte{byte(i + 1)}, 100)
		if _, _, err := w.m.Place(context.Background(), id, bytes.Clone(w.data[id]), memory.RAM); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("group", func(t *testing.T) {
		for g := range 4 {
			t.Run(fmt.Sprint(g), func(t *testing.T) {
				t.Parallel()
				mover(t, w, ids, rand.New(rand.NewPCG(uint64(g), 2)))
			})
		}
	})
	w.check(t, "at the end")
	w.finish(t)
}

// A stickyFS fails to remove every other file.
type stickyFS struct {
	durable.FS
	n atomic.Uint32
}

func (s *stickyFS) Remove(name string) error {
	if s.n.Add(1)%2 == 0 {
		return errors.New("sticky")
	}
	return s.FS.Remove(name)
}

// TestLeftoversOfMovers checks that a retried free never frees data written to
// the same place since.
func TestLeftoversOfMovers(t *testing.T) {
	var frees atomic.Uint32
	w := newWorld(t, 1, nil, nil)
	w.vram.Fail = func(c memorytest.Call, _ string) error {
		if c == memorytest.Free && frees.Add(1)%2 == 0 {
			return errors.New("sticky")
		}
		return nil
	}
	w.m = memory.New(memory.Config{Dir: w.dir, Adapter: w.vram, FS: &stickyFS{FS: faultfs.NoSync()}})
	ids := []string{"a", "b", "c", "d"}
	for i, id := range ids {
		w.data[id] = bytes.Repeat([]byte{byte(i + 1)}, 10+i)
		register(t, w.m, id, w.data[id], memory.RAM)
	}
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() { mover(t, w, ids, rand.New(rand.NewPCG(g, 3))) })
	}
	wg.Wait()
	w.check(t, "at the end")
}

func mover(t *testing.T, w *world, ids []string, r *rand.Rand) {
	for range 60 {
		id := ids[r.IntN(len(ids))]
		switch r.IntN(4) {
		case 0:
			if l, err := w.m.Lease(context.Background(), id); err == nil {
				if !slices.Equal(l.Bytes, w.data[id]) {
					t.Errorf("%s has %x", id, l.Bytes)
				}
				l.Release()
			}
		case 1:
			wantBytes(t, w.m, id, w.data[id])
		default:
			_, err := w.m.Move(context.Background(), id, memory.Tier(r.IntN(4)))
			if err != nil && !errors.Is(err, memory.ErrStale) && !errors.Is(err, memory.ErrLeased) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

// FuzzMoves is [TestRandomMoves] with budgets and faults of the fuzzer's.
func FuzzMoves(f *testing.F) {
	f.Add(uint64(1), uint16(0), uint16(100), uint16(60), uint16(90))
	f.Add(uint64(2), uint16(40), uint16(0), uint16(0), uint16(0))
	f.Add(uint64(34), uint16(43), uint16(61), uint16(60), uint16(218))
	f.Fuzz(func(t *testing.T, seed uint64, fault, ram, vram, ssd uint16) {
		w := newWorld(t, seed, faultfs.New(int(fault), faultfs.Fail),
			map[memory.Tier]uint64{memory.RAM: uint64(ram), memory.VRAM: uint64(vram), memory.SSD: uint64(ssd)})
		w.faulty = seed%2 == 1
		for range 60 {
			w.check(t, w.step(t))
		}
	})
}
