package quant

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"atenia/tensor"
)

// gaussian returns n values of unit variance and nearly normal distribution:
// sums of twelve 16-bit numbers, hence the same on every machine.
func gaussian(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n)
	for i := range x {
		sum := -6 * 65535
		for range 12 {
			sum += int(r.Uint32() >> 16)
		}
		x[i] = float32(sum) / 65536
	}
	return x
}

// rowImportance returns uneven weights for n columns, between 1/64 and 64.
func rowImportance(n int) []float32 {
	r := rand.New(rand.NewPCG(3, 4))
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(math.Ldexp(1, int(r.Uint32()>>16)%13-6))
	}
	return w
}

// awkward returns blocks of all sizes from 2⁻¹² to 2¹²: Gaussian ones,
// multiples of an eighth (many ties), all positive, all negative, and zeros.
func awkward() []float32 {
	x := gaussian(256 * 40)
	for i := range x {
		block := i / 256
		v := x[i]
		switch block % 5 {
		case 1:
			v = float32(math.Round(float64(v)*8)) / 8
		case 2:
			v = abs(v)
		case 3:
			v = -abs(v) - 1
		case 4:
			if block%10 == 4 && i%3 > 0 {
				v = 0
			}
			if block == 39 {
				v = 0
			}
		}
		x[i] = v * float32(math.Ldexp(1, i/32%25-12))
	}
	return x
}

func roundTrip(t testing.TB, d tensor.DType, x, imp []float32) (packed []byte, y []float32) {
	t.Helper()
	n, err := d.RowBytes(len(x))
	if err != nil {
		t.Fatal(err)
	}
	packed, y = make([]byte, n), make([]float32, len(x))
	if err := Quantize(packed, d, x, imp); err != nil {
		t.Fatal(err)
	}
	if err := Dequantize(y, d, packed); err != nil {
		t.Fatal(err)
	}
	return packed, y
}

// TestQuantizeReference compares digests of difficult blocks with those of ggml's
// reference functions.
func TestQuantizeReference(t *testing.T) {
	for d, want := range map[tensor.DType]string{
		tensor.Q4_0:  "f52a594f2bc70e57",
		tensor.Q4_1:  "cbbba5c286613222",
		tensor.Q5_0:  "27e6f577ea644a5e",
		tensor.Q5_1:  "4aaf3ac3cbde7e17",
		tensor.Q8_0:  "49c7696d30148027",
		tensor.MXFP4: "5d5032fafa51ba54",
		tensor.TQ1_0: "05cc0e0cd0ddd727",
		tensor.TQ2_0: "3c7f26d61bad0d33",
		tensor.BF16:  "d398e6156d4c0524",
		tensor.F16:   "afddf462114525f3",
		tensor.Q8_K:  "ff4d2a5ac800600d",
		tensor.Q8_1:  "92be456430cdd847",
	} {
		t.Run(d.String(), func(t *testing.T) {
			x := awkward()
			if d == tensor.Q8_1 { // its sums must fit a half
				for i := range x {
					x[i] /= 64
				}
			}
			packed, _ := roundTrip(t, d, x, nil)
			sum := sha256.Sum256(packed)
			if got := hex.EncodeToString(sum[:8]); got != want {
				t.Errorf("digest %s, want %s", got, want)
			}
		})
	}
}

