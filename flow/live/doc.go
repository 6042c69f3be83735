// Package live plays flow graphs as sound comes and goes: on audio devices (sound cards, JACK, PipeWire, and, for tests,
// files and clocks), each block by its deadline, with notes from MIDI.
//
//	          real-time thread (a [Loop])                                  goroutines
//	          ┌────────────────────────────────────────────────────┐
//	device ──▶│ In.Move ─▶ Input ── the session's step ──▶ Probe ─▶ │ Out.Move ──▶ device
//	          │                                             └─▶ ring│──▶ [Recorder] ──▶ file
//	          └────────────────────────────────────────────────────┘
//
// [OpenDevice] opens a device by name as a [DeviceStream] in either direction. A [Player] runs a session between two of them. A
// [Recorder] keeps what a node receives in a file that survives the end of the process.
//
//	back end   library                where                 clock
//	null       none                   everywhere            the system's, or none
//	file       package media          everywhere            the system's, or none
//	alsa       libasound.so.2         Linux                 the card's
//	pipewire   libasound.so.2 and     Linux                 the graph's; through PipeWire's plug-in for ALSA. JACK programs
//	           its plug-in            reach it through its libjack as well
//	jack       libjack.so.0           Linux                 the server's
//
// Libraries are loaded when they are needed (package library); [Backend] List says which one is missing.
//
// # The audio thread
//
// A [Loop] calls Move, which blocks in the device's own function, called through a pointer, without Go's
// scheduler. No callback enters Go: that would need a P, and wait for the collector. JACK, which has callbacks, is
// driven by jack_cycle_wait and jack_cycle_signal. Files are read and written by goroutines, with rings between.
//
// # Latency
//
// An output begins with two blocks of silence ([Config] Depth). A frame of the input is there when its block is
// complete, one block after the first frame of it, and the second block is the time to compute: the round trip is two
// blocks, and the delays of the graph. A client of JACK adds nothing to the server's own latency if its block is the
// server's period.
//
// # Clocks
//
// Input and output of one device have one clock. Two devices have two, which drift: some milliseconds a minute. Then the
// input is resampled (AsyncResample, 96 dB) by a ratio that follows what waits between the two, a loop of 0.3 rad/s, so
// that nothing is lost; recordings of such an input are not bit for bit what the device gave. The same resampler stands
// where the rate of a device is not the graph's.
//
// # Faults
//
// Frames that a device lost, or silence that it played because a block was late, are counted (xruns). The output then
// begins again with silence ahead; the delay may be some blocks longer than before. A device that is unplugged ends the player with an error, and what was recorded is complete.
//
// # Real time
//
// A [LoopPlayer] runs a flow graph in real time: one block at a time, each by its
// deadline, on a thread that is not subject to Go's scheduler or garbage
// collector.
//
//	host (goroutines)              rings                real-time thread
//	────────────────────────       ─────────────        ─────────────────────────
//	Player.Put("in", block)   ──▶  Ring of an input ──▶ sleep until the block is due
//	                                                    fill the inputs
//	                                                    the session's step
//	Player.Get("out", block)  ◀──  Ring of a probe  ◀── empty the probes
//	Loop.Wait() → Report      ◀──  counters             late? skip missed periods
//
// A [LoopPlayer] connects a session's inputs and probes to lock-free rings, one
// [Ring] each, which goroutines fill and empty. A [Loop] is the thread alone: it
// calls any function once a period. [LoopConfig] sets period, priority and whether
// memory is locked; a [LoopReport] says what the run achieved.
//
// # Missed deadlines
//
// A block that ends after the next one was due is late (an xrun). The periods
// that passed are skipped, so that a slow block costs silence once and not a
// growing delay; [LoopReport] counts both, and keeps histograms of wake-up latency
// and of computing time. An input whose ring is empty reads zeros (underrun),
// and a block for an output whose ring is full is dropped (overrun); both are
// counted per port.
//
// With SCHED_FIFO (see [LoopConfig] Priority) the thread preempts everything of
// ordinary priority. It sleeps between blocks; a loop without a clock never
// gets that priority, since it would not sleep at all.
//
// Denormals are flushed to zero on the thread, as in the throughput executor,
// because recursive filters decay into them and the processor is then up to
// twenty times slower.
//
// # Outside the scheduler
//
// A goroutine is unsuited as an audio thread. After a sleep it needs a P, and
// if all are busy it waits behind time slices of ten milliseconds; while it
// computes it can be preempted; no thread priority helps against either. A C
// function in a Go program has neither problem: it runs on the system stack of a
// thread that has given its P away. A loop runs a Go function the same way:
//
//	goroutine ── run(f) ─▶ runtime.cgocall ─▶ entry (assembly) ─▶ f
//	                       the thread releases its P              on g0's stack
//
// A garbage collection does not wait for the thread, which looks as if it were
// in a system call; the scheduler cannot preempt it, since it does not run on a
// goroutine's stack; and f does not wait for a P after sleeping, since it sleeps
// without one. f calls the session's step, the same function that the throughput
// executor calls, so both give the same bits.
//
// The price is that f must follow the rules of the runtime's own code on the
// system stack:
//
//   - it does not allocate: the allocator's caches belong to the P,
//   - it writes no pointer into memory, neither Go's nor any other: while a
//     collection marks, such a write goes through a buffer of the P. Numbers
//     may be written anywhere, pointers only to local variables,
//   - it takes no lock, sends on no channel, starts no goroutine, does not
//     defer, and does not panic.
//
// The step of a session (package flow) and the shipped nodes comply; so do C
// nodes that declare themselves safe for real time. [NewLoop] accepts any function
// that does. What f reads must be kept alive by its caller: the system stack is
// not a root of the garbage collector.
//
// Without the C library's threads (-tags static), on systems other than Linux,
// and under the race detector, which instruments f with calls that need a
// goroutine, the loop runs on an ordinary goroutine, and [LoopReport] Native is
// false.
//
// # MIDI
//
// Notes are read from Standard MIDI Files, and from the bytes that a MIDI device sends.
//
//	song.mid ──Read──▶ MIDIFile ──Cues(rate)──▶ flow.Session.Post            events at frames, known before the stream
//	/dev/snd/midiC1D0 ──Live──▶ MIDIStream ──▶ node.Event ──▶ Session.Post   events at the next block, while it runs
//
// A [MIDIFile] holds the channel messages of all tracks in order of time, and the tempo map. Formats 0 and 1 are read; the
// sequences of format 2 have no common time, so it is refused. System-exclusive messages and texts are skipped. What
// is read is bounded by the constants below, and errors are of type [*MIDIError], with the offset of the fault.
//
// [MIDIStream] takes a device's bytes one by one: messages with running status, real-time bytes within them, and anything
// broken off.
//
// The formats are those of the MIDI Association: MIDI 1.0 Detailed Specification (M1 v4.2.1) and Standard MIDI Files
// 1.0 (RP-001).
package live
