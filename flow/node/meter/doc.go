// Package meter holds the node that tells how loud a stream is.
//
//	            ┌──► rms        per channel, linear
//	in ──► hop ─┼──► peak       per channel, linear: the largest |x|
//	            ├──► momentary  of all channels, LUFS, over the last blocks reports
//	            └──► integrated of all channels, LUFS, gated, since the start
//
// A token is hop frames and gives one number to each output. With hop a tenth
// of a second and 4 blocks, momentary and integrated are those of ITU-R
// BS.1770-4 and EBU R 128: the K weighting (a shelf for the head, a highpass),
// channels added with their weights, blocks below -70 LUFS and then blocks more
// than 10 LU below the mean of the rest left out.
//
// The meter has no adjoint.
package meter
