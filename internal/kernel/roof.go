package kernel

// Probes of what the machine can do, for package roof. Calls are to be short:
// assembly cannot be interrupted.

// Read reads all bytes, and asks for those to come.
func Read(b []byte) { readAll(b) }

// FMALoop does independent float32 multiply-adds in registers and returns how
// many operations that were, two for each.
func FMALoop(steps int) float64 { return fmaLoop(steps) }

// DotLoop does the same with multiply-adds of 8-bit integers.
func DotLoop(steps int) float64 { return dotLoop(steps) }

// readAllGeneric reads every cache line; inlined, it would read nothing.
//
//go:noinline
func readAllGeneric(b []byte) (sum byte) {
	for i := 0; i < len(b); i += 64 {
		sum += b[i]
	}
	return sum
}

// fmaLoopGeneric does 8 chains of multiply-adds.
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

// dotLoopGeneric does the same with 8-bit integers.
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
