package node

// SumBack adds a row to a sum, last frame first, so that the sum over a stream
// does not depend on how it is cut into calls.
func SumBack[F Float](sum float64, a []F) float64 {
	for i := len(a) - 1; i >= 0; i-- {
		sum += float64(a[i])
	}
	return sum
}

// AddFolded adds from, a whole number of repetitions of to's shape, to to. If
// to is a single number it receives the total. A nil to is ignored.
func AddFolded(to, from []float64) {
	if len(to) == 0 {
		return
	}
	for i, v := range from {
		to[i%len(to)] += v
	}
}

// Bind returns the closure of a [Binder] from run, which does the work without
// reporting; constant heat is reported once.
func Bind[F Float](r Reporter, c *Call[F], run func()) func() {
	Report(r, c)
	if !c.Param[len(c.Param)-1].Framed {
		return run
	}
	return func() {
		run()
		Report(r, c)
	}
}
