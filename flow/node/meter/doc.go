// Package meter holds the loudness meter.
//
//	            ┌──► rms        per channel, linear
//	in ──► hop ─┼──► peak       per channel, linear: the largest |x|
//	            ├──► momentary  of all channels, LUFS, over the last blocks reports
//	            └──► integrated of all channels, LUFS, gated, since the start
//
// A token is hop frames and gives one number to each output. With a hop of a
// tenth of a second and 4 blocks, momentary and integrated follow ITU-R
// BS.1770-4 and EBU R 128: K weighting (a shelf for the head, a highpass),
// channels summed with their weights, and gating that leaves out blocks below
// -70 LUFS, then blocks more than 10 LU below the mean of the rest.
//
// The meter has no adjoint.
package meter
