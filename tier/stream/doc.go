// Package stream decides where a kernel runs and writes the order of work as a
// timeline.
//
//	Kernel, tiers of its tensors, pressures
//	        │
//	        ▼
//	   MakePlan ──▶ Plan: target, reason, Trace of the rules that were tried
//	        │
//	        ▼
//	Route, RouteTensors ──▶ prefetch, move, compute as a [Task] each
//	        │
//	        ▼
//	   Submitter: Timeline (lines of text), or lanes that run the work
//
// The rules are one table in plan.go; the first that applies wins, and the trace
// lists every rule up to it.
//
// A [Timeline] has three queues, Cpu, Gpu and SsdPrefetch, and runs nothing: it
// writes one line when a task is submitted and one when it would run. Its order
// depends on the submissions alone, so that two runs can be compared as text. It
// ignores dependencies: a move may be written before its prefetch.
//
//	ENQUEUE stream=SsdPrefetch id=1 kind=Io name=prefetch:w cost=1
//	ENQUEUE stream=Cpu id=2 kind=Transfer name=move:ssd->ram:w cost=1
//	ENQUEUE stream=Cpu id=3 kind=Compute name=matmul cost=1
//	RUN stream=Cpu id=2 kind=Transfer name=move:ssd->ram:w cost=1
//	RUN stream=SsdPrefetch id=1 kind=Io name=prefetch:w cost=1
//	RUN stream=Cpu id=3 kind=Compute name=matmul cost=1
//
// plan.go is the file to read first.
package stream
