// Package hw describes the machine: cores, memories and devices, and how full
// and how fast they are.
//
//	what                    from
//	cores, SIMD, caches     the processor and /sys, within the affinity mask
//	RAM total and free      /proc/meminfo and every control group up the tree
//	                        (versions 1 and 2): the smallest counts
//	pressure of RAM         1 - available/limit; raised to .90 or .95 while
//	                        the system reports stalls on memory (PSI)
//	storage                 the mount and the disk below the cache directory;
//	                        speeds as measured once and kept for the device
//	devices                 a [GPUProber]: this package loads no library
//	unused devices          /sys/class/drm: GPUs that nothing computes on
//	NUMA nodes, stalls      /sys/devices/system/node, /proc/pressure/memory
//
// [Probe] fills a [Snapshot], the input of placement, and [Details] for people,
// with warnings about what will be slow or refused. A [Sampler] samples memory
// pressure while something runs, without allocating.
//
// A nil field is unknown, not zero. On systems other than Linux more fields are
// nil.
package hw
