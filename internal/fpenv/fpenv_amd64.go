package fpenv

// Flush holds the bits that flush denormals: FTZ and DAZ of MXCSR (Intel's
// manual, volume 1, section 10.2.3).
const Flush Env = 1<<15 | 1<<6

const status Env = 0x3f // sticky exception flags

//go:noescape
func get() Env

//go:noescape
func set(e Env)
