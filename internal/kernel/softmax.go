package kernel

import "math"

// Softmax replaces x by its softmax: e^(x−max) over the sum of those, added
// in 16 lanes. A row of −∞ becomes zeros.
func Softmax(x []float32) {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(float64(top), -1) {
		clear(x)
		return
	}
	var a lanes
	expSum(&a, x, top)
	scaleBy(x, 1/a.sum())
}

// expSumGeneric replaces x by e^(x−top) and adds it to the lanes.
func expSumGeneric(a *lanes, x []float32, top float32) {
	for i, v := range x {
		e := exp32(v - top)
		x[i] = e
		a[i%16] += e
	}
}
