// Package observe lets people see what an open model does, while it runs and
// afterwards.
//
//	ring.Event ───────┐                    ┌─▶ trace     what ran when, for Perfetto
//	sched.StepInfo ───┼─▶ Observer ────────┼─▶ metrics   served over HTTP
//	decisions ────────┘   one for a model  ├─▶ timeline  the order alone, in lines
//	                                       └─▶ learning  how long a token took, under
//	                                                     which pressure of memory
//
// Each of the four is left out unless it is asked for, and a model that nobody
// observes has no [Observer].
//
// In a trace a pass encloses the use of each unit of streamed weights and the
// waits for them; reads are on tracks of their own, with arrows to what they
// were for. The timeline has the same reads and uses with no clock in it: a
// read stands where the ring has room for it first, so equal runs write equal
// bytes.
package observe
