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
// of d, from its start again if that is too short. It reads into so much memory,
// rounded to what the readers need at least; little of it would stay in a cache,
// which is faster than the rings of large models.
func Rate(ctx context.Context, f Source, d time.Duration, memory int) (float64, error) {
	const least = usualReaders * usualPiece
	memory = max(1, memory/least) * least
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
			// At least once: on a busy machine the time may be over before it began.
			for first := true; ctx.Err() == nil && (first || time.Since(start) < d); first = false {
				off := at.Add(usualPiece) - usualPiece
				buf := block.Bytes[off%int64(memory):][:usualPiece]
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
