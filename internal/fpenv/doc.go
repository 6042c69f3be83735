// Package fpenv reads and sets the floating-point environment of the calling
// thread: whether denormal numbers are computed or flushed to zero.
//
//	amd64, MXCSR                     arm64, FPCR
//	bit 15 FTZ  results              bit 24 FZ  both
//	bit 6  DAZ  operands
//
// A decaying recursive filter computes with denormals for seconds, and each such
// operation takes a hundred times as long. Executors of flow graphs therefore
// flush them to zero, in real time and in training alike so that both give the
// same bits:
//
//	runtime.LockOSThread()
//	old := fpenv.FlushDenormals()
//	…
//	fpenv.Set(old)
//
// The environment belongs to the thread, not to the goroutine: lock the thread
// until it is restored. Foreign code may change it unnoticed; [Same] detects
// that. The functions do not allocate and may be called on a thread without a P.
package fpenv

// An Env is the value of the floating-point control register.
type Env uint64

// Same reports whether two environments compute alike, ignoring sticky exception
// flags.
func Same(a, b Env) bool { return (a^b)&^status == 0 }

// FlushDenormals makes this thread flush denormals to zero and returns the
// previous environment.
func FlushDenormals() (before Env) {
	before = Get()
	Set(before | Flush)
	return before
}

// Set makes e this thread's environment.
func Set(e Env) { set(e) }

// Get returns this thread's environment.
func Get() Env { return get() }
