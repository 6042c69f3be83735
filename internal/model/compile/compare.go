package compile

import (
	"math"
	"slices"
)

// Same reports whether two tables rotate alike, however they are described.
func (r *RotaryTable) Same(o *RotaryTable) bool {
	if o == nil || r.Dim != o.Dim || r.Scale != o.Scale || (r.Scaling == Dynamic) != (o.Scaling == Dynamic) || (r.Scaling == Long) != (o.Scaling == Long) {
		return false
	}
	if r.Scaling == Dynamic && (r.Theta != o.Theta || r.Factor != o.Factor) {
		return false
	}
	if (r.Scaling == Dynamic || r.Scaling == Long) && r.Original != o.Original {
		return false
	}
	inv, long := r.Frequencies()
	inv2, long2 := o.Frequencies()
	return slices.Equal(inv, inv2) && slices.Equal(long, long2)
}

// Divisors returns the quotients of plain and scaled frequencies. Among a
// quotient and its neighbouring floats it takes the one that divides back to the
// same frequency, so that a file reads back unchanged.
func (r *RotaryTable) Divisors() []float32 {
	inv, _ := r.Frequencies()
	plain, _ := (&RotaryTable{Dim: r.Dim, Theta: r.Theta, Scaling: PlainRope}).Frequencies()
	out := make([]float32, len(inv))
	for i := range inv {
		d := plain[i] / inv[i]
		out[i] = d
		lo, hi := d, d
		for range 4 {
			if plain[i]/lo == inv[i] {
				out[i] = lo
				break
			}
			if plain[i]/hi == inv[i] {
				out[i] = hi
				break
			}
			lo, hi = math.Nextafter32(lo, 0), math.Nextafter32(hi, math.MaxFloat32)
		}
	}
	return out
}
