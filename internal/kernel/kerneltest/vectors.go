package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
)

// lengths covers every remainder of every vector width.
var lengths = []int{0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 256, 1000}

// A vectorFunc is one elementwise function: f writes dst from up to three
// operands; want returns one value in float64 and the allowed error.
type vectorFunc struct {
	name string
	f    func(dst, a, b, c []float32)
	want func(a, b, c float64) (want, tol float64)
}

// ulps returns n units in the last place of v as a float32.
func ulps(n, v float64) float64 {
	return n * max(math.Abs(v)*0x1p-23, math.SmallestNonzeroFloat32)
}

// relative returns f with a tolerance of n ulp.
func relative(n float64, f func(x float64) float64) func(a, b, c float64) (float64, float64) {
	return func(a, _, _ float64) (float64, float64) { v := f(a); return v, ulps(n, v) }
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func silu(x float64) float64    { return x * sigmoid(x) }
func geluTanh(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}
func geluErf(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
func relu2(x float64) float64   { return max(x, 0) * max(x, 0) }

// absolute returns f with a tolerance of t·|x|.
func absolute(t float64, f func(x float64) float64) func(a, b, c float64) (float64, float64) {
	return func(a, _, _ float64) (float64, float64) { return f(a), t*math.Abs(a) + 1e-37 }
}

// siluWithin allows 5 ulp, and zero for results below 2⁻¹²⁰.
func siluWithin(a, _, _ float64) (float64, float64) { v := silu(a); return v, ulps(5, v) + 1e-36 }

// times multiplies a function by the second operand.
func times(f func(a, b, c float64) (float64, float64)) func(a, b, c float64) (float64, float64) {
	return func(a, b, c float64) (float64, float64) {
		v, tol := f(a, b, c)
		return v * b, tol*math.Abs(b) + ulps(1, v*b)
	}
}

func unary(f func(dst, src []float32)) func(dst, a, b, c []float32) {
	return func(dst, a, _, _ []float32) { f(dst, a) }
}

func gated(f func(dst, gate, up []float32)) func(dst, a, b, c []float32) {
	return func(dst, a, b, _ []float32) { f(dst, a, b) }
}

var vectorFuncs = []vectorFunc{
	{"Exp", unary(kernel.Exp), relative(2, math.Exp)},
	{"Sigmoid", unary(kernel.Sigmoid), relative(4, sigmoid)},
	{"Tanh", unary(kernel.Tanh), relative(8, math.Tanh)},
	{"SiLU", unary(kernel.SiLU), siluWithin},
	{"GELUTanh", unary(kernel.GELUTanh), absolute(4e-7, geluTanh)},
	{"GELUErf", unary(kernel.GELUErf), absolute(4e-7, geluErf)},
	{"ReLU", unary(kernel.ReLU), relative(0, func(x float64) float64 { return max(x, 0) })},
	{"ReLU2", unary(kernel.ReLU2), relative(1, relu2)},
	{"SiLUMul", gated(kernel.SiLUMul), times(siluWithin)},
	{"GELUTanhMul", gated(kernel.GELUTanhMul), times(absolute(4e-7, geluTanh))},
	{"GELUErfMul", gated(kernel.GELUErfMul), times(absolute(4e-7, geluErf))},
	{"Mul", gated(kernel.Mul), func(a, b, _ float64) (float64, float64) { return a * b, ulps(1, a*b) }},
	{"Add", func(dst, a, b, _ []float32) { kernel.Add(dst, a, b, 0.3) },
		func(a, b, _ float64) (float64, float64) {
			s := float64(float32(0.3)) * b
			return a + s, ulps(1, s) + ulps(1, a+s)
		}},
	{"AddBias", func(dst, a, b, _ []float32) { copy(dst, a); kernel.AddBias(dst, b) },
		func(a, b, _ float64) (float64, float64) { return a + b, ulps(1, a+b) }},
	{"Scale", func(dst, a, _, _ []float32) { copy(dst, a); kernel.Scale(dst, 1.7) },
		func(a, _, _ float64) (float64, float64) { v := a * float64(float32(1.7)); return v, ulps(1, v) }},
	{"Softcap", func(dst, a, _, _ []float32) { copy(dst, a); kernel.Softcap(dst, 30) },
		func(a, _, _ float64) (float64, float64) { // x/30 may be subnormal: half a step of it, times 30
			v := 30 * math.Tanh(a/30)
			return v, ulps(11, v) + 30*math.SmallestNonzeroFloat32
		}},
	{"RMSNorm", func(dst, a, b, _ []float32) { kernel.RMSNorm(dst, a, b, 1e-6, 1) }, nil},
	{"RMSNormPlain", func(dst, a, _, _ []float32) { kernel.RMSNorm(dst, a, nil, 1e-6, 0) }, nil},
	{"LayerNorm", func(dst, a, b, c []float32) { kernel.LayerNorm(dst, a, b, c, 1e-5) }, nil},
	{"LayerNormNoBias", func(dst, a, b, _ []float32) { kernel.LayerNorm(dst, a, b, nil, 1e-5) }, nil},
	{"LayerNormPlain", func(dst, a, _, _ []float32) { kernel.LayerNorm(dst, a, nil, nil, 1e-5) }, nil},
	{"SoftmaxSpan", func(dst, a, _, _ []float32) {
		var line [1024]float32
		if n := copy(line[:], a); n > 0 {
			top, sum := kernel.SoftmaxSpan(line[:], n/3, n)
			copy(dst, line[:n])
			dst[0], dst[n-1] = top, sum // two values for two others
		}
	}, nil},
	{"Rope", func(dst, a, b, c []float32) { copy(dst, a); n := len(a) / 2; kernel.Rope(dst, b[:n], c[:n], false) }, nil},
	{"RopeInterleaved", func(dst, a, b, c []float32) { copy(dst, a); n := len(a) / 2; kernel.Rope(dst, b[:n], c[:n], true) }, nil},
	{"Prepare", func(dst, a, _, _ []float32) {
		form := kernel.FormQ8
		p := make([]byte, form.RowBytes(len(a)))
		form.Prepare(p, a)
		for i := range dst { // three byte strides cover a row of 352 for 256
			dst[i] = float32(p[i]) + 256*float32(p[i+len(p)-len(dst)])
		}
	}, nil},
}

// vectors checks the functions of rows and values: bit for bit against the
// portable variant, against float64, and with dst aliasing an operand.
func vectors(t *testing.T) {
	for _, f := range vectorFuncs {
		t.Run(f.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			for _, n := range lengths {
				for _, spread := range []float32{0.01, 1, 20, 1e30} {
					a, b, c := Floats(r, n), Floats(r, n), Floats(r, n)
					for i := range a {
						a[i] *= spread
					}
					checkVector(t, f, a, b, c)
					if n > 4 {
						a[r.IntN(n)] = odd[r.IntN(len(odd))]
						a[r.IntN(n)] = odd[r.IntN(len(odd))]
						checkVector(t, f, a, b, c)
					}
				}
			}
		})
	}
	t.Run("values", vectorValues)
}

// odd holds values at the edges of ranges.
var odd = []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-38, 88.72, 88.73, -87.4, -103.9, -104.5, 9, -9, 4, 0.0004, -0.00039,
	math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

func checkVector(t testing.TB, f vectorFunc, a, b, c []float32) {
	t.Helper()
	n := len(a)
	got, want := make([]float32, n), make([]float32, n)
	f.f(got, a, b, c)
	portably(t, func() { f.f(want, a, b, c) })
	same(t, fmt.Sprintf("%s of %d", f.name, n), got, want)
	in := append([]float32(nil), a...)
	f.f(in, in, b, c)
	same(t, f.name+" in place", in, want)
	if f.want == nil {
		return
	}
	for i, v := range got {
		w, tol := f.want(float64(a[i]), float64(b[i]), float64(c[i]))
		if math.Abs(w) < math.MaxFloat32 && (w == 0 || math.Abs(w) > 0x1p-126) && math.Abs(float64(a[i])) < 1e18 {
			near(t, fmt.Sprintf("%s(%g)", f.name, a[i]), v, w, tol)
		}
	}
}

// vectorValues checks the functions that do not map elements to elements.
func vectorValues(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range lengths[1:] {
		x, w, b := Floats(r, n), Floats(r, n), Floats(r, n)
		var sum, squares float64
		for _, v := range x {
			sum, squares = sum+float64(v), squares+float64(v)*float64(v)
		}
		mean := sum / float64(n)
		var variance float64
		for _, v := range x {
			variance += (float64(v) - mean) * (float64(v) - mean) / float64(n)
		}
		rms, ln := make([]float32, n), make([]float32, n)
		kernel.RMSNorm(rms, x, w, 1e-5, 1)
		kernel.LayerNorm(ln, x, w, b, 1e-5)
		best := 0
		for i, v := range x {
			want := float64(v) / math.Sqrt(squares/float64(n)+1e-5) * (float64(w[i]) + 1)
			near(t, "RMSNorm", rms[i], want, 4e-7*math.Abs(want))
			want = (float64(v)-mean)/math.Sqrt(variance+1e-5)*float64(w[i]) + float64(b[i])
			near(t, "LayerNorm", ln[i], want, 2e-6*(1+math.Abs(want)))
			if v > x[best] {
				best = i
			}
		}
		if got := kernel.ArgMax(x); got != best {
			t.Fatalf("ArgMax: got %d, want %d", got, best)
		}
	}
	nan := float32(math.NaN())
	if got := kernel.ArgMax([]float32{nan, 1, nan, 3, 3}); got != 3 {
		t.Errorf("ArgMax among NaN: got %d, want 3", got)
	}
	rope(t)
}

func rope(t *testing.T) {
	const half, pos = 20, 1234
	inv, cos, sin := make([]float32, half), make([]float32, half), make([]float32, half)
	for i := range inv {
		inv[i] = float32(math.Pow(10000, -float64(i)/half))
	}
	kernel.RopeTable(cos, sin, inv, pos, 1.5)
	x := make([]float32, 2*half+3)
	for i := range x {
		x[i] = float32(i + 1)
	}
	a, b := append([]float32(nil), x...), append([]float32(nil), x...)
	kernel.Rope(a, cos, sin, false)
	kernel.Rope(b, cos, sin, true)
	for i := range half {
		angle := float64(float32(pos) * inv[i])
		c, s := 1.5*math.Cos(angle), 1.5*math.Sin(angle)
		for _, v := range []struct {
			name       string
			got, other float32
			p, q       int
		}{{"halves", a[i], a[i+half], i, i + half}, {"interleaved", b[2*i], b[2*i+1], 2 * i, 2*i + 1}} {
			p, q := float64(x[v.p]), float64(x[v.q])
			near(t, v.name, v.got, p*c-q*s, 2e-5)
			near(t, v.name, v.other, q*c+p*s, 2e-5)
		}
	}
	same(t, "beyond the rotated values", a[2*half:], x[2*half:])
}
