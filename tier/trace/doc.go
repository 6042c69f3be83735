// Package trace writes what ran when as a Chrome trace: a file that Perfetto
// (ui.perfetto.dev) and chrome://tracing show.
//
//	SsdPrefetch 0  ▐▌prefetch:w2▐▌prefetch:w3 ─╮
//	H2D 0                        ╰─▶▐▌move:ram->vram:w2
//	Cpu 0          ▐▌k:w0   ▐▌k:w1             ╰─▶▐▌k:w2
//	bytes          ▂▂▄▄▄▆▆▆▆▆▄▄▄▄                 counters
//	               ◆ OFFLOAD_PLAN   ◆ FALLBACK    instants
//
// There is a track for each worker of a lane; copies to and from a device have
// tracks of their own, H2D and D2H. A slice has the tensor, its bytes and MB/s;
// arrows lead from reading a tensor to moving it to computing with it.
// [Writer.Counter] adds what else is measured, such as the bytes of each tier,
// pressure or the depth of a queue, and decisions that matter become instants.
//
// The file is a JSON array that stays readable when its end is missing, as
// after a kill.
package trace
