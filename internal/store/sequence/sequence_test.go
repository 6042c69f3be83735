package sequence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
)

// made returns a random header with its pages.
func made(rng *rand.Rand) (*Header, [][]byte) {
	h := &Header{Key: Key{byte(rng.Uint32()), 2}, Span: rng.IntN(5000), Tokens: make([]int32, 1+rng.IntN(200))}
	for i := range h.Tokens {
		h.Tokens[i] = rng.Int32()
	}
	var pages [][]byte
	for range 1 + rng.IntN(4) {
		x := Run{State: rng.IntN(5), First: rng.IntN(9), Pages: 1 + rng.IntN(5), At: 1 + rng.IntN(len(h.Tokens)), Bytes: 1 + rng.IntN(300)}
		h.Runs = append(h.Runs, x)
		for range x.Pages {
			p := make([]byte, x.Bytes)
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			pages = append(pages, p)
		}
	}
	return h, pages
}

func bytesOf(t testing.TB, h *Header, pages [][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := h.writeTo(&b, pages); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pagesOf reads all pages of a file.
func pagesOf(b []byte) (*Reader, [][]byte, error) {
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), "x")
	if err != nil {
		return nil, nil, err
	}
	var pages [][]byte
	for _, x := range r.Runs {
		for range x.Pages {
			p := make([]byte, x.Bytes)
			if err := r.ReadPage(len(pages), p); err != nil {
				return nil, nil, err
			}
			pages = append(pages, p)
		}
	}
	return r, pages, nil
}

// TestRoundTrip writes and reads random files; every bit that is flipped and every cut is
// an error with an offset inside the file.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		h, pages := made(rng)
		b := bytesOf(t, h, pages)
		if int64(len(b)) != h.Bytes() {
			t.Fatalf("%d bytes, want %d", len(b), h.Bytes())
		}
		number := func(at int64) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
		i, k := rng.IntN(len(h.Tokens)), rng.IntN(len(h.Runs))
		if token, state, size := number(h.TokenOffset(i)), number(h.RunOffset(k)), number(h.RunOffset(k+1)-4); int32(token) != h.Tokens[i] || int(state) != h.Runs[k].State || int(size) != h.Runs[k].Bytes {
			t.Fatalf("token %d is %d, run %d of state %d with pages of %d bytes", i, token, k, state, size)
		}
		r, got, err := pagesOf(b)
		if err != nil {
			t.Fatal(err)
		}
		if r.Key != h.Key || r.Span != h.Span || !slices.Equal(r.Tokens, h.Tokens) || !slices.Equal(r.Runs, h.Runs) || !slices.EqualFunc(got, pages, bytes.Equal) {
			t.Fatalf("read %+v, want %+v", r.Header, h)
		}
		for range 20 {
			bad := slices.Clone(b)
			bad[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			damaged(t, bad)
			damaged(t, b[:rng.IntN(len(b))])
			damaged(t, append(slices.Clone(b), make([]byte, 1+rng.IntN(9))...))
		}
	}
}

func damaged(t *testing.T, b []byte) {
	t.Helper()
	_, _, err := pagesOf(b)
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != ErrDamaged || e.Offset < 0 || e.Offset > int64(len(b)) {
		t.Fatalf("%v, want an error of damage", err)
	}
}

// FuzzSequence reads arbitrary bytes: what is accepted is written again as it was, and
// nothing is allocated beyond the file's size.
func FuzzSequence(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		h, pages := made(rng)
		f.Add(bytesOf(f, h, pages))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, pages, err := pagesOf(b)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); ok && (e.Offset < 0 || e.Offset > int64(len(b))) {
				t.Fatalf("offset %d of %d", e.Offset, len(b))
			}
			return
		}
		if again := bytesOf(t, &r.Header, pages); !bytes.Equal(again, b) {
			t.Fatal("written again it has other bytes")
		}
	})
}

func never() bool { return false }

// item returns one of n bytes or so.
func item(hash uint64, end, n int) Item {
	it := Item{ID: ID{0, end, hash}}
	it.Header = Header{Key: Key{7}, Tokens: make([]int32, end), Runs: []Run{{Pages: 1, At: end, Bytes: n}}}
	it.Tokens[0] = int32(hash)
	it.Pages = [][]byte{bytes.Repeat([]byte{byte(hash)}, n)}
	return it
}

func readItem(f *Folder, it Item) error {
	return f.Read(it.ID, it.Tokens, func(r *Reader) error {
		p := make([]byte, r.Runs[0].Bytes)
		if err := r.ReadPage(0, p); err != nil {
			return err
		}
		if !bytes.Equal(p, it.Pages[0]) {
			return errors.New("other bytes")
		}
		return nil
	})
}

