// Package cpu says what the processor can do and how much of it this process
// may use: instruction sets, physical cores, cache sizes, the affinity mask
// and the quota that a container or service manager set.
//
//	c := cpu.Detect()
//	c.Threads() // physical cores this process may run on, bounded by quota
//
// Linux is read in full. Elsewhere cores and caches come from the processor
// itself and there is neither affinity nor quota.
package cpu
