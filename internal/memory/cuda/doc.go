// Package cuda keeps tensors in the memory of NVIDIA devices. It loads the
// driver's libraries at run time, if they are installed:
//
//	libcuda.so.1, nvcuda.dll        devices, their memory, copies
//	libnvidia-ml.so.1, nvml.dll     use, temperature, link, free memory
//
// Without the first there are no devices, which is no error; without the second,
// monitoring data are missing. A [Device] is an adapter of package memory. All its
// work is done by one goroutine on a locked thread, on which the device's
// context is current:
//
//	Upload ──▶ thread ──▶ copy into a pinned buffer ──▶ asynchronous copy ──▶ VRAM
//	                      ring of 4 × up to 64 MiB      the next buffer is
//	                                                    filled meanwhile
//
// Only the root package and commands about the machine import it (docs/decisions/0006-device-libraries.md).
// Built with -tags static, and on systems without these drivers, it finds no
// devices.
package cuda