// TestFolder: random puts, reads, openings by two users and damages against a map of what
// was put: what is read is what was written, and the bytes stay within the limit.
func TestFolder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	const limit = 20_000
	var users [2]*Folder
	openOne := func(i int) {
		f, err := OpenFolder(faultfs.NoSync(), dir, limit, Key{7})
		if err != nil {
			t.Fatal(err)
		}
		users[i] = f
	}
	openOne(0)
	openOne(1)
	items := make([]Item, 60)
	for i := range items {
		items[i] = item(uint64(i), 1+i%7, 200+rng.IntN(900))
	}
	hits, damages := 0, 0
	for range 4000 {
		u := rng.IntN(2)
		it := items[rng.IntN(len(items))]
		switch rng.IntN(8) {
		case 0, 1, 2:
			if err := users[u].Put([]Item{it}, never); err != nil {
				t.Fatal(err)
			}
		case 3:
			if rng.IntN(20) == 0 {
				if err := users[u].Close(); err != nil {
					t.Fatal(err)
				}
				openOne(u)
			}
		case 4:
			if rng.IntN(5) > 0 {
				continue
			}
			path := filepath.Join(dir, users[0].name(it.ID))
			if b, err := os.ReadFile(path); err == nil {
				b[rng.IntN(len(b))] ^= 1
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := readItem(users[u], it); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrOther) && !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("a damaged file: %v", err)
				} else if !errors.Is(err, os.ErrNotExist) {
					damages++
				} else if err := os.Remove(path); err != nil { // this user does not know it
					t.Fatal(err)
				}
			}
		default:
			switch err := readItem(users[u], it); {
			case err == nil:
				hits++
			case !errors.Is(err, os.ErrNotExist):
				t.Fatal(err)
			}
		}
	}
	if hits < 100 || damages == 0 {
		t.Errorf("%d reads, %d damages", hits, damages)
	}
	users[1].Close()
	users[0].Close()
	openOne(0) // which lists what both wrote
	if s := users[0].Stats(); s.Bytes > limit {
		t.Errorf("%d bytes, %d are allowed", s.Bytes, limit)
	}
	users[0].Close()
}

// TestLeastRecentlyUsed: what was used last stays, and of one sequence its beginning.
func TestLeastRecentlyUsed(t *testing.T) {
	one := item(1, 1, 1000)
	size := one.Bytes()
	f, err := OpenFolder(faultfs.NoSync(), t.TempDir(), 10*size+200, Key{7})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var chain []Item
	for end := range 5 {
		chain = append(chain, item(uint64(end), end+1, 1000))
	}
	if err := f.Put(chain, never); err != nil {
		t.Fatal(err)
	}
	for i := range 7 { // two more than there is room for
		if err := f.Put([]Item{item(uint64(100+i), 1, 1000)}, never); err != nil {
			t.Fatal(err)
		}
	}
	for i, it := range chain {
		if err, want := readItem(f, it), i < 3; err == nil != want {
			t.Errorf("the file %d of the chain: %v", i, err)
		}
	}
}

// TestFolderFaults: after a fault at any call, and a power cut, all files with final names
// are whole, and the folder takes files again.
func TestFolderFaults(t *testing.T) {
	for _, fault := range []faultfs.Fault{faultfs.Fail, faultfs.Stop, faultfs.Torn, faultfs.Full} {
		for n, fsys := range faultfs.Each(fault) {
			dir := t.TempDir()
			items := []Item{item(1, 1, 300), item(2, 2, 9000), item(3, 3, 10)}
			done := false
			if f, err := OpenFolder(fsys, dir, 1<<20, Key{7}); err == nil {
				done = f.Put(items, never) == nil
				f.Close()
			}
			fsys.PowerCut()
			f, err := OpenFolder(nil, dir, 1<<20, Key{7})
			if err != nil {
				t.Fatal(err)
			}
			for i, it := range items {
				if err := readItem(f, it); err != nil && (done || !errors.Is(err, os.ErrNotExist)) {
					t.Fatalf("fault %d at call %d: file %d: %v", fault, n, i, err)
				}
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if durable.IsTemp(e.Name()) {
					t.Errorf("fault %d at call %d: %s is left", fault, n, e.Name())
				}
			}
			f.Close()
		}
	}
}

// TestKilled: a process that writes files is killed at a random call of the file system; those that it said
// were written are there, all are whole, and nothing half written is left.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("ATENIA_TEST_FOLDER"); dir != "" {
		f, err := OpenFolder(faultfs.New(0, faultfs.Fail).Tell(os.Stdout), dir, 1<<30, Key{7})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i += 3 {
			if err := f.Put([]Item{item(uint64(i), 1, 5000), item(uint64(i+1), 2, 50_000), item(uint64(i+2), 3, 500)}, never); err != nil {
				t.Fatal(err)
			}
			fmt.Println("put")
		}
	}
	rng := rand.New(rand.NewPCG(8, 9))
	whole, inside := 0, 0
	for range 8 {
		dir := t.TempDir()
		c := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		c.Env = append(os.Environ(), "ATENIA_TEST_FOLDER="+dir)
		lines := await.Kill(t, c, await.Nth(20+rng.IntN(200), "call"))
		if lines[len(lines)-1] != "put" {
			inside++
		}
		said := 0
		for _, line := range lines {
			if line == "put" {
				said += 3
			}
		}
		f, err := OpenFolder(nil, dir, 1<<30, Key{7})
		if err != nil {
			t.Fatal(err)
		}
		for i := range said {
			if err := readItem(f, item(uint64(i), 1+i%3, []int{5000, 50_000, 500}[i%3])); err != nil {
				t.Fatalf("file %d of %d that were written: %v", i, said, err)
			}
			whole++
		}
		for i := said; i < said+6; i++ {
			if err := readItem(f, item(uint64(i), 1+i%3, []int{5000, 50_000, 500}[i%3])); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("file %d, which it did not speak of: %v", i, err)
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if durable.IsTemp(e.Name()) {
				t.Errorf("%s is left", e.Name())
			}
		}
		f.Close()
	}
	if whole == 0 || inside == 0 {
		t.Errorf("%d files were written, %d kills met a write", whole, inside)
	}
}
