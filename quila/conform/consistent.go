package conform

import (
	"atenia/quila/internal/network"
	"atenia/quila/internal/weights"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// The toy mixture of section 3: 16 centres in 32 dimensions, each component
// normal with deviation 1, about them normal with deviation .4.
const (
	mixDim     = 32
	mixCentres = 16
	mixSpread  = .4
)

// mixture draws n vectors.
func mixture(n int, tick uint64) [][]float32 {
	centres, noise := drawnNormals(mixCentres*mixDim, 200), drawnNormals(n*mixDim, 300+tick)
	words := weights.Stream{Seed: 22, Tick: tick, Site: weights.Play}.Words(n)
	out, all := make([][]float32, n), make([]float32, n*mixDim)
	for i := range out {
		out[i] = all[i*mixDim : (i+1)*mixDim]
		at := weights.Choice(words[i], mixCentres)
		for d := range mixDim {
			out[i][d] = float32(centres[at*mixDim+d] + mixSpread*noise[i*mixDim+d])
		}
	}
	return out
}

// bestMSE is the error of the posterior mean, which no denoiser beats.
func bestMSE(clean [][]float32, noisy []float32, sigma float64) float64 {
	centres := drawnNormals(mixCentres*mixDim, 200)
	variance, sum := mixSpread*mixSpread+sigma*sigma, 0.0
	share := mixSpread * mixSpread / variance
	for i, x := range clean {
		y := noisy[i*mixDim : (i+1)*mixDim]
		var weight [mixCentres]float64
		top, all := math.Inf(-1), 0.0
		for c := range weight {
			for d, v := range y {
				e := float64(v) - centres[c*mixDim+d]
				weight[c] -= e * e / (2 * variance)
			}
			top = math.Max(top, weight[c])
		}
		for c := range weight {
			weight[c] = math.Exp(weight[c] - top)
			all += weight[c]
		}
		for d, v := range y {
			mean := 0.0
			for c, w := range weight {
				m := centres[c*mixDim+d]
				mean += w / all * (m + share*(float64(v)-m))
			}
			sum += (mean - float64(x[d])) * (mean - float64(x[d]))
		}
	}
	return sum / float64(len(noisy))
}

// A toyRun is one distillation of the mixture, which two rows look at.
type toyRun struct {
	once   sync.Once
	result *network.DistillResult[float32]
	log    []string
	err    error
}

var toy toyRun

// distil trains on the mixture once.
func distil(t *report) *toyRun {
	toy.once.Do(func() {
		toy.result, toy.err = network.Distill(context.WithoutCancel(t.Context()), mixture(20000, 0), network.DistillOptions{
			Batch: 128, TeacherSteps: 1500, Steps: 1500, Seed: 1, Log: func(format string, args ...any) { toy.log = append(toy.log, fmt.Sprintf(format, args...)) }})
	})
	t.Must(toy.err)
	return &toy
}

func distilled(t *report) {
	run := distil(t)
	r := run.result
	if len(run.log) != 2 || !strings.HasPrefix(run.log[0], "teacher") || !strings.HasPrefix(run.log[1], "CD") {
		t.Errorf("the log is %q, want the teacher, then CD", run.log)
	}
	if r.Mode != network.CD || r.Teacher == nil {
		t.Errorf("the mode is %s", r.Mode)
	}
	first, last := r.Losses[0], r.Losses[len(r.Losses)-1]
	if !(last < first) {
		t.Errorf("the loss goes from %.4f to %.4f", first, last)
	}
	apart := 0.0
	for i, v := range r.EMA.W2 {
		apart = math.Max(apart, math.Abs(float64(v-r.Net.W2[i])))
	}
	if apart == 0 {
		t.Errorf("the target does not lag behind the network")
	}
	// With a target that is the network itself, which a decay near 0 comes to, the
	// result is another: the target is what the loss looks at.
	small := network.DistillOptions{Steps: 60, TeacherSteps: 60, Batch: 32, Seed: 1}
	a, err := network.Distill(t.Context(), mixture(500, 1), small)
	t.Must(err)
	small.EMALow, small.EMAHigh = 1e-9, 1e-9
	b, err := network.Distill(t.Context(), mixture(500, 1), small)
	t.Must(err)
	if a.Net.W2[0] == b.Net.W2[0] {
		t.Errorf("the moving average does not matter")
	}
	var warnings []string
	ct, err := network.Distill(t.Context(), mixture(500, 1), network.DistillOptions{NoTeacher: true, Steps: 60, Batch: 32,
		Log: func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }})
	t.Must(err)
	if ct.Mode != network.CT || ct.Teacher != nil || !strings.Contains(strings.Join(warnings, "\n"), "warning") {
		t.Errorf("without a teacher the mode is %s, the log %q", ct.Mode, warnings)
	}
	before, after := auxiliary(t, a)
	t.Figure("teacher's loss %.2f to %.2f, L_CD %.4f to %.4f, as an auxiliary %.4f to %.4f", r.TeacherLosses[0], r.TeacherLosses[len(r.TeacherLosses)-1], first, last, before, after)
	if !(after < .9*before) {
		t.Errorf("as an auxiliary L_CD goes from %.4f to %.4f", before, after)
	}
}

