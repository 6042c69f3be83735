//go:build !amd64 && !arm64

package fpenv

// Flush is zero: the control register of this processor is not supported, and
// denormals are computed.
const Flush Env = 0

const status Env = 0

func get() Env { return 0 }

func set(Env) {}
