package cpu

// FlushToZero holds the bits that flush denormals: FTZ and DAZ of MXCSR (Intel's
// manual, volume 1, section 10.2.3).
const FlushToZero FloatEnv = 1<<15 | 1<<6

const status FloatEnv = 0x3f // sticky exception flags

//go:noescape
func get() FloatEnv

//go:noescape
func set(e FloatEnv)
