// Package cuda keeps tensors in the memory of NVIDIA devices. The driver's
// libraries are loaded while the program runs, if they are there:
//
//	libcuda.so.1, nvcuda.dll        devices, their memory, copies
//	libnvidia-ml.so.1, nvml.dll     use, temperature, link, free memory
//
// Without the first there are no devices, which is no error; without the
// second there is less to know. A [Device] is an adapter of package tier. All
// its work is done by one goroutine on a thread of its own, on which the
// device's context is current:
//
//	Upload ──▶ thread ──▶ copy into a pinned buffer ──▶ asynchronous copy ──▶ VRAM
//	                      ring of 4 × up to 64 MiB      the next buffer is
//	                                                    filled meanwhile
//
// Only the root package and commands about the machine import it (docs/decisions/0006-device-libraries.md). Built with -tags static, and on
// systems without these drivers, it finds no devices.
package cuda