// TestQuantizeError bounds the root mean square error on 65,536 Gaussian
// values, unweighted and, for uneven importance, weighted. ggml's own errors
// on the same values are in the table for comparison.
func TestQuantizeError(t *testing.T) {
	const cols = 1024
	x, imp := gaussian(64*cols), rowImportance(cols)
	for _, c := range []struct {
		d               tensor.DType
		plain, ggml     float64
		weighted, ggmlW float64
	}{
		{tensor.Q4_0, 0.08462, 0.08461, 0.06943, 0.06970},
		{tensor.Q4_1, 0.07732, 0.07731, 0.05399, 0.05463},
		{tensor.Q5_0, 0.04204, 0.04203, 0.03462, 0.03479},
		{tensor.Q5_1, 0.03749, 0.03748, 0.02613, 0.02647},
		{tensor.Q8_0, 0.00528, 0.00527, 0.00530, 0.00529},
		{tensor.Q2_K, 0.26298, 0.29391, 0.17987, 0.18817},
		{tensor.Q3_K, 0.14399, 0.14977, 0.11652, 0.11656},
		{tensor.Q4_K, 0.06932, 0.07045, 0.05470, 0.05586},
		{tensor.Q5_K, 0.03426, 0.03556, 0.02780, 0.02927},
		{tensor.Q6_K, 0.01707, 0.01748, 0.01428, 0.01431},
		{tensor.IQ4_NL, 0.07433, 0.07562, 0.06258, 0.06361},
		{tensor.IQ4_XS, 0.07499, 0.07619, 0.06336, 0.06449},
		{tensor.MXFP4, 0.11532, 0.11531, 0.11076, 0.11532},
	} {
		t.Run(c.d.String(), func(t *testing.T) {
			_, y := roundTrip(t, c.d, x, nil)
			var sum float64
			for i := range x {
				sum += math.Pow(float64(x[i])-float64(y[i]), 2)
			}
			_, y = roundTrip(t, c.d, x, imp)
			var sumW, weight float64
			for i := range x {
				w := float64(imp[i%cols])
				sumW += w * math.Pow(float64(x[i])-float64(y[i]), 2)
				weight += w
			}
			plain, weighted := math.Sqrt(sum/float64(len(x))), math.Sqrt(sumW/weight)
			t.Logf("plain %.5f (ggml %.5f), weighted %.5f (ggml %.5f)", plain, c.ggml, weighted, c.ggmlW)
			if plain > c.plain || weighted > c.weighted {
				t.Errorf("error %.6f, bound %.6f; weighted %.6f, bound %.6f", plain, c.plain, weighted, c.weighted)
			}
		})
	}
}

// TestQuantizeRows: a row's bytes do not depend on the rows around it, and
// importance is used again for every row.
func TestQuantizeRows(t *testing.T) {
	x, imp := gaussian(4*512), rowImportance(512)
	for d := range tensor.DType(tensor.NumDTypes) {
		if formats[d].encode == nil {
			continue
		}
		for _, w := range [][]float32{nil, imp} {
			all, _ := roundTrip(t, d, x, w)
			var rows []byte
			for r := range 4 {
				one, _ := roundTrip(t, d, x[512*r:512*r+512], w)
				rows = append(rows, one...)
			}
			if !bytes.Equal(all, rows) {
				t.Errorf("%s, importance %t: rows taken alone differ", d, w != nil)
			}
		}
	}
}

// TestQuantizeZeros: zeros stay zeros, also those of no importance.
func TestQuantizeZeros(t *testing.T) {
	for d := range tensor.DType(tensor.NumDTypes) {
		if formats[d].encode == nil {
			continue
		}
		for _, imp := range [][]float32{nil, make([]float32, 256)} {
			_, y := roundTrip(t, d, make([]float32, 512), imp)
			for i, v := range y {
				if v != 0 {
					t.Fatalf("%s: zero %d became %v", d, i, v)
				}
			}
		}
	}
}

// TestPlain checks the types with one value a block at their corners.
func TestPlain(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		d    tensor.DType
		src  string // hex
		want []float32
	}{
		{tensor.F32, "0000803f000000c0", []float32{1, -2}},
		{tensor.F64, "000000000000f0bf0000000000000080", []float32{-1, float32(math.Copysign(0, -1))}},
		{tensor.I8, "80ff7f", []float32{-128, -1, 127}},
		{tensor.I16, "0080ffff", []float32{-32768, -1}},
		{tensor.I32, "00000080ffffff7f", []float32{-1 << 31, 1 << 31}},
		{tensor.I64, "feffffffffffffff0000000000000080", []float32{-2, -1 << 63}},
		{tensor.U8, "80ff", []float32{128, 255}},
		{tensor.U16, "ffff", []float32{65535}},
		{tensor.U32, "ffffffff", []float32{1 << 32}},
		{tensor.U64, "ffffffffffffffff", []float32{1 << 63 * 2}},
		{tensor.Bool, "000102", []float32{0, 1, 1}},
		{tensor.F8E4M3, "00010738407e81fe", []float32{0, 1. / 512, 7. / 512, 1, 2, 448, -1. / 512, -448}},
		{tensor.F8E5M2, "00013c7b7cfc84", []float32{0, 1. / 65536, 1, 57344, inf, -inf, -1. / 16384}},
	} {
		src, err := hex.DecodeString(c.src)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(c.want))
		if err := Dequantize(got, c.d, src); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if math.Float32bits(got[i]) != math.Float32bits(c.want[i]) {
				t.Errorf("%s value %d: got %v, want %v", c.d, i, got[i], c.want[i])
			}
		}
	}
	nan := make([]float32, 2)
	if err := Dequantize(nan, tensor.F8E4M3, []byte{0x7f, 0xff}); err != nil || nan[0] == nan[0] || nan[1] == nan[1] {
		t.Errorf("E4M3 0x7f, 0xff: got %v, %v", nan, err)
	}
}

