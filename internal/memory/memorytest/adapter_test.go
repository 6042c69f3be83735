package memorytest

import (
	"testing"

	"atenia/internal/memory"
)

func TestFakeVRAM(t *testing.T) {
	device := &FakeVRAM{}
	RunAdapter(t, func() memory.Adapter { return device })
	if ids := device.IDs(); len(ids) > 0 || device.Total() != 0 {
		t.Errorf("still held: %q, %d bytes", ids, device.Total())
	}
}

func TestNoVRAM(t *testing.T) { RunAdapter(t, func() memory.Adapter { return memory.NoVRAM{} }) }
