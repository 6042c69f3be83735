package kernel

// Probes of the machine's limits, for package bench/roof. Keep calls short: assembly
// cannot be preempted.

// Read reads all bytes, with prefetching.
func Read(b []byte) { readAll(b) }

// FMALoop performs independent float32 multiply-adds in registers and returns
// the number of operations, two for each.
func FMALoop(steps int) float64 { return fmaLoop(steps) }

// DotLoop is FMALoop with multiply-adds of 8-bit integers.
func DotLoop(steps int) float64 { return dotLoop(steps) }

// readAllGeneric reads every cache line. If it were inlined, the reads would be
// optimized away.
//
//go:noinline
func readAllGeneric(b []byte) (sum byte) {
	for i := 0; i < len(b); i += 64 {
		sum += b[i]
	}
	return sum
}

// fmaLoopGeneric performs 8 chains of multiply-adds.
func fmaLoopGeneric(steps int) float64 {
	var a [8]float32
	x := float32(0.5)
	for range steps {
		for i := range a {
			a[i] = a[i]*x + x
		}
	}
	if a[0] > 2 {
		return 0
	}
	return float64(16 * steps)
}

// dotLoopGeneric is fmaLoopGeneric with 8-bit integers.
func dotLoopGeneric(steps int) float64 {
	var a [8]int32
	x := [8]int8{1, 2, 3, 4, 5, 6, 7, 8}
	for range steps {
		for i := range a {
			a[i] += int32(x[i]) * int32(x[7-i])
		}
	}
	if a[0] < 0 {
		return 0
	}
	return float64(16 * steps)
}
