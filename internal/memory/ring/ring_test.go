package ring

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"atenia/internal/fault"
	"atenia/internal/golden/await"
)

// A memory is a source in memory with faults.
type memory struct {
	data  []byte
	reads atomic.Int64
	fail  atomic.Int64 // the number of the read that fails; 0 = none, -1 = all
	delay time.Duration
	gone  atomic.Bool
	mu    sync.Mutex
	gate  chan struct{} // reads wait for it, if there is one
}

func newMemory(seed uint64, n int) *memory {
	rng := rand.New(rand.NewPCG(seed, 9))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, rng.Uint64())
	}
	return &memory{data: b[:n]}
}

func (m *memory) Name() string { return "memory" }

func (m *memory) Size() int64 { return int64(len(m.data)) }

func (m *memory) Same() error {
	if m.gone.Load() {
		return fault.ErrChanged
	}
	return nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	if off%PageBytes != 0 || len(p)%PageBytes != 0 {
		return 0, syscall.EINVAL
	}
	m.mu.Lock()
	gate := m.gate
	m.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if m.delay > 0 {
		time.Sleep(m.delay)
	}
	if n, fail := m.reads.Add(1), m.fail.Load(); n == fail || fail < 0 {
		return 0, syscall.EIO
	}
	n := copy(p, m.data[min(off, int64(len(m.data))):])
	if n < len(p) {
		clear(p[n:])
		return n, io.EOF
	}
	return n, nil
}

// cycle returns units that cover random parts of a file, also unaligned ones.
func cycle(rng *rand.Rand, files ...Source) []Unit {
	units := make([]Unit, 1+rng.IntN(12))
	for i := range units {
		for range 1 + rng.IntN(3) {
			f := rng.IntN(len(files))
			n := 1 + rng.IntN(30000)
			s := Span{File: f, Offset: rng.Int64N(files[f].Size() - int64(n) + 1), Bytes: n, Align: 1 << rng.IntN(4)}
			units[i] = append(units[i], s)
		}
	}
	return units
}

func open(t testing.TB, c Config) *Ring {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// check compares an acquired unit with its files.
func check(t testing.TB, r *Ring, c *Config, u int) {
	t.Helper()
	for k, s := range c.Units[u] {
		want := c.Files[s.File].(*memory).data[s.Offset:][:s.Bytes]
		if !bytes.Equal(r.Bytes(u, k), want) {
			t.Fatalf("unit %d, span %d holds other bytes than its file", u, k)
		}
	}
}

// pass uses all units but those that skip names.
func pass(t testing.TB, r *Ring, c *Config, skip func(u int) bool) {
	t.Helper()
	if err := r.Begin(nil); err != nil {
		t.Fatal(err)
	}
	for u := range c.Units {
		if skip(u) {
			continue
		}
		if err := r.Acquire(u); err != nil {
			t.Fatal(err)
		}
		check(t, r, c, u)
		runtime.Gosched()
		check(t, r, c, u) // no read overwrites a unit in use
		if u%2 == 0 {
			r.Release(u) // the others end with the next one
		}
	}
	r.End(true)
}

func never(int) bool { return false }

// TestPasses: for all units, numbers of readers and sizes of memory, an acquired
// unit holds its bytes until it is released, in every pass.
func TestPasses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		a, b := newMemory(seed, 1<<18), newMemory(seed+100, 50001)
		c := Config{Files: []Source{a, b}, Readers: 1 + rng.IntN(5), Piece: PageBytes * (1 + rng.IntN(6)), Verify: seed%2 == 0}
		c.Units = cycle(rng, c.Files...)
		c.Bytes = Floor(c.Units) + rng.IntN(100000)
		if seed%5 == 0 { // a skipped unit is still being read when its memory is wanted
			a.delay = 100 * time.Microsecond
		}
		r := open(t, c)
		for range 6 {
			pass(t, r, &c, never)
			pass(t, r, &c, func(int) bool { return rng.IntN(4) == 0 })
		}
		if s := r.Stats(); s.Passes != 12 || s.Hits+s.Late < int64(6*len(c.Units)) || s.Bytes > int64(c.Bytes) {
			t.Fatalf("stats %+v of a ring of %d bytes", s, c.Bytes)
		}
		for u := range c.Units {
			for k, s := range c.Units[u] {
				if p := &r.Bytes(u, k)[0]; s.Align > 1 && uintptrOf(p)%uintptr(s.Align) != 0 {
					t.Fatalf("unit %d, span %d at %p is not aligned to %d", u, k, p, s.Align)
				}
			}
		}
	}
}

