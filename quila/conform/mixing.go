package conform

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// A spread is how far matrices are from doubly stochastic.
type spread struct{ rows, cols, norm float64 }

// see adds a matrix.
func (s *spread) see(t *report, h []float32, n int) {
	for i := range n {
		var row, col float64
		for j := range n {
			if h[i*n+j] < 0 || math.IsNaN(float64(h[i*n+j])) {
				t.Fatalf("an entry is %v", h[i*n+j])
			}
			row += float64(h[i*n+j])
			col += float64(h[j*n+i])
		}
		s.rows, s.cols = math.Max(s.rows, math.Abs(row-1)), math.Max(s.cols, math.Abs(col-1))
	}
	s.norm = math.Max(s.norm, spectral(h, n))
}

// spectral is the largest singular value, by power iteration.
func spectral(h []float32, n int) float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 + .1*math.Sin(float64(i))
	}
	var length float64
	for range 50 {
		y, z := make([]float64, n), make([]float64, n)
		for i := range n {
			for j := range n {
				y[i] += float64(h[i*n+j]) * x[j]
			}
		}
		length = 0
		for i := range n {
			length += y[i] * y[i]
			for j := range n {
				z[j] += float64(h[i*n+j]) * y[i]
			}
		}
		var size float64
		for _, v := range z {
			size += v * v
		}
		for j := range z {
			x[j] = z[j] / math.Sqrt(size)
		}
	}
	y := make([]float64, n)
	length = 0
	for i := range n {
		for j := range n {
			y[i] += float64(h[i*n+j]) * x[j]
		}
		length += y[i] * y[i]
	}
	return math.Sqrt(length)
}

func doublyStochastic(t *report) {
	const rounds = 20
	var wide, narrow spread
	var closed float64
	for _, n := range []int{2, 4, 10, 34} {
		h := make([]float32, n*n)
		for i := range 250 {
			draws := initNormals(n*n, uint64(i*64+n))
			neuron.Sinkhorn(h, single(draws), n, rounds, 2)
			wide.see(t, h, n)
			for j, x := range draws { // ±2 at random
				draws[j] = math.Copysign(2, x)
			}
			neuron.Sinkhorn(h, single(draws), n, rounds, 2)
			wide.see(t, h, n)
			small := single(initNormals(n*n, uint64(i*64+n+1)))
			for j, x := range small {
				small[j] = float32(math.Tanh(float64(x)))
			}
			neuron.Sinkhorn(h, small, n, rounds, 1)
			narrow.see(t, h, n)
			if n == 2 {
				p := 1 / (1 + math.Exp(-(float64(small[0])+float64(small[3])-float64(small[1])-float64(small[2]))/2))
				closed = math.Max(closed, math.Abs(float64(h[0])-p))
			}
		}
	}
	t.Within("|w| ≤ 2: rows are off by", wide.rows, 8e-3)
	t.Within("columns are off by", max(wide.cols, narrow.cols), 1e-6)
	t.Within("‖H‖₂", max(wide.norm, narrow.norm), 1.01)
	t.Within("|w| ≤ 1: rows are off by", narrow.rows, 2e-5)
	t.Within("2×2: the difference from the closed form", closed, 1e-6)
	t.Figure("rows %.1e and %.1e, columns %.1e, ‖H‖ %.5f, closed form %.1e", wide.rows, narrow.rows, wide.cols, max(wide.norm, narrow.norm), closed)
}

func gain(t *report) {
	const n, layers = 4, 60
	m := make([]float64, n*n)
	for i := range n {
		m[i*n+i] = 1
	}
	h := make([]float32, n*n)
	for i := range layers {
		logits := initNormals(n*n, uint64(i))
		for j := range logits {
			logits[j] *= 4
		}
		neuron.Sinkhorn(h, single(logits), n, 20, 2)
		next := make([]float64, n*n)
		for r := range n {
			for k := range n {
				for c := range n {
					next[r*n+c] += float64(h[r*n+k]) * m[k*n+c]
				}
			}
		}
		m = next
	}
	var most float64
	for i := range n {
		var row, col float64
		for j := range n {
			row += math.Abs(m[i*n+j])
			col += math.Abs(m[j*n+i])
		}
		most = max(most, row, col)
	}
	t.Within("the largest sum of a row or column", most, 1.6)
	t.Figure("%.4f", most)
}

