// Package host has the structures of CLAP 1.2 (github.com/free-audio/clap,
// include/clap) in Go, and the functions that a plug-in calls.
//
//	plug-in                            assembly
//	host->get_extension, log, … ─────▶ reads and sets words of a [Context]
//	in_events->size, get ────────────▶ reads an [Events]
//	stream->read, write ─────────────▶ copies from and to a [Stream]
//
// None of these functions enters Go: a plug-in may call them from any thread,
// including one without a P, and none of them locks or allocates. Everything
// that a plug-in sees is outside Go's heap, in an abi.Memory.
package host
