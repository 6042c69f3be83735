//go:build !linux

package amp

// defaultFaultSignals does nothing: Go's handler ends the process.
func defaultFaultSignals() {}
