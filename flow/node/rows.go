package node

// What nodes do with rows of frames, beside package dsp.

// Offset adds v to every frame.
func Offset[F Float](y []F, v F) {
	for i := range y {
		y[i] += v
	}
}

// DotBack adds the products of two rows to a sum, the last frame first, so that
// sums over a stream do not depend on its cuts.
func DotBack[F Float](sum float64, a, b []F) float64 {
	b = b[:len(a)]
	for i := len(a) - 1; i >= 0; i-- {
		sum += float64(float64(a[i]) * float64(b[i]))
	}
	return sum
}

// SumBack adds a row to a sum, the last frame first.
func SumBack[F Float](sum float64, a []F) float64 {
	for i := len(a) - 1; i >= 0; i-- {
		sum += float64(a[i])
	}
	return sum
}

// AddFolded adds from, a whole number of repetitions of to's shape, to to; or
// all of it, when to is one number. Nil is not wanted.
func AddFolded(to, from []float64) {
	if len(to) == 0 {
		return
	}
	for i, v := range from {
		to[i%len(to)] += v
	}
}
