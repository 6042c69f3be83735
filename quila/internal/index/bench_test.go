package index_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"atenia/quila/internal/index"
)

// locked is the tree behind a readers' lock, as it would be shared without
// latches of its own.
type locked struct {
	mu   sync.RWMutex
	tree *index.Tree[index.TreeEntry]
}

func (l *locked) Get(k uint64) (index.TreeEntry, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.tree.Get(k)
}

func (l *locked) Put(k uint64, e index.TreeEntry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tree.Put(k, e)
}

// BenchmarkGet looks up codes of a codebook while a writer replaces some.
func BenchmarkGet(b *testing.B) {
	type tree interface {
		Get(uint64) (index.TreeEntry, bool)
		Put(uint64, index.TreeEntry) bool
	}
	const n = 8192
	for _, c := range []struct {
		name string
		tree tree
	}{{"latches/8192", filled(n, 1)}, {"rwmutex/8192", &locked{tree: filled(n, 1)}}} {
		b.Run(c.name, func(b *testing.B) {
			stop := make(chan struct{})
			var writer sync.WaitGroup
			var writes int
			writer.Go(func() {
				r := rand.New(rand.NewPCG(5, 6))
				for {
					select {
					case <-stop:
						return
					default:
						c.tree.Put(r.Uint64N(n), index.TreeEntry{})
						writes++
					}
				}
			})
			var seed atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				r := rand.New(rand.NewPCG(seed.Add(1), 7))
				for pb.Next() {
					if _, ok := c.tree.Get(r.Uint64N(n)); !ok {
						b.Error("a key is missing")
					}
				}
			})
			close(stop)
			writer.Wait()
			b.ReportMetric(float64(writes)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

// BenchmarkPut inserts random keys.
func BenchmarkPut(b *testing.B) {
	tree, r := index.NewTree[index.TreeEntry](), rand.New(rand.NewPCG(8, 9))
	for b.Loop() {
		tree.Put(r.Uint64(), index.TreeEntry{})
	}
}
