package await

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"
)

// Bytes returns how many bytes f allocates, what is freed again among them. What
// the rest of the process allocates meanwhile is in it: tests beside it may not be
// parallel ones, and a limit leaves room.
func Bytes(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// Goroutines returns a function that waits until no more goroutines run than now:
// ending ones take a moment. It is not for tests beside parallel ones.
func Goroutines(t testing.TB) (gone func()) {
	most := runtime.NumGoroutine()
	return func() {
		t.Helper()
		Until(t, fmt.Sprintf("the end of all goroutines but %d", most), func() bool { return runtime.NumGoroutine() <= most })
	}
}

// Started returns how many goroutines f starts. Of five rounds the least counts:
// the runtime and other tests may start some of their own.
func Started(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	least := ^uint64(0)
	for range 5 {
		metrics.Read(sample)
		before := sample[0].Value.Uint64()
		f()
		metrics.Read(sample)
		if least = min(least, sample[0].Value.Uint64()-before); least == 0 {
			break
		}
	}
	return least
}
