// Package schedule rehearses a linked plan by counts alone and writes down what
// came out: order, calls of a block, capacities, lateness.
//
// A plan runs block by block. At first, holds keep nodes back; from some block on
// every node fires all of its tokens in every block, and the calls repeat. [Of]
// finds that block, and how many frames each channel must have room for.
//
//	block      0     1     2     3          x ──hold 100──▶ o, blocks of 64
//	x fires   64    64    64    64          warm-up 2, o first in block 2
//	o fires    –     –    64    64          capacity 192: 100 held, in blocks
//
// Capacities are given twice: what one pass a block in visiting order needs, so
// that nobody ever waits for room, and the least with which blocks still run if
// writers wait. A [Table] is text both ways.
package schedule
