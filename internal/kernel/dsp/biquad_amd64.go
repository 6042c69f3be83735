//go:build !noasm

package dsp

// quad is the number of frames that assembly processes at a time.
const quad = 4

// forward32 processes a multiple of 4 frames, or all of a single row, and
// returns how many. For eight lanes the recursion's latency costs as much as
// the throughput limit does for sixteen, so few rows are processed eight at a
// time.
func forward32(g *group[float32], y, x *pointers[float32], used, n int) int {
	lanes, coef := wide(), &g.coef[0][0]
	if lanes == 0 {
		return 0
	}
	if used == 1 {
		forward1AVX2(coef, y[0], x[0], n)
		return n
	}
	n &^= quad - 1
	switch {
	case n == 0:
	case used > 8 && lanes == 16:
		forwardAVX512(coef, &y[0], &x[0], n)
	default:
		for lane := 0; lane < used; lane += 8 {
			forwardAVX2(&g.coef[0][lane], &y[lane], &x[lane], n)
		}
	}
	return n
}

// backwardFrames32 returns how many of n frames backward32 processes.
func backwardFrames32(n int) int {
	if wide() == 0 {
		return 0
	}
	return n &^ (quad - 1)
}

// backward32 processes n frames from start on, a multiple of 4.
func backward32(g *group[float32], p *[4]pointers[float32], sums bool, used, start, n int) {
	switch {
	case used > 8 && wide() == 16 && sums:
		gradientsAVX512(&g.coef[0][0], &p[0][0], start, n)
		return
	case used > 8 && wide() == 16:
		backwardAVX512(&g.coef[0][0], &p[0][0], start, n)
		return
	}
	for lane := 0; lane < used; lane += 8 {
		if sums {
			gradientsAVX2(&g.coef[0][lane], &p[0][lane], start, n)
		} else {
			backwardAVX2(&g.coef[0][lane], &p[0][lane], start, n)
		}
	}
}

// flush32 moves the sums, and reports whether it did.
func flush32(g *group[float32]) bool {
	switch wide() {
	case 0:
		return false
	case 16:
		flushAVX512(&g.coef[0][0])
	default:
		flushAVX2(&g.coef[0][0])
	}
	return true
}
