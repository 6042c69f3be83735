//go:build (amd64 || arm64) && !noasm

package pool

// pause executes n spin-wait hints, which leave execution units to a sibling
// hyper-thread and save power.
//
//go:noescape
func pause(n uint32)
