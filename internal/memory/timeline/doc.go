// Package timeline writes, as lines of text, in which order work is submitted
// and would run.
//
//	Task ──Submit──▶ Cpu, Gpu, SsdPrefetch ──Run──▶ lines ──▶ Sink
//	                 three queues                    Lines
//
// A [Timeline] runs nothing; package lane executes tasks. It writes one line
// when a task is submitted and one when it would run. The order depends on the
// submissions alone, so two runs can be compared as text. A timeline knows no
// dependencies: a move may be written before its prefetch.
//
//	ENQUEUE stream=SsdPrefetch id=1 kind=Io name=prefetch:w cost=1
//	ENQUEUE stream=Cpu id=2 kind=Transfer name=move:ssd->ram:w cost=1
//	ENQUEUE stream=Cpu id=3 kind=Compute name=matmul cost=1
//	RUN stream=Cpu id=2 kind=Transfer name=move:ssd->ram:w cost=1
//	RUN stream=SsdPrefetch id=1 kind=Io name=prefetch:w cost=1
//	RUN stream=Cpu id=3 kind=Compute name=matmul cost=1
package timeline
