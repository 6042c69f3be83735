package await

import (
	"runtime/debug"
	"testing"
)

// Allocs returns how often f allocates, on average over runs, as
// [testing.AllocsPerRun] does. That counts what the whole process allocates, so
// there is no garbage collection meanwhile, after which pools are filled anew,
// and of three rounds the least counts: a goroutine that another test left
// behind may allocate in one of them. What f itself allocates is in all.
func Allocs(runs int, f func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := testing.AllocsPerRun(runs, f)
	for range 2 {
		if least == 0 {
			break
		}
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
