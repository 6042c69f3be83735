// Package observe records what an open model does, live and in files.
//
//	ring.Event ───────┐                    ┌─▶ trace     what ran when, for Perfetto
//	sched.StepInfo ───┼─▶ Observer ────────┼─▶ metrics   served over HTTP
//	decisions ────────┘   one for a model  ├─▶ timeline  the order alone, in lines
//	                                       └─▶ learning  how long a token took, under
//	                                                     which pressure of memory
//
// Each of the four is optional, and a model without any has no [Observer].
//
// All but learning comes from the executor of reads and computing, package lane:
// in a trace a pass encloses the use of each unit of streamed weights and the
// waits for them; reads have tracks of their own, with arrows to the uses that
// they were for. The timeline has what was submitted, without a clock, so equal
// runs write equal bytes.
//
// # Traces and metrics
//
// [TraceWriter] and [metrics] export the activity of lanes and tiers: the execution of tasks
// as a Chrome trace, and counts of it to Prometheus.
//
//	lane.Executor ─────────────── tasks ────┬─▶ TraceWriter   trace.json
//	journal of package record ─── decisions ┤
//	memory.Ledger, ring.Ring … ── bytes ────┴─▶ Metrics   GET /metrics
//
// # The trace
//
// Perfetto (ui.perfetto.dev) and chrome://tracing display what a [TraceWriter]
// writes:
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
// that uses it. [TraceWriter.Counter] adds other measurements, such as the bytes of
// each tier, pressure or the depth of a queue: "dispatches" and "launches" have those
// of the last step and of all steps. Important decisions become instants.
//
// The file is a JSON array that remains readable if it is cut off, as by a kill.
//
// # The metrics
//
// [metrics] takes the events of a lane.Executor, decisions, and the bytes of each
// tier, and serves these series:
//
//	atenia_tier_bytes{tier,state}          used, reserved or budget
//	atenia_move_bytes_total{from,to}       copied between tiers
//	atenia_move_seconds                    one move, a histogram
//	atenia_prefetch_total{result}          hit or late
//	atenia_experts_total{result}           chosen by tokens: hit or miss
//	atenia_expert_read_bytes_total
//	atenia_expert_wait_seconds_total       that computing waited for them
//	atenia_overlap_ratio                   of moving and computing, 0 to 1
//	atenia_decisions_total{component,rule}
//	atenia_fallback_total{reason}          work degraded from a device to the processor
//	atenia_ssd_written_bytes_total
//	atenia_plan_error_ratio                measured over planned seconds, less 1
//	atenia_cache_corrupt_total             corrupt entries
//	atenia_trainer_regret                  time lost against the fastest threads
//	atenia_dispatches_total                instructions that were dispatched
//	atenia_launches_total                  work that was submitted to the worker pool
//	atenia_step_dispatches                 by the last step; atenia_step_launches likewise
package observe
