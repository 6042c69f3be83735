package residence

import (
	"runtime"
	"runtime/debug"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory/ledger"
)

// Resident returns the memory that the process has, without garbage.
func Resident() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	if n := cpu.Resident(); n > 0 {
		return n
	}
	ledger.Process.Refresh()
	return ledger.Process.Of(ledger.Program)
}
