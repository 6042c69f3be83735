package node

// SumBack adds a row to a sum, the last frame first, so that sums over a stream
// do not depend on its cuts.
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

// Bind makes the closure of a [Binder] of one that does the work without the
// report: heat that stays is reported once.
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
