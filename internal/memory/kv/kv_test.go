package kv

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"atenia/internal/fault"
	"atenia/internal/golden/await"
)

// Pages in tests hold one 8-byte stamp per position.
const stampBytes = 8

func newCache(t testing.TB, c Config) *Cache {
	t.Helper()
	if c.PageBytes == 0 {
		c.PageBytes = stampBytes * max(c.PageTokens, 1)
		if c.PageTokens == 0 {
			c.PageBytes = stampBytes * defaultPageTokens
		}
	}
	k, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func stampAt(s *Seq, pos int) []byte {
	pt := s.c.cfg.PageTokens
	return s.Pages()[pos/pt][pos%pt*stampBytes:][:stampBytes]
}

func write(s *Seq, pos int, v uint64) { binary.LittleEndian.PutUint64(stampAt(s, pos), v) }
func read(s *Seq, pos int) uint64     { return binary.LittleEndian.Uint64(stampAt(s, pos)) }

// extend opens n positions and stamps them with v.
func extend(t testing.TB, s *Seq, n int, v uint64) {
	t.Helper()
	from := s.Len()
	if err := s.Extend(n); err != nil {
		t.Fatal(err)
	}
	for pos := from; pos < s.Len(); pos++ {
		write(s, pos, v)
	}
}

func expect(t testing.TB, s *Seq, from, to int, v uint64) {
	t.Helper()
	for pos := from; pos < to; pos++ {
		if got := read(s, pos); got != v {
			t.Fatalf("position %d holds %d, want %d", pos, got, v)
		}
	}
}

func TestExtendAndTruncate(t *testing.T) {
	c := newCache(t, Config{PageTokens: 4, MaxPages: 10})
	s := c.NewSeq()
	for _, step := range []struct{ extend, truncate, len, pages int }{
		{extend: 0, len: 0, pages: 0},
		{extend: 1, len: 1, pages: 1},
		{extend: 3, len: 4, pages: 1},
		{extend: 1, len: 5, pages: 2},
		{extend: 11, len: 16, pages: 4},
		{truncate: 16, len: 16, pages: 4},
		{truncate: 13, len: 13, pages: 4},
		{truncate: 12, len: 12, pages: 3},
		{truncate: 1, len: 1, pages: 1},
		{extend: 39, len: 40, pages: 10},
		{truncate: 0, len: 0, pages: 0},
	} {
		var err error
		if step.extend > 0 {
			err = s.Extend(step.extend)
		} else {
			err = s.Truncate(step.truncate)
		}
		if err != nil || s.Len() != step.len || len(s.Pages()) != step.pages || c.Stats().Used != step.pages {
			t.Fatalf("%+v: len %d, pages %d, used %d, error %v", step, s.Len(), len(s.Pages()), c.Stats().Used, err)
		}
	}
}

func TestPagesAreAlignedAndDisjoint(t *testing.T) {
	c := newCache(t, Config{PageTokens: 4, PageBytes: 100, MaxBytes: 128 * 1000})
	s := c.NewSeq()
	if err := s.Extend(4 * 1000); err != nil {
		t.Fatal(err)
	}
	for i, p := range s.Pages() {
		if len(p) != 100 || cap(p) != 100 {
			t.Fatalf("page %d: len %d cap %d, want 100", i, len(p), cap(p))
		}
		if a := uintptr(unsafe.Pointer(&p[0])); a%pageAlign != 0 {
			t.Fatalf("page %d begins at %#x", i, a)
		}
		for k, b := range p {
			if b != 0 {
				t.Fatalf("page %d byte %d is %d before anybody wrote", i, k, b)
			}
			p[k] = 1
		}
	}
	if st := c.Stats(); st.PageBytes != 128 || st.UsedBytes != 128000 || st.HeldBytes != 128000 || st.Free != 0 {
		t.Fatalf("%+v", st)
	}
	if err := s.Extend(1); !asMemory(err, 128, 0) {
		t.Fatalf("got %v", err)
	}
}

func asMemory(err error, need, have int64) bool {
	e, ok := errors.AsType[*MemoryError](err)
	return ok && e.Need == need && e.Have == have
}

func TestForkDiverges(t *testing.T) {
	for _, n := range []int{1, 4, 6, 8} { // partial and full last pages
		c := newCache(t, Config{PageTokens: 4, MaxPages: 100})
		a := c.NewSeq()
		extend(t, a, n, 1)
		used := c.Stats().Used
		b := a.Fork()
		if st := c.Stats(); st.Used != used || st.Shared != used || st.Seqs != 2 {
			t.Fatalf("after fork: %+v", st)
		}
		d := b.Fork()
		extend(t, a, 3, 2)
		extend(t, b, 3, 3)
		expect(t, a, 0, n, 1)
		expect(t, a, n, n+3, 2)
		expect(t, b, 0, n, 1)
		expect(t, b, n, n+3, 3)
		expect(t, d, 0, n, 1)
		if d.Len() != n {
			t.Fatalf("third branch has %d positions, want %d", d.Len(), n)
		}
		// The last owner of the partial page writes in place.
		before := c.Stats().Used
		extend(t, d, 1, 4)
		if more := c.Stats().Used - before; n%4 != 0 && more != 0 || more > 1 {
			t.Fatalf("last owner took %d pages", more)
		}
		a.Release()
		b.Release()
		expect(t, d, 0, n, 1)
		d.Release()
		if st := c.Stats(); st.Used != 0 || st.Shared != 0 || st.Seqs != 0 {
			t.Fatalf("after release: %+v", st)
		}
	}
}

// A branch that went back into a shared page copies it before it writes.
func TestForkTruncateDiverges(t *testing.T) {
	c := newCache(t, Config{PageTokens: 4, MaxPages: 100})
	a := c.NewSeq()
	extend(t, a, 8, 1)
	b := a.Fork()
	if err := b.Truncate(6); err != nil {
		t.Fatal(err)
	}
	extend(t, b, 2, 2)
	expect(t, a, 0, 8, 1)
	expect(t, b, 0, 6, 1)
	expect(t, b, 6, 8, 2)
}

func TestWindow(t *testing.T) {
	const window, page = 6, 4
	c := newCache(t, Config{PageTokens: page, Window: window, MaxPages: 5})
	s := c.NewSeq()
	for pos := range 100 {
		s.SlideTo(pos)
		extend(t, s, 1, uint64(pos))
		for p := max(0, pos-window+1); p <= pos; p++ {
			if got := read(s, p); got != uint64(p) {
				t.Fatalf("at %d position %d holds %d", pos, p, got)
			}
		}
		for i, b := range s.Pages() {
			if gone := (i+1)*page <= pos-window+1; (b == nil) != gone {
				t.Fatalf("at %d page %d: freed %v, want %v", pos, i, b == nil, gone)
			}
		}
		if used := c.Stats().Used; used > 3 {
			t.Fatalf("at %d: %d pages for a window of %d", pos, used, window)
		}
	}
	// At 99 the window began at 94, so pages before 92 are gone.
	if s.Oldest() != 92 {
		t.Fatalf("oldest %d, want 92", s.Oldest())
	}
	// A query at n sees n−5…: 97 is the first whose window is all there.
	for n, want := range map[int]bool{-1: false, 0: true, 1: false, 92: false, 96: false, 97: true, 100: true, 101: false} {
		if s.Resumable(n) != want {
			t.Errorf("Resumable(%d) = %v", n, !want)
		}
	}
	err := s.Truncate(96)
	if e, ok := errors.AsType[*rangeError](err); !ok || e.Got != 96 || e.Min != 97 || e.Max != 100 {
		t.Fatalf("got %v", err)
	}
	f := s.Fork()
	if err := s.Truncate(97); err != nil {
		t.Fatal(err)
	}
	extend(t, s, 3, 7)
	if read(f, 98) != 98 || read(s, 98) != 7 {
		t.Fatalf("fork reads %d, truncated branch %d", read(f, 98), read(s, 98))
	}
	s.SlideTo(math.MaxInt) // counts as Len: positions that the next query needs stay
	if !s.Resumable(s.Len()) || s.Oldest() != 92 {
		t.Fatalf("oldest %d", s.Oldest())
	}
	s.SlideTo(math.MinInt)
	if err := s.Truncate(0); err != nil || s.Oldest() != 0 || len(s.Pages()) != 0 {
		t.Fatalf("reset: %v", err)
	}
	extend(t, s, 3, 9)
	expect(t, s, 0, 3, 9)
	s.Release()
	f.Release()
	if used := c.Stats().Used; used != 0 {
		t.Fatalf("%d pages left", used)
	}
}

// A full budget rejects without side effects; evicting a sequence makes room.
func TestEvictUnderPressure(t *testing.T) {
	c := newCache(t, Config{PageTokens: 4, MaxPages: 4})
	a, b := c.NewSeq(), c.NewSeq()
	extend(t, a, 8, 1)
	extend(t, b, 6, 2)
	f := b.Fork()
	page := c.Stats().PageBytes
	// 3 more positions: two pages, one for the copy of the shared last page.
	for range 3 {
		if err := f.Extend(3); !asMemory(err, 2*page, 0) {
			t.Fatalf("got %v", err)
		}
		if f.Len() != 6 || len(f.Pages()) != 2 || c.Stats().Used != 4 || c.Stats().Shared != 2 {
			t.Fatalf("refused Extend changed something: %+v", c.Stats())
		}
	}
	expect(t, b, 0, 6, 2)
	a.Release()
	extend(t, f, 3, 3)
	expect(t, b, 0, 6, 2)
	expect(t, f, 6, 9, 3)
	if err := f.Extend(math.MaxInt - f.Len()); err == nil {
		t.Fatal("Extend to the largest int succeeded")
	}
	if err := f.Extend(math.MaxInt); err == nil {
		t.Fatal("Extend beyond the largest int succeeded")
	}
	if _, ok := errors.AsType[*rangeError](f.Extend(-1)); !ok {
		t.Fatal("negative Extend is no RangeError")
	}
}

func TestZero(t *testing.T) {
	c := newCache(t, Config{PageTokens: 4, MaxPages: 2, Zero: true})
	for range 5 {
		s := c.NewSeq()
		if err := s.Extend(8); err != nil {
			t.Fatal(err)
		}
		expect(t, s, 0, 8, 0)
		for pos := range 8 {
			write(s, pos, 5)
		}
		s.Release()
	}
}

func TestReleaseAndClose(t *testing.T) {
	c := newCache(t, Config{})
	if got := c.Config().PageTokens; got != defaultPageTokens {
		t.Fatalf("default page of %d tokens", got)
	}
	s := c.NewSeq()
	extend(t, s, 40, 1)
	f := s.Fork()
	s.Release()
	s.Release()
	expect(t, f, 0, 40, 1)
	if st := c.Stats(); st.Used != 3 || st.Shared != 0 || st.Seqs != 1 {
		t.Fatalf("%+v", st)
	}
	if s.Len() != 0 || len(s.Pages()) != 0 || s.Oldest() != 0 {
		t.Fatal("a released sequence holds something")
	}
	s.SlideTo(10)
	if e1, e2 := s.Extend(1), s.Truncate(0); !errors.Is(e1, errReleased) || !errors.Is(e2, errReleased) {
		t.Fatalf("got %v, %v", e1, e2)
	}
	g := s.Fork()
	if err := g.Extend(1); !errors.Is(err, errReleased) {
		t.Fatalf("fork of a released sequence: %v", err)
	}
	g.Release()
	f.Release()
	c.Close()
	c.Close()
	if err := c.NewSeq().Extend(1); !errors.Is(err, errClosed) {
		t.Fatalf("after Close: %v", err)
	}
}

func TestConfigFaults(t *testing.T) {
	_, err := New(Config{PageTokens: -1, Window: -2, MaxPages: -3, MaxBytes: -4})
	for _, field := range []string{"PageTokens", "PageBytes", "Window", "MaxPages", "MaxBytes"} {
		if err == nil || !strings.Contains(err.Error(), field+": want") {
			t.Errorf("%s is not named in: %v", field, err)
		}
	}
	for _, c := range []Config{{PageBytes: 1 << 31}, {PageBytes: 65, MaxBytes: 127}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		} else if _, ok := errors.AsType[*ConfigError](err); !ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	c := newCache(t, Config{PageTokens: 4, Window: 16})
	s := c.NewSeq()
	s.Reserve(4000)
	step := func() {
		s.SlideTo(s.Len())
		if err := s.Extend(1); err != nil {
			t.Fatal(err)
		}
		_ = s.Pages()
	}
	step() // the slab
	if n := await.Allocs(3000, step); n != 0 {
		t.Errorf("a decode step allocates %v times", n)
	}
}

// 10,000 random arrivals, aborts and forks free all pages.
func TestArrivalsAndAborts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, window := range []int{0, 10} {
		c := newCache(t, Config{PageTokens: 4, Window: window, MaxPages: 200})
		var live []*Seq
		for range 10_000 {
			switch k := r.IntN(len(live) + 1); {
			case k == len(live) || r.IntN(4) == 0:
				live = append(live, c.NewSeq())
			case r.IntN(3) == 0:
				live = append(live, live[k].Fork())
			case r.IntN(2) == 0:
				live[k].SlideTo(live[k].Len())
				if err := live[k].Extend(1 + r.IntN(20)); err != nil {
					live[k].Release() // abort
					live[k] = live[len(live)-1]
					live = live[:len(live)-1]
				}
			default:
				live[k].Release()
				live[k] = live[len(live)-1]
				live = live[:len(live)-1]
			}
		}
		if c.Stats().Used == 0 {
			t.Fatal("nothing was live at the end: the test tests nothing")
		}
		for _, s := range live {
			s.Release()
			s.Release()
		}
		if st := c.Stats(); st.Used != 0 || st.Shared != 0 || st.Seqs != 0 || st.Free != 200 {
			t.Fatalf("window %d: %+v", window, st)
		}
		c.Close()
	}
}

