package fit

import "atenia/internal/machine/ledger"

// growth is how much a program may grow while it trains, besides what a plan
// counts: stacks, buffers of files, garbage.
const growth = 24 << 20

// program returns the memory of the process now, with room to grow.
func program() int64 {
	resident, _ := ledger.MeasureProgram()
	return resident + growth
}

// limitHeap has Go collect garbage before its heap grows by more than the bytes
// that a plan counts. It returns a function that ends that.
func limitHeap(bytes int64) (undo func()) { return ledger.LimitHeap(bytes + growth/2) }
