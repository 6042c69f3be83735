// Package device connects flow graphs to audio devices: sound cards, JACK, PipeWire, and, for tests, files and clocks.
//
//	          real-time thread (package rt)                                goroutines
//	          ┌────────────────────────────────────────────────────┐
//	device ──▶│ In.Move ─▶ Input ── the session's step ──▶ Probe ─▶ │ Out.Move ──▶ device
//	          │                                             └─▶ ring│──▶ [Recorder] ──▶ file
//	          └────────────────────────────────────────────────────┘
//
// [Open] opens a device by name as a [Stream] in either direction. A [Player] runs a session between two of them. A
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
// The loop of package rt calls Move, which blocks in the device's own function, called through a pointer, without Go's
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
package device