func TestErrors(t *testing.T) {
	row := func(at int, v float32) []float32 {
		x := make([]float32, 512)
		x[at] = v
		return x
	}
	bytesFor := func(d tensor.DType) []byte { n, _ := d.RowBytes(512); return make([]byte, n) }
	nan := float32(math.NaN())
	for _, c := range []struct {
		err  error
		want string
	}{
		{Dequantize(make([]float32, 33), tensor.Q4_0, nil), "a row of 33 values does not divide into blocks of 32 (Q4_0)"},
		{Dequantize(make([]float32, 32), tensor.Q4_0, make([]byte, 17)), "dequantize Q4_0: 32 values take 18 bytes, got 17"},
		{Dequantize(nil, tensor.Invalid, nil), "dequantize: unknown element type INVALID"},
		{Dequantize(nil, 200, nil), "dequantize: unknown element type DType(200)"},
		{Quantize(nil, 200, nil, nil), "quantize: unknown element type DType(200)"},
		{Quantize(nil, tensor.IQ3_S, nil, nil), "quantize: IQ3_S can be read but not written here, use Q3_K instead"},
		{Quantize(make([]byte, 1), tensor.Q8_0, row(0, 0), nil), "quantize Q8_0: 512 values take 544 bytes, got 1"},
		{Quantize(bytesFor(tensor.Q4_K), tensor.Q4_K, row(77, nan), nil), "quantize: value 77 is NaN"},
		{Quantize(bytesFor(tensor.F32), tensor.F32, row(3, float32(math.Inf(-1))), nil), "quantize: value 3 is -Inf"},
		{Quantize(bytesFor(tensor.Q4_0), tensor.Q4_0, row(40, 1e6), nil), "quantize: value 40, 1e+06, is beyond the range of Q4_0"},
		{Quantize(bytesFor(tensor.Q6_K), tensor.Q6_K, row(300, -3e38), nil), "quantize: value 300, -3e+38, is beyond the range of Q6_K"},
		{Quantize(bytesFor(tensor.F16), tensor.F16, row(9, 65520), nil), "quantize: value 9, 65520, is beyond the range of F16"},
		{Quantize(bytesFor(tensor.BF16), tensor.BF16, row(9, math.MaxFloat32), nil), "quantize: value 9, 3.4028235e+38, is beyond the range of BF16"},
		{Quantize(bytesFor(tensor.Q4_0), tensor.Q4_0, row(0, 0), make([]float32, 48)), "quantize Q4_0: 48 importance weights do not fit rows of 512 values"},
		{Quantize(bytesFor(tensor.Q4_0), tensor.Q4_0, row(0, 0), row(5, -1)), "quantize Q4_0: importance weight 5 is -1"},
		{Quantize(bytesFor(tensor.Q4_0), tensor.Q4_0, row(0, 0), row(6, nan)), "quantize Q4_0: importance weight 6 is NaN"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got %q, want %q", c.err, c.want)
		}
	}
}

// typed reports whether an error is one that the package documents.
func typed(err error) bool {
	_, a := errors.AsType[*lengthError](err)
	_, b := errors.AsType[*typeError](err)
	_, c := errors.AsType[*tensor.BlockError](err)
	_, d := errors.AsType[*NonFiniteError](err)
	_, e := errors.AsType[*rangeError](err)
	_, f := errors.AsType[*importanceError](err)
	return a || b || c || d || e || f
}

func FuzzDequantize(f *testing.F) {
	for d := range tensor.NumDTypes {
		v, b := tensor.DType(d).Block()
		f.Add(uint8(d), v, bytes.Repeat([]byte{0xff}, b))
		f.Add(uint8(d), 2*v, bytes.Repeat([]byte{0x5a}, 2*b))
		f.Add(uint8(d), v+1, []byte{1})
	}
	f.Fuzz(func(t *testing.T, d uint8, values int, src []byte) {
		dst := make([]float32, min(max(values, 0), 4096))
		err := Dequantize(dst, tensor.DType(d), src)
		want, blockErr := tensor.DType(d).RowBytes(len(dst))
		if known := int(d) < tensor.NumDTypes && d > 0; (err == nil) != (known && blockErr == nil && want == len(src)) {
			t.Fatalf("%s, %d values in %d bytes: %v", tensor.DType(d), len(dst), len(src), err)
		}
		if err != nil && !typed(err) {
			t.Fatalf("untyped error %v", err)
		}
	})
}

