package kernel

import "math"

// RopeTable writes scale times the cosine and sine of pos·invFreq[i]. The angle
// is rounded to float32, as in PyTorch; its cosine and sine are then correctly
// rounded to float32.
func RopeTable(cos, sin []float32, invFreq []float32, pos int, scale float32) {
	cos, sin = cos[:len(invFreq)], sin[:len(invFreq)]
	p := float32(pos)
	for i, f := range invFreq {
		s, c := math.Sincos(float64(p * f))
		cos[i], sin[i] = float32(c)*scale, float32(s)*scale
	}
}
