package decide

import (
	"fmt"
	"slices"
	"strings"

	"atenia/internal/machine/hw"
	"atenia/internal/spelling"
)

// NoGPU is the reason why a kernel is not on a device where the machine has none.
const NoGPU = "GPU not available"

// Executors are where kernels can run besides the processor. The zero value is a machine
// without devices.
type Executors struct {
	GPU bool `json:"gpu_available"` // kernels run on a device
	// Idle says of devices that are there why nothing runs on them; "" = there is none, or
	// one computes.
	Idle string `json:"idle_devices,omitempty"`
}

// Devices are the devices of a machine. The zero value has none.
type Devices struct {
	hw.Snapshot
	Compute []string // ids of those on which kernels can run
}

// Executors returns where kernels can run.
func (d Devices) Executors() Executors {
	var idle []string
	for i := range d.GPUs {
		if slices.Contains(d.Compute, d.GPUs[i].ID) {
			return Executors{GPU: true}
		}
		idle = append(idle, free(&d.GPUs[i]))
	}
	if len(idle) == 0 {
		return Executors{}
	}
	return Executors{Idle: strings.Join(idle, ", ") + "; nothing computes there"}
}

// free says what a device has free.
func free(g *hw.GPU) string {
	if g.VRAMFreeBytes == nil {
		return g.ID + " does not say what it has free"
	}
	n := min(*g.VRAMFreeBytes, 1<<62)
	if g.VRAMTotalBytes != nil {
		n = min(n, *g.VRAMTotalBytes)
	}
	return fmt.Sprintf("%s has %s free", g.ID, spelling.Size(int64(n)))
}
