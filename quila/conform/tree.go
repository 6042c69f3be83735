// BLINK: the tree against a map, its file, and many goroutines.

package conform

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync/atomic"

	"atenia/internal/fault"
	"atenia/quila/internal/index"
)

func blinkSequential(t *report) {
	ops := 1_000_000
	if t.Brief() {
		ops /= 8
	}
	r := rand.New(rand.NewPCG(13, 14))
	tree, model := index.NewTree[uint64](), map[uint64]uint64{}
	for i := range uint64(ops) {
		key := r.Uint64N(uint64(ops)/16) * 0x9E3779B97F4A7C15 // all over the range
		was, ok := model[key]
		switch r.IntN(4) {
		case 0, 1:
			if tree.Put(key, i) == ok {
				t.Fatalf("operation %d: key %d was there: %v", i, key, ok)
			}
			model[key] = i
		case 2:
			if tree.Delete(key) != ok {
				t.Fatalf("operation %d: key %d was there: %v", i, key, ok)
			}
			delete(model, key)
		default:
			if v, found := tree.Get(key); found != ok || v != was {
				t.Fatalf("operation %d: key %d has %d, %v, want %d, %v", i, key, v, found, was, ok)
			}
		}
	}
	n, last := 0, uint64(0)
	for key, v := range tree.All() {
		if want, ok := model[key]; !ok || v != want || n > 0 && key <= last {
			t.Fatalf("key %d has %d, want %d, %v; before it was %d", key, v, want, ok, last)
		}
		n, last = n+1, key
	}
	if n != len(model) || tree.Len() != n {
		t.Errorf("%d keys, Len is %d, want %d", n, tree.Len(), len(model))
	}
	t.Must(tree.Check())
	s := tree.Stats()
	t.Figure("%d keys, height %d, %d splits", n, s.Height, s.Splits)
}

// blinkConcurrent runs many short histories on a leaf that splits meanwhile, and
// one long mix.
func blinkConcurrent(t *report) {
	const rounds, clients, each, keys = 150, 6, 40, 8
	calls := 0
	for round := range rounds {
		tree := index.NewTree[uint64]()
		for i := range uint64(56) { // eight more fill the leaf
			tree.Put(i*100, 1)
		}
		var clock atomic.Int64
		var logs [clients][keys][]operation
		var all fault.Group
		for c := range clients {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(c)))
				for i := range each {
					at := r.IntN(keys)
					key, got := uint64(at)*777+3, operation{kind: 'g'}
					if c < 2 {
						got.kind = "ppd"[r.IntN(3)]
					}
					got.begin = clock.Add(1)
					switch got.kind {
					case 'g':
						got.value, got.ok = tree.Get(key)
					case 'p':
						got.value = uint64(c*each + i + 1)
						got.ok = tree.Put(key, got.value)
					default:
						got.ok = tree.Delete(key)
					}
					got.end = clock.Add(1)
					logs[c][at] = append(logs[c][at], got)
				}
			})
		}
		all.Wait()
		for at := range keys {
			var history []operation
			for c := range clients {
				history = append(history, logs[c][at]...)
			}
			calls += len(history)
			if len(history) <= mostCalls && !linearisable(history) {
				t.Fatalf("round %d, key %d: no order explains %v", round, at, history)
			}
		}
	}
	tree := index.NewTree[uint64]()
	tree.Put(5, 1)
	tree.Update(5, func(v uint64) uint64 { // its leaf is latched now
		if got, ok := tree.Get(5); !ok || got != v {
			t.Errorf("beside a latched writer: %d, %v", got, ok)
		}
		return v + 1
	})
	t.Figure("%d calls are linearisable", calls)
	mixed(t, 100_000)
}

func blinkLong(t *report) { mixed(t, 10_000_000) }

