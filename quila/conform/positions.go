package conform

import (
	"bytes"
	"math"
	"slices"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/boundary"
	"atenia/quila/internal/network"
	"atenia/quila/internal/weights"
)

// matrix is the rotation of a position, by its definition [n, n].
func matrix(position uint64, base float64, n int) []float64 {
	m := make([]float64, n*n)
	for k := range n / 2 {
		theta := math.Mod(float64(position)*math.Pow(base, -2*float64(k)/float64(n)), 2*math.Pi)
		a, b := 2*k, 2*k+1
		m[a*n+a], m[b*n+b] = math.Cos(theta), math.Cos(theta)
		m[a*n+b], m[b*n+a] = -math.Sin(theta), math.Sin(theta)
	}
	return m
}

// kron is the Kronecker product of square matrices.
func kron(a, b []float64) []float64 {
	n, m := int(math.Sqrt(float64(len(a)))), int(math.Sqrt(float64(len(b))))
	out := make([]float64, len(a)*len(b))
	for i := range n * m {
		for j := range n * m {
			out[i*n*m+j] = a[i/m*n+j/m] * b[i%m*m+j%m]
		}
	}
	return out
}

func apply(m, x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range y {
		for j, v := range x {
			y[i] += m[i*len(x)+j] * v
		}
	}
	return y
}

// turned is what the product computes, in the float type of x.
func turned[F grad.Float](t *report, dims int, x []F, positions []uint64, bases []float64) []F {
	c, err := network.NewRope(dims, len(positions), network.Kronecker)
	t.Must(err)
	logs := make([]float64, len(bases))
	for i, b := range bases {
		logs[i] = math.Log(b)
	}
	y := make([]F, dims)
	t.Must(network.ApplyRope(c, y, x, positions, logs))
	return y
}

// rotations compares an embedding of d dimensions, divided as parts, with the
// explicit matrix, and checks that it keeps lengths and depends on differences.
func rotations(t *report, d int, parts []int, at []uint64, bases []float64) {
	explicit := []float64{1}
	for i, n := range parts {
		explicit = kron(explicit, matrix(at[i], bases[i], n))
	}
	x, z := drawnNormals(d, 1), drawnNormals(d, 2)
	want := apply(explicit, x)
	y := turned(t, d, x, at, bases)
	t.Within("difference from the explicit matrix in float64", furthest(y, want), 1e-9)
	t.Within("difference in float32", furthest(turned(t, d, single(x), at, bases), want), 1e-6)
	t.Within("change of length", math.Abs(dot(y, y)/dot(x, x)-1), 1e-12)
	// R(p)x · R(q)z depends on q − p alone.
	shifted := make([]uint64, len(at))
	for i := range at {
		shifted[i] = at[i] + 17
	}
	zero := make([]uint64, len(at))
	seventeen := slices.Repeat([]uint64{17}, len(at))
	a := dot(turned(t, d, x, at, bases), turned(t, d, z, shifted, bases))
	b := dot(turned(t, d, x, zero, bases), turned(t, d, z, seventeen, bases))
	t.Within("difference of scores at equal distance", math.Abs(a-b), 1e-8)
}

