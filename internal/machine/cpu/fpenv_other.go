//go:build !amd64 && !arm64

package cpu

// FlushToZero is zero: the control register of this processor is not supported, and
// denormals are computed.
const FlushToZero FloatEnv = 0

const status FloatEnv = 0

func get() FloatEnv { return 0 }

func set(FloatEnv) {}
