// Package fpenv reads and sets the floating-point environment of the thread
// that calls: whether denormal numbers are computed with or taken as zero.
//
//	amd64, MXCSR                     arm64, FPCR
//	bit 15 FTZ  results              bit 24 FZ  both
//	bit 6  DAZ  operands
//
// A recursive filter that rings out computes with denormals for seconds, and
// each such operation takes a hundred times as long. Executors of flow graphs
// therefore flush them to zero, in real time and in training alike so that
// both give the same bits:
//
//	runtime.LockOSThread()
//	old := fpenv.FlushDenormals()
//	…
//	fpenv.Set(old)
//
// The environment belongs to the thread, not to the goroutine: whoever changes
// it keeps the thread until it is set back. Code from outside may change it
// behind the host's back; [Same] finds that out. Nothing here allocates, and
// all of it may be called on a thread that has no P.
package fpenv

// An Env is the control register of the floating-point unit.
type Env uint64

// Same reports whether two environments compute alike: flags of exceptions
// that have happened are no part of that.
func Same(a, b Env) bool { return (a^b)&^status == 0 }

// FlushDenormals makes this thread take denormals as zero, and returns what
// was set before.
func FlushDenormals() (before Env) {
	before = Get()
	Set(before | Flush)
	return before
}

// Set makes e this thread's environment.
func Set(e Env) { set(e) }

// Get returns this thread's environment.
func Get() Env { return get() }
