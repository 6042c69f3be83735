// Package trace writes the execution of tasks as a Chrome trace, which Perfetto
// (ui.perfetto.dev) and chrome://tracing display.
//
//	SsdPrefetch 0  ▐▌prefetch:w2▐▌prefetch:w3 ─╮
//	H2D 0                        ╰─▶▐▌move:ram->vram:w2
//	Cpu 0          ▐▌k:w0   ▐▌k:w1             ╰─▶▐▌k:w2
//	bytes          ▂▂▄▄▄▆▆▆▆▆▄▄▄▄                 counters
//	               ◆ OFFLOAD_PLAN   ◆ FALLBACK    instants
//
// There is a track for each worker of a lane; copies to and from a device have
// tracks of their own, H2D and D2H. A slice carries the tensor, its bytes and
// MB/s; arrows lead from the read of a tensor to its move and to the computation
// that uses it. [Writer.Counter] adds other measurements, such as the bytes of
// each tier, pressure or the depth of a queue; important decisions become
// instants.
//
// The file is a JSON array that remains readable if it is cut off, as by a kill.
package trace
