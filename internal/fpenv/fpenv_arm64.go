package fpenv

// Flush is the bit that flushes denormals, operands and results: FZ of FPCR
// (Arm's manual of the A profile, section C5.2.8).
const Flush Env = 1 << 24

const status Env = 0 // FPCR holds only controls; FPSR has the flags

//go:noescape
func get() Env

//go:noescape
func set(e Env)
