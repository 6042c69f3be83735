package ring_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/ring"
)

// A source is a file in memory whose reads can fail or wait.
type source struct {
	data []byte
	cut  atomic.Int64 // bytes that are gone from the end
	fail atomic.Int64 // reads until one fails; 0 = none
	gate atomic.Pointer[chan struct{}]
	held atomic.Int64 // reads that came to the gate
	slow bool
}

var errRead = errors.New("the disk is on fire")

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if g := s.gate.Load(); g != nil {
		s.held.Add(1)
		<-*g
	}
	if s.slow {
		runtime.Gosched()
	}
	if s.fail.Load() > 0 && s.fail.Add(-1) == 0 {
		return 0, errRead
	}
	left := s.data[:len(s.data)-int(s.cut.Load())]
	if off >= int64(len(left)) {
		return 0, io.EOF
	}
	n := copy(p, left[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
func (s *source) Same() error  { return nil }
func (s *source) Size() int64  { return int64(len(s.data)) }
func (s *source) Name() string { return "source" }

const parts = 3

// mixture returns layers of experts in one file: parts of odd sizes at any offset.
func mixture(t testing.TB, layers, each int) (*source, []ring.ExpertLayer) {
	t.Helper()
	f := &source{}
	out := make([]ring.ExpertLayer, layers)
	at := int64(70) // two of an offset that is a multiple of 4
	for l := range out {
		for range each {
			var u ring.Unit
			for p := range parts {
				n := 4 * (700 + 300*p + 11*l)
				u = append(u, ring.Span{Offset: at, Bytes: n, Align: 4})
				at += int64(n)
			}
			out[l].Experts = append(out[l].Experts, u)
		}
	}
	f.data = make([]byte, at)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(f.data)
	return f, out
}

// A user uses experts and compares their bytes.
type user struct {
	t      testing.TB
	c      *ring.ExpertCache
	f      *source
	layers []ring.ExpertLayer
}

func open(t testing.TB, f *source, layers []ring.ExpertLayer, slots int) *user {
	t.Helper()
	c, err := ring.NewExpertCache(ring.ExpertConfig{Files: []ring.Source{f}, Layers: layers, Slots: slots, Piece: 4096, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &user{t, c, f, layers}
}

func (u *user) use(layer int, list []int32, scan bool) error {
	u.c.Use(layer, list, scan)
	for at := 0; at < len(list); {
		n, err := u.c.Acquire()
		if err != nil {
			return err
		}
		if n == 0 {
			u.t.Fatal("nothing was acquired")
		}
		for _, e := range list[at : at+n] {
			for p, s := range u.layers[layer].Experts[e] {
				if !bytes.Equal(u.c.Bytes(layer, int(e), p), u.f.data[s.Offset:][:s.Bytes]) {
					u.t.Fatalf("part %d of expert %d of layer %d has other bytes than the file", p, e, layer)
				}
			}
		}
		u.c.Release()
		at += n
	}
	return nil
}

func choose(rng *rand.Rand, of, n int) (list []int32) {
	for _, e := range rng.Perm(of)[:n] {
		list = append(list, int32(e))
	}
	return list
}

// TestCache: whatever is chosen, with any number of slots, the bytes are the file's,
// each chosen expert counts once, and no more slots are taken than there are.
func TestCache(t *testing.T) {
	f, layers := mixture(t, 5, 12)
	f.slow = true
	for _, slots := range []int{1, 2, 3, 7, 30, 59, 60, 100} {
		u := open(t, f, layers, slots)
		rng := rand.New(rand.NewPCG(1, uint64(slots)))
		chosen := 0
		for pass := range 40 {
			if err := u.c.Begin(nil); err != nil {
				t.Fatal(err)
			}
			for l := range layers {
				n := 2
				if pass%8 == 3 {
					n = 1 + rng.IntN(12)
				}
				chosen += n
				list := choose(rng, 12, n)
				want := slices.Sorted(slices.Values(list))
				if err := u.use(l, list, n > 4); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(slices.Sorted(slices.Values(list)), want) {
					t.Fatalf("%v became %v", want, list)
				}
			}
			u.c.End(true)
		}
		s := u.c.Stats()
		if s.Hits+s.Misses != int64(chosen) || s.Slots != min(slots, 60) || s.Passes != 40 {
			t.Errorf("%d slots, %d chosen: %+v", slots, chosen, s)
		}
		if slots >= 60 && (s.Evictions != 0 || s.Misses > 60) {
			t.Errorf("a cache of all: %+v", s)
		}
		if rate := s.HitRate(); slots == 30 && (rate < 0.3 || rate > 0.7) {
			t.Errorf("half of the experts fit, %.2f hits", rate)
		}
	}
}

// TestRecent: the least recently used expert is evicted; one that a scan has read
// is evicted before.
func TestRecent(t *testing.T) {
	f, layers := mixture(t, 1, 8)
	u := open(t, f, layers, 4)
	hits := func(list []int32, scan bool) int64 {
		before := u.c.Stats().Hits
		if err := u.c.Begin(nil); err != nil {
			t.Fatal(err)
		}
		if err := u.use(0, list, scan); err != nil {
			t.Fatal(err)
		}
		u.c.End(true)
		return u.c.Stats().Hits - before
	}
	hits([]int32{0, 1}, false)
	hits([]int32{2, 3}, false)
	hits([]int32{0}, false)
	hits([]int32{4}, false) // evicts 1
	if n := hits([]int32{0, 2, 3, 4}, false); n != 4 {
		t.Errorf("%d hits of those used last", n)
	}
	if n := hits([]int32{1}, false); n != 0 {
		t.Error("1 was not evicted")
	}
	// 1 and three of 0, 2, 3, 4 are there. A scan replaces few.
	hits([]int32{0, 1, 2, 3, 4, 5, 6, 7}, true)
	if n := hits([]int32{0, 1, 2, 3, 4}, true); n < 2 {
		t.Errorf("%d hits after a scan", n)
	}
}

// TestHeld: experts of a held layer are read once.
func TestHeld(t *testing.T) {
	f, layers := mixture(t, 3, 6)
	layers[1].Held = true
	u := open(t, f, layers, 2)
	for range 5 {
		if err := u.c.Begin(nil); err != nil {
			t.Fatal(err)
		}
		for l := range layers {
			if err := u.use(l, []int32{5, 4, 3, 2, 1, 0}, l != 1); err != nil {
				t.Fatal(err)
			}
		}
		u.c.End(true)
	}
	if s := u.c.Stats(); s.Slots != 8 || s.Hits < 4*6 {
		t.Errorf("%+v", s)
	}
}

// TestReadError: a read that fails in the middle of a step, or a file that was cut,
// ends the step; the next one works if the file does.
func TestReadError(t *testing.T) {
	f, layers := mixture(t, 2, 8)
	u := open(t, f, layers, 3)
	all := func() error {
		if err := u.c.Begin(nil); err != nil {
			return err
		}
		var err error
		for l := range layers {
			if err = u.use(l, []int32{0, 1, 2, 3, 4, 5, 6, 7}, false); err != nil {
				break
			}
		}
		u.c.End(err == nil)
		return err
	}
	for i := range 60 {
		switch {
		case i%3 == 0:
			f.fail.Store(int64(1 + i/3))
			if err := all(); !errors.Is(err, errRead) {
				t.Fatalf("a read that fails: %v", err)
			}
			f.fail.Store(0)
		case i%3 == 1:
			f.cut.Store(int64(len(f.data) / 2))
			err := all()
			if e, ok := errors.AsType[*ring.ReadError](err); !ok || !errors.Is(e, io.ErrUnexpectedEOF) {
				t.Fatalf("a file that was cut: %v", err)
			}
			f.cut.Store(0)
		}
		if err := all(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCorrupt: bytes that differ from those read first are an error.
func TestCorrupt(t *testing.T) {
	f, layers := mixture(t, 1, 4)
	u := open(t, f, layers, 1)
	pass := func() (err error) {
		if err := u.c.Begin(nil); err != nil {
			return err
		}
		u.c.Use(0, []int32{0, 1, 2}, false)
		for range 3 {
			if _, err = u.c.Acquire(); err != nil {
				break
			}
			u.c.Release()
		}
		u.c.End(err == nil)
		return err
	}
	if err := pass(); err != nil {
		t.Fatal(err)
	}
	at := layers[0].Experts[1][2].Offset + 5
	f.data[at] ^= 1
	if err := pass(); !errors.Is(err, ring.ErrCorrupt) {
		t.Errorf("a bit that changed: %v", err)
	}
	f.data[at] ^= 1
	if err := pass(); err != nil {
		t.Error(err)
	}
}

// TestStop: a step that waits for a read ends when it is stopped, or when the cache
// is closed, and the next one works.
func TestStop(t *testing.T) {
	f, layers := mixture(t, 1, 4)
	u := open(t, f, layers, 2)
	for range 20 {
		gate := make(chan struct{})
		f.gate.Store(&gate)
		f.held.Store(0)
		stop := new(atomic.Bool)
		if err := u.c.Begin(stop); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- u.use(0, []int32{0, 1, 2, 3}, false) }()
		await.Until(t, "a read", func() bool { return f.held.Load() > 0 })
		stop.Store(true)
		u.c.Wake()
		if err := await.Value(t, "the end of a stopped step", done); !errors.Is(err, ring.ErrStopped) {
			t.Fatal(err)
		}
		u.c.End(false)
		close(gate)
		f.gate.Store(nil)
		if err := u.c.Begin(nil); err != nil {
			t.Fatal(err)
		}
		if err := u.use(0, []int32{3, 2, 1}, false); err != nil {
			t.Fatal(err)
		}
		u.c.End(true)
	}
	u.c.Close()
	if err := u.c.Begin(nil); !errors.Is(err, ring.ErrClosed) {
		t.Errorf("a closed cache: %v", err)
	}
}

// TestRefused: what cannot work is an error, and takes no memory.
func TestRefused(t *testing.T) {
	f, layers := mixture(t, 2, 4)
	small := ledger.New(nil, 1000)
	outside := []ring.ExpertLayer{{Experts: []ring.Unit{{{Offset: int64(len(f.data)), Bytes: 1}}}}}
	for name, c := range map[string]ring.ExpertConfig{
		"no slots":   {Layers: layers},
		"no experts": {Slots: 1},
		"empty":      {Slots: 1, Layers: []ring.ExpertLayer{{Experts: []ring.Unit{{}}}}},
		"outside":    {Slots: 1, Layers: outside},
		"no room":    {Slots: 2, Layers: layers, Account: small},
		"pieces":     {Slots: 2, Layers: layers, Piece: 100},
	} {
		c.Files = []ring.Source{f}
		if x, err := ring.NewExpertCache(c); err == nil {
			x.Close()
			t.Errorf("%s: no error", name)
		} else if name == "no room" && !errors.Is(err, ledger.ErrFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := small.Held(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestAllocations: in steady state nothing is allocated, and all goroutines end.
func TestAllocations(t *testing.T) {
	gone := await.Goroutines(t)
	f, layers := mixture(t, 2, 8)
	c, err := ring.NewExpertCache(ring.ExpertConfig{Files: []ring.Source{f}, Layers: layers, Slots: 4, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	list := make([]int32, 3)
	k := int32(0)
	if n := await.Allocs(50, func() {
		if err := c.Begin(nil); err != nil {
			t.Fatal(err)
		}
		for l := range layers {
			for i := range list {
				k++
				list[i] = (k + 3*int32(i)) % 8
			}
			list[1], list[2] = (list[0]+1)%8, (list[0]+3)%8
			c.Use(l, list, k%2 == 0)
			for at := 0; at < len(list); {
				n, err := c.Acquire()
				if err != nil {
					t.Fatal(err)
				}
				c.Release()
				at += n
			}
		}
		c.End(true)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	c.Close()
	gone()
}