// auxiliary disturbs the network, moves it by the gradient of the auxiliary loss
// alone, and returns means of the loss over the first and the last steps.
func auxiliary(t *report, r *network.DistillResult[float32]) (before, after float64) {
	const batch, steps, part, rate = 32, 200, 20, 2
	a, err := network.NewAuxiliary(r, network.DistillOptions{Batch: batch, Seed: 2}, network.AuxiliaryShare)
	t.Must(err)
	sums := network.NewConsistencyNet[float32](mixDim, r.Net.Hidden, weights.Stream{})
	for i, z := range drawnNormals(len(r.Net.W2), 210) {
		r.Net.W2[i] += float32(.1 * z)
	}
	for step := range steps {
		pairs := [4][2][]float32{{r.Net.W1, sums.W1}, {r.Net.B1, sums.B1}, {r.Net.W2, sums.W2}, {r.Net.B2, sums.B2}}
		for _, p := range pairs {
			clear(p[1])
		}
		loss, err := a.Add(sums, slices.Concat(mixture(batch, uint64(20+step))...), uint64(step))
		t.Must(err)
		for _, p := range pairs {
			for i, g := range p[1] {
				p[0][i] -= rate * g
			}
		}
		a.Follow(.95)
		switch {
		case step < part:
			before += loss / part
		case step >= steps-part:
			after += loss / part
		}
	}
	return before, after
}

// meanSquare is the mean squared difference.
func meanSquare(clean [][]float32, got []float32) (s float64) {
	for i, x := range clean {
		for d, v := range x {
			e := float64(v) - float64(got[i*mixDim+d])
			s += e * e
		}
	}
	return s / float64(len(got))
}

func oneStep(t *report) {
	r := distil(t).result
	clean := mixture(1000, 9)
	n := len(clean) * mixDim
	noise, second := drawnNormals(n, 400), single(drawnNormals(n, 401))
	noisy, got, ode := make([]float32, n), make([]float32, n), make([]float32, n)
	times, levels := make([]float32, len(clean)), make([]float64, len(clean))
	var s network.Scratch[float32]
	for _, at := range []float64{.5, 1, 2} {
		sigma := at * r.SigmaD
		for i, x := range clean {
			times[i], levels[i] = float32(at/network.MaxSigma), at
			for d, v := range x {
				noisy[i*mixDim+d] = v + float32(sigma*noise[i*mixDim+d])
			}
		}
		variance := r.SigmaD * r.SigmaD
		wiener := variance * sigma * sigma / (variance + sigma*sigma)
		t.Must(network.Apply(r.EMA, got, noisy, times, r.SigmaD, network.Song, &s))
		one := meanSquare(clean, got)
		t.Must(network.Twice(r.EMA, got, noisy, times, second, .1, r.SigmaD, &s))
		two := meanSquare(clean, got)
		t.Must(r.Teacher.Solve(ode, noisy, at, 18))
		solved := meanSquare(clean, ode)
		t.Figure("σ/σ_d %.1f: Wiener %.3f, best %.3f, ODE-18 %.3f, one step %.3f (%.2f), two %.3f", at, wiener, bestMSE(clean, noisy, sigma), solved, one, one/wiener, two)
		t.Within(fmt.Sprintf("error of one step ÷ Wiener at %.1f", at), one/wiener, .8)
		t.Within(fmt.Sprintf("error of one step − ODE-18 at %.1f", at), one-solved, .2)
		t.Within(fmt.Sprintf("error of two steps − ODE-18 at %.1f", at), two-solved, .2)
		trajectory(t, r, noisy, at)
	}
	// t = 0 is the identity, to the bit: of −0, denormals and large numbers too.
	odd := single(drawnNormals(mixDim, 5))
	odd[0], odd[1], odd[2] = float32(math.Copysign(0, -1)), 1e-40, 3e38
	same := make([]float32, mixDim)
	t.Must(network.Apply(r.EMA, same, odd, []float32{0}, r.SigmaD, network.Song, &s))
	for d, v := range odd {
		if math.Float32bits(same[d]) != math.Float32bits(v) {
			t.Errorf("at t = 0 %v becomes %v", v, same[d])
		}
	}
}

// trajectory checks that f has nearly one value along a trajectory of the
// teacher, from a noise level down to half of it.
func trajectory(t *report, r *network.DistillResult[float32], x []float32, at float64) {
	m := len(x) / mixDim
	from, to := make([]float64, m), make([]float64, m)
	here, next, scratch := append([]float32(nil), x...), make([]float32, len(x)), make([]float32, 2*len(x))
	const steps = 4
	for k := range steps {
		for i := range m {
			from[i] = at * math.Pow(.5, float64(k)/steps)
			to[i] = at * math.Pow(.5, float64(k+1)/steps)
		}
		t.Must(r.Teacher.Heun(next, here, from, to, scratch))
		copy(here, next)
	}
	value := func(x []float32, at float64) []float32 {
		var s network.Scratch[float32]
		times, y := make([]float32, m), make([]float32, len(x))
		for i := range times {
			times[i] = float32(at / network.MaxSigma)
		}
		t.Must(network.Apply(r.EMA, y, x, times, r.SigmaD, network.Song, &s))
		return y
	}
	a, b := value(x, at), value(here, at/2)
	var values, points float64
	for i := range x {
		values += float64(a[i]-b[i]) * float64(a[i]-b[i])
		points += float64(x[i]-here[i]) * float64(x[i]-here[i])
	}
	t.Figure("f moves %.2f of what x does", values/points)
	t.Within(fmt.Sprintf("‖f(x₁) − f(x₂)‖² ÷ ‖x₁ − x₂‖² from %.1f to %.2f", at, at/2), values/points, .25)
}
