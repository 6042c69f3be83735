// Package explain is the command that says which backend was preferred under
// which pressure of memory, and why.
//
//	--gpu-available --vram-band --ram-band   one bucket, all three needed
//	--all                                    every bucket of the file
//	(nothing), --structured, --json          narrative, factors, both for programs
//
// Unlike other commands it ends with exit code 1 when it was called wrongly.
package explain
