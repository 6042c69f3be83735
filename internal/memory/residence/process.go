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

// Program returns the memory of the process that no account counts: Go's, and
// code; and the pages of mapped files that are in memory.
func Program() (program, mapped int64) {
	code, data, objects := cpu.ResidentFiles()
	if objects == 0 {
		return heap() + code, data
	}
	s := []metrics.Sample{
		{Name: "/memory/classes/metadata/mcache/inuse:bytes"}, {Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"}, {Name: "/memory/classes/other:bytes"}, {Name: "/memory/classes/profiling/buckets:bytes"},
	}
	metrics.Read(s)
	for i := range s {
		program += int64(s[i].Value.Uint64())
	}
	return program + objects + code, data
}

// heap returns what Go has of the system's memory.
func heap() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// LimitHeap bounds the growth of Go's heap by garbage, for the whole process,
// and returns a function that restores the previous limit.
func LimitHeap(growth int64) (undo func()) {
	limit, old := heap()+growth, debug.SetMemoryLimit(-1)
	if limit >= old {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(old) }
}
