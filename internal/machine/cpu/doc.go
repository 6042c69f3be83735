// Package cpu describes the processor and how much of it this process may use:
// instruction sets, physical cores, cache sizes, the affinity mask and the quota
// set by a container or service manager.
//
//	c := cpu.Detect()
//	c.Threads() // physical cores this process may run on, bounded by quota
//
// On Linux everything is supported. Elsewhere cores and caches come from the
// processor itself, and affinity and quota are unknown.
//
// [OpenMemory] reads how full memory is, again and again; [Resident],
// [PeakResident], [ReadBytes] and [Time] say what this process has used.
//
// # Denormal numbers
//
// A [FloatEnv] is the floating-point environment of the calling thread: whether
// denormal numbers are computed or flushed to zero.
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
//	old := cpu.FlushDenormals()
//	…
//	cpu.SetFloatEnv(old)
//
// The environment belongs to the thread, not to the goroutine: lock the thread
// until it is restored. Foreign code may change it unnoticed; [SameFloatEnv]
// detects that. The functions do not allocate and may be called on a thread without a P.
package cpu
