// Package hardware is the commands about the machine itself.
//
//	atenia hw          what there is, how full it is, what will be slow
//	atenia bench mem   memory read, copied and touched for the first time
//	atenia bench ssd   storage read and written past the system's cache
//	atenia bench codec tensors encoded and decoded
//
// What bench prints with --json is what its --compare reads.
package hardware
