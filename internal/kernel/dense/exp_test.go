package dense_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
	"atenia/internal/kernel/dense"
)

// The float32 exponential is fast where its result is normal: within 1 unit in
// the last place of a result rounded to nearest, which itself is half a unit off.
const expUlp = 1.5

// smallestNormal is that of float32.
const smallestNormal = 0x1p-126

// expFault says what is wrong with the exponential of x in float32, or nothing.
func expFault(x, got float32) string {
	want := math.Exp(float64(x))
	switch {
	case x != x:
		if got == got {
			return "NaN becomes a number"
		}
	case want >= smallestNormal && want <= math.MaxFloat32:
		_, e := math.Frexp(want)
		if !(math.Abs(float64(got)-want) <= expUlp*math.Ldexp(1, e-24)) {
			return "more than 1.5 units in the last place off"
		}
	case want > math.MaxFloat32*(1+0x1p-24):
		if !math.IsInf(float64(got), 1) {
			return "no overflow"
		}
	case want < smallestNormal:
		if !(got >= 0 && got <= smallestNormal) {
			return "no underflow"
		}
	}
	return ""
}

// specials are arguments at and about the ends of what can be represented.
var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32, -math.MaxFloat32, math.MaxFloat64, -math.MaxFloat64,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64, 0x1p-25, -0x1p-25, math.Ln2, -math.Ln2, math.Ln2 / 2, -math.Ln2 / 2,
	88, 88.7, 88.72283, 88.72284, 88.8, 89, 1e4, -86, -87, -87.3, -87.33654, -87.34, -88, -103, -104, -150, 709, 709.78, 709.79, 710, -708, -745, -746}

// TestExp checks special values, short and long vectors and the overlap of
// operands, in both precisions and every variant.
func TestExp(t *testing.T) {
	best := kernel.Variant()
	t.Cleanup(func() { kernel.SetVariant(best) })
	r := rand.New(rand.NewPCG(7, 7))
	for _, variant := range kernel.Variants() {
		kernel.SetVariant(variant)
		for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 33, len(specials), 1001} {
			singles, doubles := make([]float32, n), make([]float64, n)
			for i := range n {
				v := 200*r.Float64() - 110
				if i < len(specials) {
					v = specials[(i+n)%len(specials)]
				}
				singles[i], doubles[i] = float32(v), v
			}
			to, in := make([]float32, n+3), append([]float32(nil), singles...)
			to[n] = 5
			dense.Exp(to, singles)
			dense.Exp(in, in)
			for i, x := range singles {
				if fault := expFault(x, to[i]); fault != "" {
					t.Errorf("%s, %d of %d values: e^%v is %v, want %v: %s", variant, i, n, x, to[i], math.Exp(float64(x)), fault)
				}
				if math.Float32bits(in[i]) != math.Float32bits(to[i]) && (in[i] == in[i] || to[i] == to[i]) {
					t.Errorf("%s: e^%v is %v in place, %v elsewhere", variant, x, in[i], to[i])
				}
			}
			if to[n] != 5 || to[n+1] != 0 {
				t.Errorf("%s: values behind the %d are written", variant, n)
			}
			wide := make([]float64, n)
			dense.Exp(wide, doubles)
			for i, x := range doubles {
				if want := math.Exp(x); wide[i] != want && (want == want || wide[i] == wide[i]) {
					t.Errorf("float64: e^%v is %v, want %v", x, wide[i], want)
				}
			}
		}
	}
}

// FuzzExp compares the exponential of any number, at any place of a vector, with
// math.Exp, and all variants of it with each other.
func FuzzExp(f *testing.F) {
	for i, x := range specials {
		f.Add(math.Float64bits(x), uint8(i))
	}
	best := kernel.Variant()
	f.Cleanup(func() { kernel.SetVariant(best) })
	f.Fuzz(func(t *testing.T, bits uint64, place uint8) {
		wide := []float64{math.Float64frombits(bits)}
		// The same bits serve as a float32 too, so that all of its exponents occur.
		for _, x := range []float32{float32(wide[0]), math.Float32frombits(uint32(bits))} {
			var first float32
			for i, variant := range kernel.Variants() {
				kernel.SetVariant(variant)
				v := make([]float32, int(place)+1)
				v[place] = x
				dense.Exp(v, v)
				if i == 0 {
					first = v[place]
				}
				if math.Float32bits(v[place]) != math.Float32bits(first) && (first == first || v[place] == v[place]) {
					t.Fatalf("e^%v is %v in %s, %v portable", x, v[place], variant, first)
				}
				if fault := expFault(x, v[place]); fault != "" {
					t.Fatalf("%s: e^%v is %v, want %v: %s", variant, x, v[place], math.Exp(float64(x)), fault)
				}
				if place > 0 && v[0] != 1 {
					t.Fatalf("%s: e^0 is %v", variant, v[0])
				}
			}
		}
		x := wide[0]
		dense.Exp(wide, wide)
		if want := math.Exp(x); wide[0] != want && (want == want || wide[0] == wide[0]) {
			t.Fatalf("float64: e^%v is %v, want %v", x, wide[0], want)
		}
	})
}
