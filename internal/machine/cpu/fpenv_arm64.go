package cpu

// FlushToZero is the bit that flushes denormals, operands and results: FZ of FPCR
// (Arm's manual of the A profile, section C5.2.8).
const FlushToZero FloatEnv = 1 << 24

const status FloatEnv = 0 // FPCR holds only controls; FPSR has the flags

//go:noescape
func get() FloatEnv

//go:noescape
func set(e FloatEnv)
