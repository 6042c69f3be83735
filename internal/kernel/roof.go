package kernel

import (
	"runtime/debug"
	"sync"
	"time"

	"atenia/internal/cpu"
)

// roofBytes returns how much each thread reads to measure memory bandwidth:
// four times its share of the last-level cache, within 64 and 256 MiB.
func roofBytes(threads int) int {
	info := cpu.Detect()
	return min(max(4*info.L3/threads, 64<<20), 256<<20)
}

// MeasureBandwidth returns how many bytes a second the given number of
// threads read from memory, each its own 64 to 256 MiB, the best of four
// passes, in about a quarter of a second. The memory goes back to the system.
func MeasureBandwidth(threads int) float64 {
	threads = max(1, threads)
	size := roofBytes(threads)
	bufs := make([][]byte, threads)
	together(threads, func(i int) {
		bufs[i] = make([]byte, size)
		for k := 0; k < size; k += 4096 {
			bufs[i][k] = 1 // a page of its own, not the shared page of zeros
		}
	})
	defer debug.FreeOSMemory()
	best := 0.0
	for range 4 {
		start := time.Now()
		together(threads, func(i int) {
			for b := bufs[i]; len(b) > 0; b = b[min(len(b), 1<<20):] {
				readAll(b[:min(len(b), 1<<20)]) // short calls: assembly cannot be interrupted
			}
		})
		best = max(best, float64(threads*size)/time.Since(start).Seconds())
	}
	clear(bufs)
	return best
}

// MeasureFMA returns how many float32 operations a second (two for a
// multiply-add) the given number of threads do from registers.
func MeasureFMA(threads int) float64 {
	threads = max(1, threads)
	const steps = 1 << 16
	best := 0.0
	for range 8 {
		var flops float64
		start := time.Now()
		together(threads, func(i int) {
			n := fmaLoop(steps)
			if i == 0 {
				flops = n
			}
		})
		best = max(best, float64(threads)*flops/time.Since(start).Seconds())
	}
	return best
}

func together(threads int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// readAllGeneric reads every cache line.
func readAllGeneric(b []byte) (sum byte) {
	for i := 0; i < len(b); i += 64 {
		sum += b[i]
	}
	return sum
}

// fmaLoopGeneric does 8 chains of multiply-adds and returns how many
// operations that were.
func fmaLoopGeneric(steps int) float64 {
	var a [8]float32
	x := float32(0.5)
	for range steps {
		for i := range a {
			a[i] = a[i]*x + x
		}
	}
	if a[0] > 2 {
		return 0
	}
	return float64(16 * steps)
}
