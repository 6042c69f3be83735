package signal

// This file holds the delay that lets a gain be computed ahead of its signal.

import "atenia/flow/node"

// delayed returns frame i of the call, delayed by len(line) frames. line holds
// the frames before the call, oldest first.
func delayed[F node.Float](line, x []F, i int) F {
	if i < len(line) {
		return line[i]
	}
	return x[i-len(line)]
}

// shift moves the call's frames into the line.
func shift[F node.Float](line, x []F) {
	if len(x) >= len(line) {
		copy(line, x[len(x)-len(line):])
		return
	}
	copy(line, line[len(x):])
	copy(line[len(line)-len(x):], x)
}

// undelay is the transpose of delayed: it adds the gradients d [n] of the
// delayed signal to dx [n]. line holds the gradients of the frames after the
// call, and takes the call's.
func undelay[F node.Float](line, dx, d []F) {
	n := len(dx)
	for i := range dx {
		if j := i + len(line); j < n {
			dx[i] += d[j]
		} else {
			dx[i] += line[j-n]
		}
	}
	if n >= len(line) {
		copy(line, d)
		return
	}
	copy(line[n:], line) // copy allows overlap
	copy(line, d)
}
