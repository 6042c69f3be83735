//go:build (amd64 || arm64) && !noasm

package pool

// pause tells the processor n times that this thread is only waiting, which
// leaves a sibling hyper-thread its units and saves power.
//
//go:noescape
func pause(n uint32)