func TestPoison(t *testing.T) {
	if !fault.Invariants {
		t.Skip("without -tags invariants freed pages keep their bytes")
	}
	c := newCache(t, Config{PageTokens: 4})
	s := c.NewSeq()
	extend(t, s, 1, 1)
	stale := s.Pages()[0]
	s.Release()
	if stale[0] != 0xFF {
		t.Fatal("freed page can be read")
	}
	defer func() {
		if _, ok := recover().(*fault.Violation); !ok {
			t.Fatal("double free goes unnoticed")
		}
	}()
	c.drop(1)
}

func BenchmarkExtend(b *testing.B) {
	c := newCache(b, Config{PageBytes: 1 << 14})
	s := c.NewSeq()
	s.Reserve(8192)
	for b.Loop() {
		if s.Len() == 8192 {
			_ = s.Truncate(0)
		}
		_ = s.Extend(1)
	}
}

func BenchmarkFork(b *testing.B) {
	c := newCache(b, Config{PageBytes: 1 << 10})
	s := c.NewSeq()
	_ = s.Extend(4096)
	for b.Loop() {
		s.Fork().Release()
	}
}

// A sequence whose first pages were left out is as if it had slid past them.
func TestSkip(t *testing.T) {
	c, err := New(Config{PageTokens: 4, PageBytes: 64, Window: 6})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.NewSeq()
	defer s.Release()
	for _, n := range []int{-4, 3} {
		if _, ok := errors.AsType[*rangeError](s.Skip(n)); !ok {
			t.Errorf("skipped %d", n)
		}
	}
	if err := errors.Join(s.Skip(8), s.Skip(4), s.Extend(7)); err != nil {
		t.Fatal(err)
	}
	if s.Len() != 19 || s.Oldest() != 12 || c.Stats().Used != 2 || s.Pages()[2] != nil || s.Pages()[3] == nil {
		t.Errorf("%d positions from %d in %d pages", s.Len(), s.Oldest(), c.Stats().Used)
	}
	for n, want := range map[int]bool{0: true, 12: false, 16: false, 17: true, 19: true} {
		if s.Resumable(n) != want {
			t.Errorf("resumable at %d: %t", n, !want)
		}
	}
	if _, ok := errors.AsType[*rangeError](s.Skip(4)); !ok {
		t.Error("skipped behind a page")
	}
}
