// Package schedule rehearses a linked plan by counts alone and tabulates the
// result: order, calls of a block, channel capacities, lateness.
//
// A plan runs block by block. At first, holds keep nodes back; from some block
// on every node fires all of its tokens in every block, and the calls repeat.
// [Of] finds that block, and how many frames each channel must hold.
//
//	block      0     1     2     3          x ──hold 100──▶ o, blocks of 64
//	x fires   64    64    64    64          warm-up 2, o first in block 2
//	o fires    –     –    64    64          capacity 192: 100 held, in blocks
//
// Two capacities are given: the one with which a single pass per block in
// visiting order never blocks on a full channel, and the least with which
// blocks still complete if writers wait (backpressure). A [Table] is text both
// ways.
package schedule
