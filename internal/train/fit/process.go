package fit

import (
	"atenia/internal/machine/cpu"
	"atenia/internal/memory/residence"
)

// growth is how much a program may grow while it trains, besides what a plan
// counts: stacks, buffers of files, garbage.
const growth = 24 << 20

// program returns the memory of the process now, with room to grow.
func program() int64 { return residence.Resident() + growth }

// available returns the memory that a run may have if it is not told: nine tenths
// of what the machine has free. 0 is unknown.
func available() int64 { return cpu.AvailableMemory() / 10 * 9 }

// limitHeap has Go collect garbage before its heap grows by more than the bytes
// that a plan counts. It returns a function that ends that.
func limitHeap(bytes int64) (undo func()) { return residence.LimitHeap(bytes + growth/2) }
