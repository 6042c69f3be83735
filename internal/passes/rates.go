package passes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/arena"
	"atenia/internal/cpu"
	"atenia/internal/kernel"
	"atenia/internal/placement"
	"atenia/tier/ring"
)

// productShare is what products with one row reach of the rate at which memory
// is merely read: docs/performance.md has 0.8 to 1.0.
const productShare = 0.88

// rateMemory is what files are read into.
const rateMemory = 64 << 20

// MeasureRates reads a file past the system's cache for a second in all, alone
// and beside threads that read memory.
func MeasureRates(ctx context.Context, path string, threads int) (r placement.Rates, err error) {
	const window = 500 * time.Millisecond
	if threads == 0 {
		threads = cpu.Threads()
	}
	f, err := ring.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	load, err := newLoad(threads)
	if err != nil {
		return r, err
	}
	defer load.close()
	if r.SSD, err = ring.Rate(ctx, f, window, rateMemory); err != nil {
		return r, err
	}
	load.start()
	time.Sleep(window / 2)
	r.RAM = productShare * load.stop()
	load.start()
	r.SSDBusy, err = ring.Rate(ctx, f, window, rateMemory)
	r.RAMBusy = productShare * load.stop()
	return r, err
}

// StorageRate reads a file for a moment, into no more than so much memory.
func StorageRate(ctx context.Context, path string, memory int64) (float64, error) {
	f, err := ring.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return ring.Rate(ctx, f, 150*time.Millisecond, int(min(memory, rateMemory)))
}

// A load is threads that read memory. Every few megabytes they pause for a
// moment, as threads that compute do between two products: in real-time classes
// nothing else would get a turn.
type load struct {
	blocks []arena.Block
	done   atomic.Bool
	read   atomic.Int64
	since  time.Time
	wg     sync.WaitGroup
}

func newLoad(threads int) (*load, error) {
	const size = 160 << 20 // together far more than caches hold
	l := &load{}
	for range threads {
		b, err := arena.NewHuge(size)
		if err != nil {
			l.close()
			return nil, err
		}
		for i := 0; i < size; i += 4096 {
			b.Bytes[i] = 1
		}
		l.blocks = append(l.blocks, b)
	}
	return l, nil
}

func (l *load) start() {
	l.done.Store(false)
	l.read.Store(0)
	l.since = time.Now()
	for i := range l.blocks {
		all := l.blocks[i].Bytes
		l.wg.Go(func() {
			for !l.done.Load() {
				for b := all; len(b) > 0 && !l.done.Load(); b = b[min(len(b), 4<<20):] {
					n := min(len(b), 4<<20)
					kernel.Read(b[:n])
					l.read.Add(int64(n))
					time.Sleep(10 * time.Microsecond)
				}
			}
		})
	}
}

// stop returns the bytes that were read a second.
func (l *load) stop() float64 {
	l.done.Store(true)
	l.wg.Wait()
	return float64(l.read.Load()) / time.Since(l.since).Seconds()
}

func (l *load) close() {
	for i := range l.blocks {
		l.blocks[i].Release()
	}
}

// Drop takes a file out of the system's cache, where it has one and can be
// asked to. Pages that some process has mapped stay.
func Drop(path string) error {
	f, err := ring.Open(path) // which drops what is cached
	if err != nil {
		return err
	}
	return f.Close()
}
