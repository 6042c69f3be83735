package index_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"atenia/quila/internal/index"
)

// filled returns a tree of n keys in random order.
func filled(n int, stride uint64) *index.Tree[index.TreeEntry] {
	t := index.NewTree[index.TreeEntry]()
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		k := uint64(i) * stride
		t.Put(k, index.TreeEntry{Offset: k * 3, Usage: k % 7, Hash: ^k})
	}
	return t
}

// TestModel compares random operations with a map, and iteration with its sorted
// keys. It would catch a split that loses the middle key.
func TestModel(t *testing.T) {
	ops := 200_000
	if testing.Short() {
		ops = 20_000
	}
	r := rand.New(rand.NewPCG(3, 4))
	tree, model := index.NewTree[uint64](), map[uint64]uint64{}
	for i := range ops {
		key := r.Uint64N(uint64(ops / 8))
		if i%5 == 0 {
			key = ^key // the largest keys too
		}
		was, ok := model[key]
		switch r.IntN(5) {
		case 0, 1:
			if added := tree.Put(key, uint64(i)); added == ok {
				t.Fatalf("op %d: Put(%d) added %v, present %v", i, key, added, ok)
			}
			model[key] = uint64(i)
		case 2:
			if deleted := tree.Delete(key); deleted != ok {
				t.Fatalf("op %d: Delete(%d) is %v, want %v", i, key, deleted, ok)
			}
			delete(model, key)
		case 3:
			if found := tree.Update(key, func(v uint64) uint64 { return v + 1 }); found != ok {
				t.Fatalf("op %d: Update(%d) is %v, want %v", i, key, found, ok)
			}
			if ok {
				model[key] = was + 1
			}
		default:
			if v, found := tree.Get(key); found != ok || v != was {
				t.Fatalf("op %d: Get(%d) is %d, %v, want %d, %v", i, key, v, found, was, ok)
			}
		}
	}
	if tree.Len() != len(model) {
		t.Errorf("%d keys, want %d", tree.Len(), len(model))
	}
	n, last := 0, uint64(0)
	for k, v := range tree.All() {
		if n > 0 && k <= last {
			t.Fatalf("key %d after %d", k, last)
		}
		if want, ok := model[k]; !ok || want != v {
			t.Fatalf("key %d has %d, want %d, %v", k, v, want, ok)
		}
		n, last = n+1, k
	}
	if n != len(model) {
		t.Errorf("iteration gave %d keys, want %d", n, len(model))
	}
	if err := tree.Check(); err != nil {
		t.Error(err)
	}
	if s := tree.Stats(); s.Latches > 3 || s.Splits == 0 {
		t.Errorf("stats %+v: at most three latches", s)
	}
}

func TestFrom(t *testing.T) {
	tree := filled(1000, 10)
	for _, from := range []uint64{0, 1, 10, 4995, 9990, 9991} {
		want := (from + 9) / 10 * 10
		for k := range tree.From(from) {
			if k != want {
				t.Fatalf("from %d: key %d, want %d", from, k, want)
			}
			want += 10
		}
		if want != 10_000 && from <= 9990 {
			t.Errorf("from %d ended at %d", from, want)
		}
	}
}

// TestConcurrent: keys that writers of their own put are all there at the end,
// and readers see each key from when it was put on, with ascending values.
func TestConcurrent(t *testing.T) {
	const writers, keys = 4, 20_000
	tree := index.NewTree[uint64]()
	var all, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		all.Go(func() {
			for i := range uint64(keys) {
				k := i*writers + uint64(w)
				tree.Put(k, 1)
				tree.Update(k, func(v uint64) uint64 { return v + 1 })
				if v, ok := tree.Get(k); !ok || v != 2 {
					t.Errorf("key %d has %d, %v", k, v, ok)
					return
				}
				if i%3 == 0 {
					tree.Delete(k)
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				last, first := uint64(0), true
				for k := range tree.All() {
					if !first && k <= last {
						t.Errorf("key %d after %d", k, last)
						return
					}
					last, first = k, false
				}
			}
		})
	}
	all.Wait()
	close(done)
	readers.Wait()
	for k := range uint64(writers * keys) {
		if _, ok := tree.Get(k); ok != (k/writers%3 != 0) {
			t.Fatalf("key %d: %v", k, ok)
		}
	}
	if err := tree.Check(); err != nil {
		t.Error(err)
	}
	if s := tree.Stats(); s.Latches > 3 {
		t.Errorf("an operation held %d latches", s.Latches)
	}
}

