package residence

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory/ledger"
)

// Program returns the memory that the process has, without garbage, and the bytes
// of its heap that are in use.
func Program() (resident, live int64) {
	runtime.GC()
	debug.FreeOSMemory()
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	live = int64(s[0].Value.Uint64())
	if resident = cpu.Resident(); resident == 0 {
		ledger.Process.Refresh()
		resident = ledger.Process.Of(ledger.Program)
	}
	return resident, live
}
