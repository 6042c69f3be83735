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
package observe