// mixed runs 4 readers and 2 writers. Each writer raises the values of keys of
// its own, and deletes a third of them: what it put last is there at the end,
// and no reader sees a value go down.
func mixed(t *report, ops int) {
	const readers, writers, rising = 4, 2, 1 << 32
	each := ops / (readers + writers)
	keys := uint64(max(each/8, 64))
	tree := index.NewTree[uint64]()
	var final [writers]map[uint64]uint64
	var all fault.Group
	var faults atomic.Int64
	for w := range writers {
		final[w] = map[uint64]uint64{}
		all.Go(func() {
			r := rand.New(rand.NewPCG(15, uint64(w)))
			for i := range each {
				key := r.Uint64N(keys)*writers + uint64(w)
				if r.IntN(3) == 0 {
					if _, ok := final[w][key]; tree.Delete(key) != ok {
						faults.Add(1)
					}
					delete(final[w], key)
					continue
				}
				if _, ok := final[w][key]; tree.Put(key, uint64(i)) == ok {
					faults.Add(1)
				}
				final[w][key] = uint64(i)
			}
		})
	}
	for c := range readers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(16, uint64(c)))
			last := map[uint64]uint64{}
			for range each {
				key := r.Uint64N(keys * writers)
				if v, ok := tree.Get(key); ok {
					if v < last[key] {
						faults.Add(1)
					}
					last[key] = v
				}
			}
		})
	}
	all.Wait()
	n := 0
	for key, v := range tree.All() {
		if want, ok := final[key%writers][key]; !ok || v != want {
			t.Fatalf("key %d has %d, want %d, %v", key, v, want, ok)
		}
		n++
	}
	if want := len(final[0]) + len(final[1]); n != want || tree.Len() != n {
		t.Errorf("%d keys, Len is %d, want %d", n, tree.Len(), want)
	}
	if faults.Load() > 0 {
		t.Errorf("%d calls returned what they could not", faults.Load())
	}
	t.Must(tree.Check())
	s := tree.Stats()
	if s.Latches > 3 {
		t.Errorf("%d latches were held at a time, at most 3", s.Latches)
	}
	t.Figure("%d operations, %d keys, at most %d latches", ops, n, s.Latches)
}

func blinkSerial(t *report) {
	r := rand.New(rand.NewPCG(17, 18))
	tree := index.NewTree[index.TreeEntry]()
	for i := range uint64(10_000) {
		tree.Put(i%3<<32|i, index.TreeEntry{Offset: 256 * i, Usage: r.Uint64(), Hash: r.Uint64()})
	}
	for i := uint64(0); i < 10_000; i += 7 {
		if !tree.Delete(i%3<<32 | i) {
			t.Errorf("key %d is missing", i)
		}
	}
	b := index.Append(nil, tree)
	back, err := index.ReadTree(bytes.NewReader(b), int64(len(b)))
	t.Must(err)
	t.Must(back.Check())
	if back.Len() != tree.Len() || !bytes.Equal(index.Append(nil, back), b) {
		t.Errorf("%d keys after %d, or other bytes", back.Len(), tree.Len())
	}
	for i := range uint64(10_000) {
		key := i%3<<32 | i
		want, there := tree.Get(key)
		if got, ok := back.Get(key); ok != there || got != want {
			t.Fatalf("key %d has %v, %v, want %v, %v", key, got, ok, want, there)
		}
	}
	const node = 16 + 64*32
	for what, at := range map[string]int{"root": 12, "nodes": 16, "level": 20, "count": 22, "right": 24, "high key": 28, "key": 36 + 32 + 4, "next first key": 20 + node + 16, "child": len(b) - 8, "fanout": 8} {
		bad := bytes.Clone(b)
		bad[at] ^= 1
		if _, err := index.ReadTree(bytes.NewReader(bad), int64(len(bad))); !errors.Is(err, index.ErrTreeFormat) {
			t.Errorf("%s spoiled: %v", what, err)
		}
	}
	t.Figure("%d keys in %d bytes", tree.Len(), len(b))
}