func dot(a, b []float64) (s float64) {
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func rope1D(t *report) {
	for _, d := range []int{16, 32, 64, 128} {
		for _, at := range []uint64{0, 1, 37, 1_000_000} {
			rotations(t, d, []int{d}, []uint64{at}, []float64{10000})
		}
	}
	// The error in float32 at 10⁶ is what counts: an angle rounded there is noise.
	x := drawnNormals(128, 3)
	at := []uint64{1_000_000}
	worst := furthest(turned(t, 128, single(x), at, []float64{10000}), turned(t, 128, x, at, []float64{10000}))
	t.Figure("error %.1e in float32 at position 10⁶", worst)
	t.Within("error in float32 at position 10⁶", worst, 1e-6)
}

func rope2D(t *report) {
	for d, parts := range map[int][]int{32: {8, 4}, 64: {8, 8}, 128: {16, 8}} {
		rotations(t, d, parts, []uint64{5, 11}, []float64{100, 80})
		rotations(t, d, parts, []uint64{0, 3}, []float64{100, 100})
	}
	// The other layout is another rotation: if the two were the same, the rows
	// above would check nothing of the product.
	c, err := network.NewRope(64, 2, network.Axial)
	t.Must(err)
	x, y := drawnNormals(64, 1), make([]float64, 64)
	t.Must(network.ApplyRope(c, y, x, []uint64{5, 11}, []float64{math.Log(100), math.Log(80)}))
	if d := furthest(y, turned(t, 64, x, []uint64{5, 11}, []float64{100, 80})); d < .1 {
		t.Errorf("axial and Kronecker layout differ by %.3g only", d)
	}
	t.Figure("32 = 8·4, 64 = 8·8, 128 = 16·8")
}

func rope3D(t *report) {
	for d, parts := range map[int][]int{32: {4, 4, 2}, 64: {4, 4, 4}, 128: {8, 4, 4}} {
		rotations(t, d, parts, []uint64{9, 5, 11}, []float64{10000, 100, 80})
		// In frame 0 the axis of time is the identity: what is left is a picture,
		// in every slice of time.
		x := drawnNormals(d, 4)
		y := turned(t, d, x, []uint64{0, 5, 11}, []float64{10000, 100, 80})
		plane := kron(matrix(5, 100, parts[1]), matrix(11, 80, parts[2]))
		n := parts[1] * parts[2]
		for i := range parts[0] {
			t.Within("one frame against a picture", furthest(y[i*n:(i+1)*n], apply(plane, x[i*n:(i+1)*n])), 1e-9)
		}
	}
	t.Figure("32 = 4·4·2, 64 = 4·4·4, 128 = 8·4·4")
}

// gradient is that of w·R(positions)x for the logarithms of the bases.
func gradient(t *report, c network.RopeCode, x, w []float64, positions []uint64, logs []float64) []float64 {
	y, d := make([]float64, len(x)), make([]float64, len(logs))
	t.Must(network.ApplyRope(c, y, x, positions, logs))
	t.Must(network.RopeBackward(c, nil, d, y, w, positions, logs))
	return d
}

func ropeGrad(t *report) {
	worst := 0.0
	for axes, positions := range map[int][]uint64{1: {301}, 2: {14, 9}, 3: {22, 7, 3}} {
		c, err := network.NewRope(64, axes, network.Kronecker)
		t.Must(err)
		x, w := drawnNormals(64, 5), drawnNormals(64, 6)
		logs := []float64{math.Log(10000), math.Log(100), math.Log(100)}[:axes]
		got := gradient(t, c, x, w, positions, logs)
		for i := range logs {
			const h = 1e-6
			side := func(by float64) float64 {
				moved := slices.Clone(logs)
				moved[i] += by
				y := make([]float64, 64)
				t.Must(network.ApplyRope(c, y, x, positions, moved))
				return dot(y, w)
			}
			want := (side(h) - side(-h)) / (2 * h)
			off := math.Abs(got[i]-want) / math.Max(1, math.Abs(want))
			worst = math.Max(worst, off)
			t.Within("relative error of a base's gradient", off, 1e-4)
		}
	}
	t.Figure("largest relative error %.1e", worst)
}

// book is a small frozen book with rows on a sphere, as text has.
func book(t *report, n, dim int) *boundary.Book {
	rows := single(drawnNormals(n*dim, 7))
	b, err := boundary.NewBook(rows, n, dim)
	t.Must(err)
	t.Must(b.Freeze(nil))
	return b
}

func ropeAfter(t *report) {
	b := book(t, 264, 64)
	k, err := boundary.NewTokenizer(nil)
	t.Must(err)
	codes := k.Encode([]byte("the same bytes at other positions"))
	row := make([]float32, 64)
	for i, code := range codes {
		t.Must(b.Lookup(boundary.Encoder, row, []int32{code}))
		before := slices.Clone(row)
		for _, at := range []uint64{0, 1, uint64(1000 * i)} {
			y := turned(t, 64, row, []uint64{at}, []float64{10000})
			if !slices.Equal(row, before) {
				t.Errorf("position %d changed the row of code %d itself", at, code)
			}
			nearest := make([]int32, 1)
			t.Must(b.Nearest(boundary.Encoder, nearest, row))
			if nearest[0] != code {
				t.Errorf("code %d is %d at position %d", code, nearest[0], at)
			}
			if at > 0 && slices.Equal(y, row) {
				t.Errorf("position %d turns nothing", at)
			}
		}
	}
	t.Must(b.Verify())
	t.Figure("%d codes at 3 positions", len(codes))
}

func ownTime(t *report) {
	c, err := config.Profile("micro")
	t.Must(err)
	set := weights.Init(&c, 4, 1)
	var params []*grad.Param[float32]
	at := map[string]*grad.Param[float32]{}
	for i := range set.Specs {
		s := &set.Specs[i]
		for _, r := range weights.Ropes {
			if s.Name == r.Name {
				v := set.At(i)
				at[s.Name] = &grad.Param[float32]{Name: s.Name, Shape: s.Dims, Value: v, Grad: make([]float32, len(v))}
				params = append(params, at[s.Name])
			}
		}
	}
	row, column, time := at["rope.img.row"], at["rope.img.col"], at["rope.vid.time"]
	if row == nil || column == nil || time == nil || &row.Value[0] == &column.Value[0] || &row.Value[0] == &time.Value[0] || &column.Value[0] == &time.Value[0] {
		t.Fatalf("time, row and column are not three tensors")
	}
	o, err := grad.NewOptimizer(grad.AdamW{}, params, nil)
	t.Must(err)
	code, err := network.NewRope(c.DE, 2, network.Kronecker)
	t.Must(err)
	before := map[string][]byte{}
	for name, p := range at {
		before[name] = pictureBits(p.Value)
	}
	g := gradient(t, code, drawnNormals(c.DE, 8), drawnNormals(c.DE, 9), []uint64{3, 5}, []float64{float64(row.Value[0]), float64(column.Value[0])})
	row.Grad[0], column.Grad[0] = float32(g[0]), float32(g[1])
	o.Step(1e-2, 1)
	for name, want := range map[string]bool{"rope.img.row": true, "rope.img.col": true, "rope.vid.time": false, "rope.text": false} {
		if moved := !bytes.Equal(pictureBits(at[name].Value), before[name]); moved != want {
			t.Errorf("a step on pictures moves %s: %v, want %v", name, moved, want)
		}
	}
	t.Figure("%d tensors of bases", len(params))
}

func pictureBits(x []float32) []byte {
	var b []byte
	for _, v := range x {
		u := math.Float32bits(v)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return b
}

func onePixel(t *report) {
	c, err := network.NewRope(64, 3, network.Kronecker)
	t.Must(err)
	logs := []float64{math.Log(10000), math.Log(100), math.Log(100)}
	film, still := make([]float64, 3), make([]float64, 3)
	for frame := range uint64(8) {
		for i, g := range gradient(t, c, drawnNormals(64, 10+frame), drawnNormals(64, 20+frame), []uint64{frame, 0, 0}, logs) {
			film[i] += g
		}
	}
	for place := range uint64(16) {
		for i, g := range gradient(t, c, drawnNormals(64, 30+place), drawnNormals(64, 50+place), []uint64{0, place / 4, place % 4}, logs) {
			still[i] += g
		}
	}
	if film[1] != 0 || film[2] != 0 || film[0] == 0 {
		t.Errorf("8 frames of one pixel: gradients are %v, want the first alone", film)
	}
	if still[0] != 0 || still[1] == 0 || still[2] == 0 {
		t.Errorf("one frame of 16 pixels: gradients are %v, want none of time", still)
	}
	t.Figure("time %.3g in 8 frames, row %.3g, column %.3g in one", film[0], still[1], still[2])
}
