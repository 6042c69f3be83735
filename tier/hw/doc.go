// Package hw says what the machine is: cores, memories, devices and how full
// and how fast they are.
//
//	what                    from
//	cores, SIMD, caches     the processor and /sys, within the affinity mask
//	RAM total and free      /proc/meminfo and every control group up the tree
//	                        (versions 1 and 2): the least of them counts
//	pressure of RAM         1 - available/limit; lifted to .90 or .95 while
//	                        the system reports that tasks wait for memory
//	storage                 the mount and the disk below the cache folder;
//	                        speeds as measured once and kept for the device
//	devices                 a [GPUProber]: this package loads no library
//
// [Probe] fills a [Snapshot], the form that placement works with, and
// [Details], which a person wants to see, with warnings about what will be
// slow or refused. A [Sampler] keeps looking at the pressure of memory while
// something runs, and allocates nothing.
//
// Absent is not zero: what could not be found out is nil. Elsewhere than on
// Linux there is less to read; what is missing stays nil.
package hw
