//go:build !arm64

package kernel

import "math"

// FMA returns a·b+c rounded once, to nearest even. Rounding first to float64 and
// then to float32 gives another result only if the first rounding lands halfway
// between two float32 values or below their normal range.
func FMA(a, b, c float32) float32 {
	s := float64(a)*float64(b) + float64(c)
	if u := math.Float64bits(s); u<<35 == 1<<63 || u<<1>>53 < 897 {
		return fmaSlow(a, b, c)
	}
	return float32(s)
}