// bounds has, for each format, the largest root mean square error of a block
// as a part of its largest magnitude, for blocks large enough for their
// scales to be normal halves.
var bounds = map[tensor.DType]float64{
	tensor.F32: 0, tensor.F16: 1. / 2048, tensor.BF16: 1. / 256,
	tensor.Q4_0: 0.126, tensor.Q4_1: 0.07, tensor.Q5_0: 0.064, tensor.Q5_1: 0.035,
	tensor.Q8_0: 0.0045, tensor.Q8_1: 0.0045, tensor.Q8_K: 0.004,
	tensor.Q2_K: 0.5, tensor.Q3_K: 0.35, tensor.Q4_K: 0.11, tensor.Q5_K: 0.065, tensor.Q6_K: 0.045,
	tensor.IQ4_NL: 0.15, tensor.IQ4_XS: 0.17, tensor.MXFP4: 0.26, tensor.TQ1_0: 0.501, tensor.TQ2_0: 0.501,
}

func FuzzQuantizeRoundTrip(f *testing.F) {
	for d := range bounds {
		f.Add(uint8(d), false, int8(0), []byte{0, 1, 2, 3, 255, 128, 127, 129, 64})
		f.Add(uint8(d), true, int8(20), []byte{255, 0, 0, 7})
		f.Add(uint8(d), false, int8(-30), []byte{1})
		f.Add(uint8(d), false, int8(120), []byte{127, 128})
	}
	// Scales that round to few steps of a subnormal half: these were found.
	f.Add(uint8(tensor.Q5_K), false, int8(-23), []byte("\xc90"))
	f.Add(uint8(tensor.Q4_1), false, int8(-30), []byte("\x80X"))
	f.Fuzz(func(t *testing.T, kind uint8, weigh bool, exp int8, data []byte) {
		d := tensor.DType(kind)
		bound, ok := bounds[d]
		if !ok || len(data) == 0 {
			return
		}
		n, _ := d.Block()
		x := make([]float32, 2*n)
		var imp []float32
		for i := range x {
			x[i] = float32(math.Ldexp(float64(int8(data[i%len(data)])), int(exp)-i%5))
			if weigh {
				imp = append(imp, float32(data[i*7%len(data)]))
			}
		}
		packed := make([]byte, len(x)*8)
		size, _ := d.RowBytes(len(x))
		packed = packed[:size]
		if err := Quantize(packed, d, x, imp); err != nil {
			if !typed(err) || abs(x[peakIndex(x)]) < safe {
				t.Fatal(err)
			}
			return
		}
		y := make([]float32, len(x))
		if err := Dequantize(y, d, packed); err != nil {
			t.Fatal(err)
		}
		for b := 0; b < len(x); b += n {
			peak, sum := float64(abs(x[b+peakIndex(x[b:b+n])])), 0.0
			for i := b; i < b+n; i++ {
				if math.IsInf(float64(y[i]), 0) || y[i] != y[i] {
					t.Fatalf("%s: value %d, %v, became %v", d, i, x[i], y[i])
				}
				sum += math.Pow(float64(x[i])-float64(y[i]), 2)
			}
			limit := bound * peak
			switch d {
			case tensor.F32, tensor.BF16, tensor.Q8_K, tensor.MXFP4:
				if peak < 1e-35 { // subnormal values or scales
					limit = 1.01 * peak
				}
			default: // half-precision scales
				if peak < 0.25 {
					limit = 1.01*peak + 32*math.Ldexp(1, -24)
				}
			}
			// With importance the error of a single value is not bounded.
			if rms := math.Sqrt(sum / float64(n)); imp == nil && rms > limit {
				t.Fatalf("%s: block at %d: error %v, bound %v", d, b, rms, limit)
			}
		}
	})
}

func BenchmarkDequantize(b *testing.B) {
	const n = 1 << 16
	for d := range tensor.DType(tensor.NumDTypes) {
		size, err := d.RowBytes(n)
		if err != nil {
			continue
		}
		b.Run(strings.ToLower(d.String()), func(b *testing.B) {
			src, dst := make([]byte, size), make([]float32, n)
			for i := range src {
				src[i] = byte(i * 7)
			}
			b.SetBytes(4 * n) // of output
			for b.Loop() {
				if err := Dequantize(dst, d, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkQuantize(b *testing.B) {
	const n = 1 << 14
	x := gaussian(n)
	for d := range tensor.DType(tensor.NumDTypes) {
		if formats[d].encode == nil {
			continue
		}
		b.Run(strings.ToLower(d.String()), func(b *testing.B) {
			size, _ := d.RowBytes(n)
			dst := make([]byte, size)
			b.SetBytes(4 * n) // of input
			for b.Loop() {
				if err := Quantize(dst, d, x, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
