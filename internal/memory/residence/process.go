package residence

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"atenia/internal/machine/cpu"
)

// Resident returns the memory that the process has, without garbage.
func Resident() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	if n := cpu.Resident(); n > 0 {
		return n
	}
	return heap()
}

// heap returns what Go has of the system's memory.
func heap() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// LimitHeap keeps Go's memory from growing by more than so many bytes of
// garbage, and returns what undoes that. The limit is one of the process.
func LimitHeap(growth int64) (undo func()) {
	limit, old := heap()+growth, debug.SetMemoryLimit(-1)
	if limit >= old {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(old) }
}
