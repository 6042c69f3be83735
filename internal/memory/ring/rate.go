package ring

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/memory/arena"
	"atenia/internal/memory/ledger"
)

// Rate measures the rate, in bytes per second, at which a ring reads a file, for
// a duration d, starting over at the end of a short file. memory is rounded up
// to the minimum for the readers. If it is small, the buffers may stay in the
// processor's cache and the rate is higher than that of a large model's ring.
func Rate(ctx context.Context, f Source, d time.Duration, memory int) (float64, error) {
	const least = Readers * Piece
	memory = max(1, memory/least) * least
	block, err := arena.NewHuge(ledger.Process, ledger.Samples, memory)
	if err != nil {
		return 0, err
	}
	defer block.Release()
	touch(block.Bytes)
	var at, read atomic.Int64
	var once sync.Once
	var wg sync.WaitGroup
	start := time.Now()
	for range Readers {
		wg.Go(func() {
			// At least once: on a busy machine the time may be over before the first
			// read.
			for first := true; ctx.Err() == nil && (first || time.Since(start) < d); first = false {
				off := at.Add(Piece) - Piece
				buf := block.Bytes[off%int64(memory):][:Piece]
				if off >= f.Size() {
					at.CompareAndSwap(off+Piece, 0)
					continue
				}
				n, e := f.ReadAt(buf, off)
				read.Add(int64(n))
				if e != nil && !errors.Is(e, io.EOF) {
					once.Do(func() { err = e })
					return
				}
			}
		})
	}
	wg.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return float64(read.Load()) / time.Since(start).Seconds(), err
}
