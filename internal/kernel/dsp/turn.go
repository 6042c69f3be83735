// Sines and cosines of phases.

package dsp

import "math"

// Turn returns sin 2πt and cos 2πt for t from 0 to 1. Since phases are small it
// is cheaper than [math.Sincos], to the same precision; the polynomials are
// those of the Cephes library (Moshier, Methods and Programs for Mathematical
// Functions, 1989).
func Turn(t float64) (sin, cos float64) {
	quarter, x := quarters(t)
	sin, cos = shortSin(x), shortCos(x)
	switch quarter & 3 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}

// SinTurn returns only the sine of [Turn].
func SinTurn(t float64) float64 {
	quarter, x := quarters(t)
	v := 0.0
	if quarter&1 == 0 {
		v = shortSin(x)
	} else {
		v = shortCos(x)
	}
	if quarter&2 != 0 {
		return -v
	}
	return v
}

// quarters returns the nearest quarter of a turn and the remaining angle.
func quarters(t float64) (quarter int, x float64) {
	quarter = int(4*t + .5)
	return quarter, (t - float64(quarter)/4) * (2 * math.Pi)
}

// shortSin and shortCos are for angles within π/4.
func shortSin(x float64) float64 {
	z := x * x
	p := ((((1.58962301576546568060e-10*z-2.50507477628578072866e-8)*z+2.75573136213857245213e-6)*z-1.98412698295895385996e-4)*z + 8.33333333332211858878e-3) * z
	return x + x*z*(p-1.66666666666666307295e-1)
}

func shortCos(x float64) float64 {
	z := x * x
	p := ((((-1.13585365213876817300e-11*z+2.08757008419747316778e-9)*z-2.75573141792967388112e-7)*z+2.48015872888517045348e-5)*z - 1.38888888888730564116e-3) * z
	return 1 - z/2 + z*z*(p+4.16666666666665929218e-2)
}