// TestReadError: a failed read is the error of the pass that needs it, and does
// not affect the next pass.
func TestReadError(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 3))
	for n := int64(1); n < 80; n++ {
		m := newMemory(uint64(n), 1<<17)
		m.fail.Store(n)
		c := Config{Files: []Source{m}, Piece: PageBytes}
		c.Units = cycle(rng, m)
		c.Bytes = Floor(c.Units)
		r := open(t, c)
		failed := 0
		for range 4 {
			if err := r.Begin(nil); err != nil {
				t.Fatal(err)
			}
			ok := true
			for u := range c.Units {
				err := r.Acquire(u)
				if e, is := errors.AsType[*readError](err); err != nil && (!is || !errors.Is(e, syscall.EIO)) {
					t.Fatal(err)
				}
				if err != nil {
					failed++
					ok = false
					break
				}
				check(t, r, &c, u)
			}
			r.End(ok)
		}
		if failed > 1 {
			t.Fatalf("one read failed, %d passes did", failed)
		}
		m.fail.Store(0)
		pass(t, r, &c, never)
	}
}

func simple(m *memory) Config {
	c := Config{Files: []Source{m}}
	for off := 0; off+PageBytes <= len(m.data); off += PageBytes {
		c.Units = append(c.Units, Unit{{Offset: int64(off), Bytes: PageBytes}})
	}
	c.Bytes = 3 * PageBytes
	return c
}

// TestStop: a pass that waits for a slow disk can be stopped, and the ring can be
// used afterwards.
func TestStop(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 8*PageBytes)
	m.gate = make(chan struct{})
	c := simple(m)
	r := open(t, c)
	var stop atomic.Bool
	if err := r.Begin(&stop); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- r.Acquire(0) }()
	stop.Store(true)
	r.Wake()
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Fatalf("a stopped pass ends with %v", err)
	}
	r.End(false)
	close(m.gate)
	stop.Store(false)
	pass(t, r, &c, never)
}

// TestCloseWhileWaiting: closing ends a pass as soon as reads in flight have
// completed.
func TestCloseWhileWaiting(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 8*PageBytes)
	m.gate = make(chan struct{})
	c := simple(m)
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- r.Acquire(2) }()
	time.AfterFunc(time.Millisecond, func() { close(m.gate) })
	go r.Close()
	if err := <-done; err != nil && !errors.Is(err, ErrClosed) {
		t.Fatalf("a closed ring ends a pass with %v", err)
	}
	r.Close()
	if err := r.Begin(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a pass of a closed ring: %v", err)
	}
}

// An exchanged source is another one while it is read ahead.
type exchanged struct{ at atomic.Pointer[Source] }

func (e *exchanged) become(s Source)                        { e.at.Store(&s) }
func (e *exchanged) ReadAt(b []byte, at int64) (int, error) { return (*e.at.Load()).ReadAt(b, at) }
func (e *exchanged) Same() error                            { return (*e.at.Load()).Same() }
func (e *exchanged) Size() int64                            { return (*e.at.Load()).Size() }
func (e *exchanged) Name() string                           { return (*e.at.Load()).Name() }

// TestChanged: a file that was written to, cut, or flipped a bit in is noticed.
func TestChanged(t *testing.T) {
	t.Parallel()
	m := newMemory(1, 8*PageBytes)
	c := simple(m)
	c.Verify = true
	file := &exchanged{}
	file.become(m)
	read := c
	read.Files = []Source{file}
	r := open(t, read)
	pass(t, r, &c, never)
	m.gone.Store(true)
	if err := r.Begin(nil); !errors.Is(err, fault.ErrChanged) {
		t.Errorf("a changed file: %v", err)
	}
	m.gone.Store(false)
	pass(t, r, &c, never)

	flipped := newMemory(1, 8*PageBytes)
	flipped.data[5*PageBytes+77] ^= 4
	file.become(flipped)
	pass(t, r, &Config{Units: c.Units[:2], Files: c.Files}, never)
	if err := failing(r, len(c.Units)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a flipped bit: %v", err)
	}
	file.become(&cut1{m})
	if err := failing(r, len(c.Units)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that was cut: %v", err)
	}
}