func negative(t *report) {
	const n = 4
	logits, h := initNormals(n*n, 3), make([]float32, n*n)
	for i, x := range logits {
		logits[i] = -math.Abs(x)
	}
	neuron.Sinkhorn(h, single(logits), n, 20, 2)
	var s spread
	s.see(t, h, n)
	t.Within("rows are off by", s.rows, 8e-3)
	t.Within("columns are off by", s.cols, 1e-6)
	// The literal variant divides the raw entries; a row of them has a sum of
	// any sign, and what it makes is not even positive.
	literal := single(initNormals(n*n, 3))
	for i := range n {
		var sum float32
		for _, x := range literal[i*n : (i+1)*n] {
			sum += x
		}
		for j := range n {
			literal[i*n+j] /= sum
		}
	}
	if slices.Min(literal) >= 0 {
		t.Errorf("the literal variant has no negative entry")
	}
}

func absent(t *report) {
	s := tiny(t, 1, nil)
	clear(s.w.Of("n.mhc"))
	_, seen := s.step(nil)
	for _, x := range seen.Values["h_res"] {
		if math.Abs(x-.5) > 1e-15 {
			t.Errorf("an entry of H_res is %v without logits, want 1/2", x)
		}
	}
}

func consistency(t *report) {
	for _, mode := range []string{"song", "residual"} {
		s := tiny(t, 1, func(c *config.Config) { c.CM = mode })
		copy(s.state.Conf, []float64{1, .39, .41})
		_, seen := s.step(nil)
		d := s.c.D
		clean, mid, first := seen.Values["h_clean"], seen.Values["h_kfe"], seen.Values["cm1"]
		if !slices.Equal(clean[:d], mid[:d]) {
			t.Errorf("%s: t = 0 is not the identity", mode)
		}
		if slices.Equal(clean[d:2*d], first[d:2*d]) {
			t.Errorf("%s: confidence .39 took no second step", mode)
		}
		want := s.denoise(s.denoise(mid[d:2*d], .61), .305)
		t.Within(mode+": the difference of two steps", gap(clean[d:2*d], want), 1e-12)
		if !slices.Equal(clean[2*d:], first[2*d:]) {
			t.Errorf("%s: confidence .41 took a second step", mode)
		}
	}
	// Noise depends on who and when, not on how many were drawn before.
	a, b := make([]float64, 16), make([]float64, 16)
	stream := weights.Stream{Seed: 5, Neuron: 2, Tick: 9, Site: weights.CM}
	stream.Normal(a)
	weights.Stream{Seed: 5, Neuron: 1, Tick: 9, Site: weights.CM}.Normal(b)
	stream.Normal(b)
	if !slices.Equal(a, b) {
		t.Errorf("noise depends on the order of draws")
	}
}

// denoise is one step of the consistency model by its formulas.
func (s *subject) denoise(x []float64, at float64) []float64 {
	d := s.c.D
	sigma := s.w.Of("cm.sigma_d")[0]
	skip, out, in := 1., at, 1.
	if s.c.CM == "song" {
		v := 2 * sigma * at
		den := v*v + sigma*sigma
		skip, out, in = sigma*sigma/den, v*sigma/math.Sqrt(den), 1/math.Sqrt(den)
	}
	w1, b1, w2, b2 := s.w.Of("cm.f.1.w"), s.w.Of("cm.f.1.b"), s.w.Of("cm.f.2.w"), s.w.Of("cm.f.2.b")
	y := slices.Clone(b2)
	for k := range 2 * d {
		z := b1[k] + at*w1[k*(d+1)+d]
		for j, v := range x {
			z += w1[k*(d+1)+j] * in * v
		}
		z /= 1 + math.Exp(-z)
		for i := range y {
			y[i] += w2[i*2*d+k] * z
		}
	}
	for i := range y {
		y[i] = skip*x[i] + out*y[i]
	}
	return y
}

func smoothing(t *report) {
	s := tiny(t, 1, nil)
	d := s.c.D
	copy(s.w.Of("n.fxaa"), []float64{-50, 0, 50})
	for _, first := range []bool{false, true} {
		if first {
			clear(s.state.Frames)
		}
		_, seen := s.step(nil)
		for n, alpha := range []float64{0, .25, .5} {
			for i := range d {
				x, f := seen.Values["h_clean"][n*d+i], s.state.Frames[n*d+i]
				if got, want := seen.Values["h_smooth"][n*d+i], x+alpha*(f-x); math.Abs(got-want) > 1e-12 {
					t.Fatalf("α = %v: %v, want %v", alpha, got, want)
				}
			}
		}
	}
}