// TestReadersDoNotWait reads the key whose leaf a writer has latched.
func TestReadersDoNotWait(t *testing.T) {
	tree := filled(1000, 1)
	tree.Update(500, func(e index.TreeEntry) index.TreeEntry {
		if got, ok := tree.Get(500); !ok || got != e {
			t.Errorf("%v, %v while %v is being replaced", got, ok, e)
		}
		e.Usage++
		return e
	})
}

// TestFile: written, read and written again the bytes are the same, and the tree
// that was read takes new keys.
func TestFile(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 128, 4096, 4097, 70_000} {
		tree := filled(n, 3)
		b := index.Append(nil, tree)
		back, err := index.ReadTree(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%d keys: %v", n, err)
		}
		if again := index.Append(nil, back); !bytes.Equal(b, again) {
			t.Fatalf("%d keys: other bytes after reading", n)
		}
		for k, v := range tree.All() {
			if got, ok := back.Get(k); !ok || got != v {
				t.Fatalf("%d keys: key %d has %v, %v, want %v", n, k, got, ok, v)
			}
		}
		for i := range uint64(300) {
			back.Put(3*i+1, index.TreeEntry{})
		}
		if err := back.Check(); err != nil {
			t.Error(err)
		}
		if back.Len() != n+300 {
			t.Errorf("%d keys after 300 more, want %d", back.Len(), n+300)
		}
		for i := range uint64(300) {
			if _, ok := back.Get(3*i + 1); !ok {
				t.Fatalf("%d keys: new key %d is not there", n, 3*i+1)
			}
		}
	}
}

// TestFileRefuses: no byte of the structure can change, and none can be missing
// or more.
func TestFileRefuses(t *testing.T) {
	tree := filled(130, 5)
	good := index.Append(nil, tree)
	refused := func(what string, b []byte) {
		t.Helper()
		if _, err := index.ReadTree(bytes.NewReader(b), int64(len(b))); !errors.Is(err, index.ErrTreeFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := 0; at < len(good); at++ {
		b := bytes.Clone(good)
		b[at] ^= 0x80
		back, err := index.ReadTree(bytes.NewReader(b), int64(len(b)))
		if err == nil && !bytes.Equal(index.Append(nil, back), b) {
			t.Errorf("byte %d changed: read, but written otherwise", at)
		}
		inValue := at >= 36 && at < len(good)-64 && err == nil
		if err == nil && !inValue || err != nil && !errors.Is(err, index.ErrTreeFormat) {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
	refused("one byte more", append(bytes.Clone(good), 0))
	for _, n := range []int{0, 3, 19, 20, 35, len(good) - 1} {
		refused("cut", good[:n])
	}
	b := bytes.Clone(good)
	binary.LittleEndian.PutUint32(b[16:], 1<<31)
	refused("many nodes", b)
}

// TestReference compares the bytes with those of the reference, whose SHA-256 is
// here: rows of 64 numbers from i on, modality 2.
func TestReference(t *testing.T) {
	for n, want := range map[int]string{
		1:    "e491ded726ebe0ecb0f0cca9b80be8d2f7d0af57aa5336bb2f876211157f4705",
		300:  "184294317582210984a5f0bb58491608fdfb3dd5fbc4b610f0205363114276bd",
		5000: "ce2544047b070f1a19fffbbe24569505e755120220559df1380c6cea0c9ae729",
	} {
		tree := index.NewTree[index.TreeEntry]()
		for i := range n {
			row := make([]float32, 64)
			for j := range row {
				row[j] = float32(i + j)
			}
			b, err := binary.Append(nil, binary.LittleEndian, row)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(b)
			tree.Put(2<<32|uint64(i), index.TreeEntry{Offset: uint64(i * len(b)), Hash: binary.LittleEndian.Uint64(sum[:])})
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(index.Append(nil, tree))); got != want {
			t.Errorf("%d rows: %s, want %s", n, got, want)
		}
	}
}

func FuzzReadTree(f *testing.F) {
	for _, n := range []int{0, 1, 65, 200} {
		f.Add(index.Append(nil, filled(n, 2)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := index.ReadTree(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, index.ErrTreeFormat) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.Equal(index.Append(nil, tree), b) {
			t.Fatal("read and written otherwise")
		}
	})
}
