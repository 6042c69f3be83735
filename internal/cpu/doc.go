// Package cpu describes the processor and how much of it this process may use:
// instruction sets, physical cores, cache sizes, the affinity mask and the quota
// set by a container or service manager.
//
//	c := cpu.Detect()
//	c.Threads() // physical cores this process may run on, bounded by quota
//
// On Linux everything is supported. Elsewhere cores and caches come from the
// processor itself, and affinity and quota are unknown.
package cpu