func order(t *report) {
	s := tiny(t, 1, func(c *config.Config) { c.Refractory = true })
	for n := range s.c.N { // the new confidence is high or low, the old one the opposite
		logits := s.w.Rows("n.w_conf", n)
		_, seen := s.step(nil)
		for i, h := range seen.Values["h_smooth"][n*s.c.D : (n+1)*s.c.D] {
			logits[i] = math.Copysign(5, h)
			if n == 0 {
				logits[i] = -logits[i]
			}
		}
	}
	copy(s.state.Conf, []float64{.99, .05, .05})
	after, _ := s.step(nil)
	for n, want := range []int32{1, 3, 3} {
		old, fresh := neuron.Refractory(&s.c, float32(s.state.Conf[n])), neuron.Refractory(&s.c, float32(after.Conf[n]))
		if old == fresh {
			t.Fatalf("neuron %d: old and new confidence %v and %v give the same counter", n, s.state.Conf[n], after.Conf[n])
		}
		if after.Refractory[n] != want {
			t.Errorf("neuron %d rests %d ticks, want %d of the old confidence", n, after.Refractory[n], want)
		}
	}
}

func noise(t *report) {
	s := tiny(t, 1, nil)
	d := s.c.D
	const temperature, draws = .3, 100_000
	z := make([]float64, s.c.N*d)
	a, _ := s.step(func(k *neuron.Tick[float64]) { k.NoiseOut = initNormals(len(z), 1) })
	b, _ := s.step(func(k *neuron.Tick[float64]) { k.NoiseOut = initNormals(len(z), 2) })
	if !slices.Equal(a.HFinal, b.HFinal) || !slices.Equal(a.HFinal, a.Hidden) {
		t.Errorf("noise acts at temperature 0")
	}
	g := neuron.New[float64](&s.c, s.graph, nil)
	g.Bind(s.w)
	var sum float64
	count := 0
	for tick := uint64(0); count < draws; tick++ {
		for n := range s.c.N {
			weights.Stream{Seed: 4, Neuron: uint32(n), Tick: tick, Site: weights.Noise}.Normal(z[n*d : (n+1)*d])
		}
		state := s.state.Clone()
		g.Step(state, &neuron.Tick[float64]{HIn: s.hIn, Alpha: .9, Temperature: temperature, NoiseOut: z})
		for i, x := range state.HFinal {
			e := (x - state.Hidden[i]) / (temperature * (1 - state.Conf[i/d]))
			sum += e * e
			count++
		}
	}
	std := math.Sqrt(sum / float64(count))
	t.Within("the deviation over T·(1−conf) is off by", math.Abs(std-1), .01)
	t.Figure("%.4f × T(1−conf) over %d draws", std, count)
}

func gates(t *report) {
	s := tiny(t, 1, nil)
	_, all := s.step(nil)
	_, named := s.step(func(k *neuron.Tick[float64]) { k.Streams = "ABCD" })
	if !slices.Equal(all.Values["gate"], named.Values["gate"]) || !slices.Equal(all.Values["fused"], named.Values["fused"]) {
		t.Errorf("naming all streams changes the gate")
	}
	for _, streams := range []string{"ABC", "BD", "C"} {
		_, seen := s.step(func(k *neuron.Tick[float64]) { k.Streams = streams })
		gate := seen.Values["gate"]
		for n := range s.c.N {
			var sum float64
			for _, x := range gate[n*len(streams) : (n+1)*len(streams)] {
				sum += x
			}
			t.Within(streams+": the sum of the gate is off by", math.Abs(sum-1), 1e-12)
		}
		d := s.c.D
		for i := range seen.Values["fused"] {
			var want float64
			for j, r := range streams {
				want += gate[i/d*len(streams)+j] * seen.Values["out_"+string(r-'A'+'a')][i]
			}
			if math.Abs(seen.Values["fused"][i]-want) > 1e-12 {
				t.Fatalf("%s: the mix is %v, want %v", streams, seen.Values["fused"][i], want)
			}
		}
	}
}
