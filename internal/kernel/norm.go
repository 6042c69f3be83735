package kernel

import "math"

// RMSNorm writes src/√(mean of squares + eps) times (weight + offset); a nil
// weight means ones and no offset. Squares are summed in float64, in 16 lanes
// like every sum here. dst may be src.
func RMSNorm(dst, src, weight []float32, eps, offset float32) {
	n := len(src)
	inv := 1 / math.Sqrt(sumSquares(src, 0)/float64(n)+float64(eps))
	normalise(dst[:n], src, weight, nil, 0, float32(inv), offset)
}

// LayerNorm writes (src − mean)/√(variance + eps), times weight, plus bias;
// either may be nil. Sums are in float64. dst may be src.
func LayerNorm(dst, src, weight, bias []float32, eps float32) {
	n := len(src)
	mean := sum(src) / float64(n)
	inv := 1 / math.Sqrt(sumSquares(src, mean)/float64(n)+float64(eps))
	normalise(dst[:n], src, weight, bias, float32(mean), float32(inv), 0)
}

// normalise writes (src−mean)·inv·(weight+offset)+bias, each step rounded.
func normaliseGeneric(dst, src, weight, bias []float32, mean, inv, offset float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = (v - mean) * inv
	}
	if weight != nil {
		weight = weight[:len(dst)]
		for i, w := range weight {
			dst[i] *= w + offset
		}
	}
	if bias != nil {
		bias = bias[:len(dst)]
		for i, b := range bias {
			dst[i] += b
		}
	}
}

// lanes64 are [lanes] of sums in float64, folded in the same order.
type lanes64 [16]float64

func (a *lanes64) sum() float64 {
	var b [4]float64
	for i := range b {
		b[i] = (a[i] + a[i+8]) + (a[i+4] + a[i+12])
	}
	return (b[0] + b[1]) + (b[2] + b[3])
}

func sumLanesGeneric(a *lanes64, x []float32) {
	for i, v := range x {
		a[i%16] += float64(v)
	}
}

func sumSquaresLanesGeneric(a *lanes64, x []float32, mean float64) {
	for i, v := range x {
		t := float64(v) - mean
		a[i%16] += float64(t * t)
	}
}

func sum(x []float32) float64 {
	var a lanes64
	sumLanes(&a, x)
	return a.sum()
}

// sumSquares returns the sum of (x−mean)².
func sumSquares(x []float32, mean float64) float64 {
	var a lanes64
	sumSquaresLanes(&a, x, mean)
	return a.sum()
}
