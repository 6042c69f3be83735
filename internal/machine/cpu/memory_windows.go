package cpu

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// A memoryStatus is MEMORYSTATUSEX of the Windows API.
type memoryStatus struct {
	length, load                uint32
	totalPhysical, freePhysical uint64
	totalPage, freePage         uint64
	totalVirtual, freeVirtual   uint64
	freeExtended                uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// systemMemory returns the machine's memory and what programs can allocate.
func systemMemory() (total, available int64) {
	s := memoryStatus{}
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0, 0
	}
	return int64(s.totalPhysical), int64(s.freePhysical)
}
