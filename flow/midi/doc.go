// Package midi reads notes for package flow: from Standard MIDI Files, and from the bytes that a MIDI device sends.
//
//	song.mid ──Read──▶ File ──Cues(rate)──▶ flow.Session.Post            events at frames, known before the stream
//	/dev/snd/midiC1D0 ──Live──▶ Stream ──▶ node.Event ──▶ Session.Post   events at the next block, while it runs
//
// A [File] holds the channel messages of all tracks in order of time, and the tempo map. Formats 0 and 1 are read; the
// sequences of format 2 have no common time, so it is refused. System-exclusive messages and texts are skipped. What
// is read is bounded by the constants below, and errors are of type [*Error], with the offset of the fault.
//
// [Stream] takes a device's bytes one by one: messages with running status, real-time bytes within them, and anything
// broken off.
//
// The formats are those of the MIDI Association: MIDI 1.0 Detailed Specification (M1 v4.2.1) and Standard MIDI Files
// 1.0 (RP-001).
package midi
