package kernel

// Add writes a + scale·b, rounding the product and then the sum. dst may be a or
// b.
func Add(dst, a, b []float32, scale float32) {
	n := len(dst)
	addScaled(dst, a[:n], b[:n], scale)
}

// AddBias adds bias to dst. They must have the same length.
func AddBias(dst, bias []float32) { addScaled(dst, dst, bias[:len(dst)], 1) }

// Mul writes a·b. dst may be a or b.
func Mul(dst, a, b []float32) {
	n := len(dst)
	mul(dst, a[:n], b[:n])
}

// Scale multiplies dst by s.
func Scale(dst []float32, s float32) { scaleBy(dst, s) }

// Slope adds slope·−|first+i| to element i: a bias on the distance of positions.
func Slope(dst []float32, slope float32, first int) {
	for i := range dst {
		d := first + i
		if d > 0 {
			d = -d
		}
		dst[i] += float32(slope * float32(d))
	}
}

// Clip limits every element to ±limit.
func Clip(dst []float32, limit float32) {
	for i, v := range dst {
		dst[i] = min(max(v, -limit), limit)
	}
}

func addScaledGeneric(dst, a, b []float32, scale float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + float32(scale*b[i])
	}
}

func mulGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func scaleByGeneric(dst []float32, s float32) {
	for i := range dst {
		dst[i] *= s
	}
}

// ArgMax returns the index of the first largest value. It ignores NaN unless all
// values are, and returns 0 for an empty slice.
func ArgMax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] || x[best] != x[best] && v == v {
			best = i
		}
	}
	return best
}
