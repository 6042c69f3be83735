package kernel

import (
	"math"
)

// RMSNorm writes src/√(mean of squares + eps) times (weight + offset); a nil
// weight means ones without an offset. Squares are summed in float64, in 16
// lanes like every sum in this file. dst may be src.
func RMSNorm(dst, src, weight []float32, eps, offset float32) {
	n := len(src)
	inv := 1 / math.Sqrt(sumSquares(src, 0)/float64(n)+float64(eps))
	normalize(dst[:n], src, weight, nil, 0, float32(inv), offset)
}

// LayerNorm writes (src − mean)/√(variance + eps), times weight, plus bias;
// either may be nil. Sums are in float64. dst may be src.
func LayerNorm(dst, src, weight, bias []float32, eps float32) {
	n := len(src)
	mean := sum(src) / float64(n)
	inv := 1 / math.Sqrt(sumSquares(src, mean)/float64(n)+float64(eps))
	normalize(dst[:n], src, weight, bias, float32(mean), float32(inv), 0)
}

// normalizeGeneric writes (src−mean)·inv·(weight+offset)+bias, rounding each
// step.
func normalizeGeneric(dst, src, weight, bias []float32, mean, inv, offset float32) {
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

type lanes = Lanes
type lanes64 = Lanes64

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
	return a.Sum()
}

// SumSquares returns the sum of x², in float64 and 16 lanes.
func SumSquares(x []float32) float64 { return sumSquares(x, 0) }

// sumSquares returns the sum of (x−mean)².
func sumSquares(x []float32, mean float64) float64 {
	var a lanes64
	sumSquaresLanes(&a, x, mean)
	return a.Sum()
}
