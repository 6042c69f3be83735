package chunk

import (
	"math"

	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
)

// Softplus is ln(1+eˣ), in place.
func Softplus[F dense.Float](x []F) {
	if single, ok := any(x).([]float32); ok {
		softplus32(single)
		return
	}
	for i, v := range x {
		x[i] = F(math.Max(float64(v), 0) + math.Log1p(math.Exp(-math.Abs(float64(v)))))
	}
}

// softplus32 is max(x, 0) + ln(1+u) with u = e^−|x|, within 3·10⁻⁷ of the result. With
// s = u/(2+u), which is at most a third, ln(1+u) is 2·artanh(s), a series in s². It is
// a fifth of the time of math.Log1p, which was two fifths of a prefill of Mamba 1.
func softplus32(x []float32) {
	var u [256]float32
	for len(x) > 0 {
		n := min(len(u), len(x))
		for i, v := range x[:n] {
			u[i] = -max(v, -v)
		}
		kernel.Exp(u[:n], u[:n])
		for i, e := range u[:n] {
			s := e / (2 + e)
			z := s * s
			p := float32(1.0 / 13)
			p = float32(p*z) + 1.0/11
			p = float32(p*z) + 1.0/9
			p = float32(p*z) + 1.0/7
			p = float32(p*z) + 1.0/5
			p = float32(p*z) + 1.0/3
			p = float32(p*z) + 1
			x[i] = max(x[i], 0) + float32(2*float32(s*p))
		}
		x = x[n:]
	}
}
