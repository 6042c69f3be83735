package ring

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/arena"
)

// Rate measures how fast a ring would read a file: bytes a second, over a time
// of d, from its start again if that is too short.
func Rate(ctx context.Context, f Source, d time.Duration) (float64, error) {
	const memory = 64 << 20 // a small buffer would stay in a cache, which is faster
	block, err := arena.NewHuge(memory)
	if err != nil {
		return 0, err
	}
	defer block.Release()
	touch(block.Bytes)
	var at, read atomic.Int64
	var once sync.Once
	var wg sync.WaitGroup
	start := time.Now()
	for range usualReaders {
		wg.Go(func() {
			for time.Since(start) < d && ctx.Err() == nil {
				off := at.Add(usualPiece) - usualPiece
				buf := block.Bytes[off%memory:][:usualPiece]
				if off >= f.Size() {
					at.CompareAndSwap(off+usualPiece, 0)
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
