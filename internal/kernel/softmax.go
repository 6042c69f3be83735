package kernel

import "math"

// Softmax replaces x by its softmax: e^(x−max) over the sum of those, added
// in 16 lanes. A row of −∞ becomes zeros.
func Softmax(x []float32) {
	top := maxOf(x)
	if math.IsInf(float64(top), -1) {
		for i, v := range x {
			if v == v {
				x[i] = 0
			}
		}
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

// maxGeneric returns the largest number, −∞ if there is none.
func maxGeneric(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	return top
}
