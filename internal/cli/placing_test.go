package cli

import (
	"testing"

	"atenia/place"
)

// TestFreeVRAM: a plan may have what is free of the device that has the most, but for a part.
func TestFreeVRAM(t *testing.T) {
	devices := []place.Device{{MemoryBytes: 64 << 30, FreeBytes: 1 << 30}, {MemoryBytes: 32 << 30, FreeBytes: 16 << 30}, {MemoryBytes: 8 << 30}}
	if got := freeVRAM(devices); got != 15<<30 {
		t.Errorf("%d bytes, want 15 GiB", got)
	}
	if got := freeVRAM(nil); got != 0 {
		t.Errorf("%d bytes of no device", got)
	}
}
