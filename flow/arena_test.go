package flow_test

import (
	"errors"
	"testing"
	"unsafe"

	"atenia/flow"
)

func open(t *testing.T, o flow.ArenaOptions) *flow.Arena {
	t.Helper()
	a, err := flow.NewArena(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// TestArena are the acceptance cases of the memory of graphs.
func TestArena(t *testing.T) {
	t.Run("A32", arenaTestOneRegion)
	t.Run("A33", testDoubles)
}

// arenaTestOneRegion: carves of every size are disjoint, aligned, zero and inside
// one region.
func arenaTestOneRegion(t *testing.T) {
	a := open(t, flow.ArenaOptions{ReserveBytes: 64 << 20, FirstBytes: 4096})
	var slices [][]byte
	for n := range 300 {
		b, err := a.Carve("c", n*7)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d of %d is %d", i, len(b), b[i])
			}
			b[i] = byte(n)
		}
		slices = append(slices, b)
	}
	end := 0
	for i, c := range a.Carves() {
		if c.Offset%flow.ArenaAlign != 0 || c.Offset < end || c.Bytes != i*7 {
			t.Fatalf("carve %d: %+v, the one before ends at %d", i, c, end)
		}
		end = c.Offset + c.Bytes + flow.ArenaGuard
		if end > a.Used() || a.Used() > a.Committed() || a.Committed() > a.Reserved() {
			t.Fatalf("carve %d ends at %d: used %d, committed %d, reserved %d", i, end, a.Used(), a.Committed(), a.Reserved())
		}
		for k, v := range slices[i] {
			if v != byte(i) {
				t.Fatalf("carve %d, byte %d is %d", i, k, v)
			}
		}
		if p := unsafe.Pointer(unsafe.SliceData(slices[i])); !a.Holds(p, c.Bytes) || p != unsafe.Add(a.Base(), c.Offset) {
			t.Fatalf("carve %d is not where it says", i)
		}
	}
	if a.Holds(a.Base(), a.Used()+1) || a.Holds(unsafe.Pointer(&end), 8) {
		t.Error("the arena holds what it does not")
	}
	if err := a.Check(); err != nil {
		t.Error(err)
	}
}

// testDoubles: growing from 1 to 128 MiB moves no carve in use.
func testDoubles(t *testing.T) {
	a := open(t, flow.ArenaOptions{ReserveBytes: 256 << 20})
	tokens, err := flow.ArenaOf[float64](a, "tokens", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tokens {
		tokens[i] = float64(i)
	}
	base, sizes := a.Base(), []int{a.Committed()}
	for a.Committed() < 128<<20 {
		last, err := flow.ArenaOf[float32](a, "growth", 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		last[0], last[len(last)-1] = 1, 1
		if n := a.Committed(); n != sizes[len(sizes)-1] {
			sizes = append(sizes, n)
		}
	}
	for i, n := range sizes {
		if n != 1<<20<<i {
			t.Fatalf("sizes %v: they double from 1 MiB on", sizes)
		}
	}
	if len(sizes) != 8 || a.Base() != base {
		t.Errorf("%d sizes, base moved %v", len(sizes), a.Base() != base)
	}
	for i, v := range tokens {
		if v != float64(i) {
			t.Fatalf("token %d became %v", i, v)
		}
	}

	a.Freeze()
	room := a.Committed() - a.Used()
	if _, err := a.Carve("fits", room-flow.ArenaGuard); err != nil || !a.Frozen() {
		t.Errorf("a carve that fits, frozen: %v", err)
	}
	before := a.Committed()
	_, err = a.Carve("more", 1)
	e, ok := errors.AsType[*flow.ArenaError](err)
	if !ok || !errors.Is(err, flow.ErrArenaFrozen) || e.Name != "more" || a.Committed() != before {
		t.Errorf("growth in real time: %v", err)
	}
	a.Thaw()
	if _, err := a.Carve("more", 1); err != nil || a.Frozen() {
		t.Errorf("growth after real time: %v", err)
	}
}

func TestOverrun(t *testing.T) {
	a := open(t, flow.ArenaOptions{ReserveBytes: 1 << 20})
	b, err := a.Carve("out of node", 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Carve("next", 10); err != nil {
		t.Fatal(err)
	}
	*(*byte)(unsafe.Add(unsafe.Pointer(&b[0]), 13)) = 0
	err = a.Check()
	if e, ok := errors.AsType[*flow.OverrunError](err); !ok || e.Name != "out of node" || e.At != 13 {
		t.Fatalf("overrun: %v", err)
	}
}

func TestRelease(t *testing.T) {
	a := open(t, flow.ArenaOptions{})
	if a.Reserved() < 64<<20 {
		t.Errorf("%d bytes reserved", a.Reserved())
	}
	m := a.Mark()
	for range 2 {
		b, err := flow.ArenaOf[uint8](a, "again", 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d is %d", i, b[i])
			}
			b[i] = 1
		}
		a.Release(m)
	}
	if a.Used() != 0 || len(a.Carves()) != 0 {
		t.Errorf("%d bytes used after the release", a.Used())
	}
}

func TestErrors(t *testing.T) {
	a := open(t, flow.ArenaOptions{ReserveBytes: 1 << 20, FirstBytes: 1 << 16})
	for _, c := range []struct {
		n    int
		want error
	}{{-1, flow.ErrArenaSize}, {1 << 62, flow.ErrArenaSize}, {1 << 20, flow.ErrArenaFull}} {
		if _, err := flow.ArenaOf[float64](a, "c", c.n); !errors.Is(err, c.want) {
			t.Errorf("%d values: %v, want %v", c.n, err, c.want)
		}
	}
	if _, err := flow.NewArena(flow.ArenaOptions{ReserveBytes: -1}); !errors.Is(err, flow.ErrArenaSize) {
		t.Errorf("negative reserve: %v", err)
	}
	if _, err := flow.NewArena(flow.ArenaOptions{ReserveBytes: 1 << 60}); err == nil {
		t.Error("an absurd size was reserved")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Check(); !errors.Is(err, flow.ErrArenaClosed) {
		t.Errorf("check of a closed arena: %v", err)
	}
}