// failing runs passes until one fails.
func failing(r *Ring, units int) error {
	for range 4 {
		if err := r.Begin(nil); err != nil {
			return err
		}
		for u := range units {
			if err := r.Acquire(u); err != nil {
				r.End(false)
				return err
			}
		}
		r.End(true)
	}
	return nil
}

// cut1 ends before its last page.
type cut1 struct{ *memory }

func (c *cut1) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(c.data)-PageBytes) {
		return 0, io.EOF
	}
	return c.memory.ReadAt(p, off)
}

// TestConfig: invalid configurations are rejected.
func TestConfig(t *testing.T) {
	m := newMemory(1, 8*PageBytes)
	good := simple(m)
	for name, spoil := range map[string]func(*Config){
		"no units":       func(c *Config) { c.Units = nil },
		"an empty unit":  func(c *Config) { c.Units = []Unit{{}} },
		"too small":      func(c *Config) { c.Bytes = 2*PageBytes - 1 },
		"another file":   func(c *Config) { c.Units = []Unit{{{File: 1, Bytes: 1}}} },
		"behind the end": func(c *Config) { c.Units = []Unit{{{Offset: 8*PageBytes - 1, Bytes: 2}}} },
		"overflow":       func(c *Config) { c.Units = []Unit{{{Offset: 1<<63 - 1, Bytes: 2}}} },
		"alignment":      func(c *Config) { c.Units = []Unit{{{Bytes: 1, Align: 3}}} },
		"readers":        func(c *Config) { c.Readers = -1 },
		"piece":          func(c *Config) { c.Piece = 100 },
	} {
		c := good
		spoil(&c)
		if r, err := New(c); err == nil {
			r.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestNothingPerPass: a pass does not allocate and starts no goroutine.
func TestNothingPerPass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	m := newMemory(1, 64*PageBytes)
	if err := os.WriteFile(path, m.data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() }) // after the ring's, which ends its reads
	c := simple(m)
	c.Files, c.Verify = []Source{f}, true
	r := open(t, c)
	var stop atomic.Bool
	one := func() {
		if err := r.Begin(&stop); err != nil {
			t.Fatal(err)
		}
		for u := range c.Units {
			if err := r.Acquire(u); err != nil {
				t.Fatal(err)
			}
			if r.Bytes(u, 0)[99] != m.data[u*PageBytes+99] {
				t.Fatal("other bytes")
			}
			r.Release(u)
		}
		r.End(true)
	}
	one()
	gone := await.Goroutines(t)
	if n := await.Allocs(20, one); n != 0 {
		t.Errorf("%g allocations a pass", n)
	}
	gone()
	if s := r.Stats(); s.Read < 20*64*PageBytes || s.Busy <= 0 || s.First <= 0 || s.Wall <= s.First {
		t.Errorf("stats %+v", s)
	}
	if err := os.WriteFile(path, m.data[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(nil); !errors.Is(err, fault.ErrChanged) {
		t.Errorf("a file that was written to: %v", err)
	}
}

// TestHold: pinned bytes equal those of the file, at aligned addresses.
func TestHold(t *testing.T) {
	m := newMemory(4, 300001)
	spans := []Span{{Offset: 3, Bytes: 100000, Align: 4}, {Offset: 299000, Bytes: 1001}, {Offset: 4096, Bytes: 4096, Align: 64}}
	h, err := Pin(t.Context(), nil, nil, []Source{m}, spans)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for i, s := range spans {
		if !bytes.Equal(h.Bytes(i), m.data[s.Offset:][:s.Bytes]) || s.Align > 1 && uintptrOf(&h.Bytes(i)[0])%uintptr(s.Align) != 0 {
			t.Errorf("span %d holds other bytes, or lies at %p", i, &h.Bytes(i)[0])
		}
	}
	m.fail.Store(m.reads.Load() + 1)
	if _, err := Pin(t.Context(), nil, nil, []Source{m}, spans); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failing read: %v", err)
	}
	if _, err := Pin(t.Context(), nil, nil, []Source{m}, []Span{{Bytes: 1 << 40}}); err == nil {
		t.Error("a span beyond the file was held")
	}
}

// TestRate: a file is read to its end and from its start again; a fault is the
// result's.
func TestRate(t *testing.T) {
	m := newMemory(1, Piece+5)
	meter, err := NewMeter(m, 1, Reads{})
	if err != nil {
		t.Fatal(err)
	}
	defer meter.Close()
	for range 2 {
		if r, err := meter.Rate(t.Context(), 5*time.Millisecond); err != nil || r <= 0 {
			t.Errorf("%g bytes a second, %v", r, err)
		}
	}
	m.fail.Store(m.reads.Load() + 1)
	if _, err := meter.Rate(t.Context(), time.Second); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failing read: %v", err)
	}
}

// A ring of three pages goes round a file of eight.
func Example() {
	dir, _ := os.MkdirTemp("", "ring")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weights")
	data := make([]byte, 8*PageBytes)
	for i := range data {
		data[i] = byte(i / PageBytes)
	}
	_ = os.WriteFile(path, data, 0o600)
	f, err := Open(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	var units []Unit
	for i := range 8 {
		units = append(units, Unit{{Offset: int64(i) * PageBytes, Bytes: PageBytes}})
	}
	r, err := New(Config{Files: []Source{f}, Units: units, Bytes: 3 * PageBytes})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for range 2 {
		if err := r.Begin(nil); err != nil {
			fmt.Println(err)
			return
		}
		sum := 0
		for u := range units {
			if err := r.Acquire(u); err != nil {
				fmt.Println(err)
				return
			}
			sum += int(r.Bytes(u, 0)[0])
			r.Release(u)
		}
		r.End(true)
		fmt.Println(sum)
	}
	// Output:
	// 28
	// 28
}

// A crowd is a source that counts how many read at once. Each read waits until as many
// as there should be do so, and then a moment for one too many.
type crowd struct {
	*memory
	now, most, want atomic.Int64
}

func (c *crowd) ReadAt(p []byte, off int64) (int, error) {
	n := c.now.Add(1)
	for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
	}
	defer c.now.Add(-1)
	for enough := false; !enough; time.Sleep(time.Millisecond) {
		enough = c.most.Load() >= c.want.Load()
	}
	return c.memory.ReadAt(p, off)
}

// The number of readers can change between passes, in both directions, and the
// bytes are the same.
func TestSetReaders(t *testing.T) {
	m := &crowd{memory: newMemory(5, 1<<18)}
	units := []Unit{}
	for i := range 8 {
		units = append(units, Unit{{Offset: int64(i) << 15, Bytes: 1 << 15}})
	}
	r := open(t, Config{Files: []Source{m}, Units: units, Bytes: 6 << 15, Readers: 4, Piece: PageBytes})
	if r.Readers() != 4 {
		t.Fatalf("%d readers", r.Readers())
	}
	for _, n := range []int{1, 4, 2, 9, 0, 4} {
		r.SetReaders(n)
		want := int64(max(1, min(n, 4)))
		m.want.Store(0) // reads of the pass before are under way
		for k := range 2 {
			if k > 0 {
				m.want.Store(want)
			}
			if err := r.Begin(nil); err != nil {
				t.Fatal(err)
			}
			for u := range units {
				if err := r.Acquire(u); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(r.Bytes(u, 0), m.data[u<<15:(u+1)<<15]) {
					t.Fatalf("unit %d has other bytes", u)
				}
				r.Release(u)
			}
			r.End(true)
			if got := m.most.Swap(0); k > 0 && got != want {
				t.Errorf("%d reads at once with %d readers", got, n)
			}
		}
	}
}

// TestReadsOf: small units of a ring with few slots leave few reads in flight.
func TestReadsOf(t *testing.T) {
	for _, c := range []struct {
		slots int
		unit  int64
		want  Reads
	}{
		{3, 1 << 20, Reads{2, 1 << 20}}, {3, 5 << 20, Reads{6, 1748992}}, {3, 64 << 20, Reads{Readers, Piece}},
		{2, 100, Reads{1, PageBytes}}, {1, 1 << 20, Reads{}}, {3, 0, Reads{}},
	} {
		if got := ReadsOf(c.slots, c.unit); got != c.want {
			t.Errorf("%d slots, units of %d bytes: %+v, want %+v", c.slots, c.unit, got, c.want)
		}
	}
}
