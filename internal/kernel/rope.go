package kernel

// Rope rotates pairs of the first 2·len(cos) values of one head by the angles
// with the given cosines and sines: values i and i+len(cos), or, interleaved,
// values 2i and 2i+1. Products and sums are rounded separately, as in PyTorch:
//
//	a, b = a·cos − b·sin, b·cos + a·sin
func Rope(x []float32, cos, sin []float32, interleaved bool) {
	n := len(cos)
	x, sin = x[:2*n], sin[:n]
	if interleaved {
		ropeInterleaved(x, cos, sin)
	} else {
		ropeHalves(x[:n], x[n:], cos, sin)
	}
}

func ropeHalvesGeneric(a, b, cos, sin []float32) {
	for i, c := range cos {
		s, p, q := sin[i], a[i], b[i]
		a[i] = float32(p*c) - float32(q*s)
		b[i] = float32(q*c) + float32(p*s)
	}
}

func ropeInterleavedGeneric(x, cos, sin []float32) {
	for i, c := range cos {
		s, p, q := sin[i], x[2*i], x[2*i+1]
		x[2*i] = float32(p*c) - float32(q*s)
		x[2*i+1] = float32(q*c) + float32(p*s)
	}
}
