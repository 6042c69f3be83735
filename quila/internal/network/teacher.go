package network

import (
	"context"
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/internal/weights"
)

// Steps of the diffusion, and the linear rise of its noise.
const (
	diffusionSteps = 1000
	betaFirst      = 1e-4
	betaLast       = .02
)

// noiseFeatures are how many numbers tell the teacher the noise level.
const noiseFeatures = 5

// noiseLevels are σ of the steps 1…T of the diffusion: √((1−ᾱ)/ᾱ).
func noiseLevels() []float64 {
	s, kept := make([]float64, diffusionSteps), 1.0
	for i := range s {
		kept *= 1 - (betaFirst + (betaLast-betaFirst)*float64(i)/(diffusionSteps-1))
		s[i] = math.Sqrt((1 - kept) / kept)
	}
	return s
}

// A Teacher predicts the noise in a vector, at any level: three layers that read
// the vector, scaled to unit variance, and the level.
type Teacher[F grad.Float] struct {
	Dim, Hidden int
	SigmaD      float64
	w           [6][]F // three layers, weight and bias each
	scratch     Scratch[F]
	second, out []F
}

func newTeacher[F grad.Float](dim, hidden int, sigmaD float64, s weights.Stream) *Teacher[F] {
	t := &Teacher[F]{Dim: dim, Hidden: hidden, SigmaD: sigmaD}
	in := dim + noiseFeatures
	for i, n := range [6]int{hidden * in, hidden, hidden * hidden, hidden, dim * hidden, dim} {
		t.w[i] = make([]F, n)
	}
	for i, width := range map[int]int{0: in, 2: hidden} {
		s.Neuron = uint32(i)
		fill(t.w[i], math.Sqrt(2/float64(width)), s)
	}
	return t
}

// shapes are the shapes of the layers.
func (t *Teacher[F]) shapes() [6][]int {
	return [6][]int{{t.Hidden, t.Dim + noiseFeatures}, {t.Hidden}, {t.Hidden, t.Hidden}, {t.Hidden}, {t.Dim, t.Hidden}, {t.Dim}}
}

// input writes what the network reads for vectors x with noise of deviation
// sigma, in units of σ_d.
func (t *Teacher[F]) input(dst, x []F, sigma []float64) {
	width := t.Dim + noiseFeatures
	for i, s := range sigma {
		row := dst[i*width : (i+1)*width]
		in := F(1 / (t.SigmaD * math.Sqrt(1+s*s)))
		for j, v := range x[i*t.Dim : (i+1)*t.Dim] {
			row[j] = in * v
		}
		log := math.Log(s)
		sin, cos := math.Sincos(log)
		root := math.Sqrt(1 + s*s)
		for j, v := range [noiseFeatures]float64{log / 4, sin, cos, s / root, 1 / root} {
			row[t.Dim+j] = F(v)
		}
	}
}

// Denoise writes the vectors without the noise that the teacher sees in them.
// sigma is the deviation of each vector's noise, in units of σ_d.
func (t *Teacher[F]) Denoise(dst, x []F, sigma []float64) error {
	m := len(sigma)
	if len(x) != m*t.Dim || len(dst) != len(x) {
		return &consistencyShapeError{"denoise: values", m * t.Dim, len(x)}
	}
	t.scratch.room(m, t.Dim+noiseFeatures, t.Hidden)
	if len(t.second) < m*t.Hidden {
		t.second, t.out = make([]F, m*t.Hidden), make([]F, m*t.Dim)
	}
	t.input(t.scratch.in, x, sigma)
	w := t.scratch.work
	w.MulT(t.scratch.up, t.scratch.in, t.w[0], m, t.Dim+noiseFeatures, t.Hidden)
	silu(t.scratch.up[:m*t.Hidden], t.w[1])
	w.MulT(t.second, t.scratch.up, t.w[2], m, t.Hidden, t.Hidden)
	silu(t.second[:m*t.Hidden], t.w[3])
	w.MulT(t.out, t.second, t.w[4], m, t.Hidden, t.Dim)
	for i, s := range sigma {
		scale := F(s * t.SigmaD)
		for j := range t.Dim {
			k := i*t.Dim + j
			dst[k] = x[k] - scale*(t.out[k]+t.w[5][j])
		}
	}
	return nil
}

// silu adds a bias to every row and applies the activation.
func silu[F grad.Float](x, bias []F) {
	for i := 0; i < len(x); i += len(bias) {
		dense.Add(x[i:i+len(bias)], bias)
	}
	dense.Activate(dense.SiLU, x, x)
}

// Heun moves vectors along the teacher's trajectories from the noise levels from
// to the lower levels to, in units of σ_d, by one step of second order. dst must
// not be x.
func (t *Teacher[F]) Heun(dst, x []F, from, to []float64, scratch []F) error {
	clean, slope := scratch[:len(x)], scratch[len(x):2*len(x)]
	if err := t.Denoise(clean, x, from); err != nil {
		return err
	}
	for i := range from {
		step := F((to[i] - from[i]) / from[i]) // times σ_d ÷ σ_d
		for j := i * t.Dim; j < (i+1)*t.Dim; j++ {
			slope[j] = step * (x[j] - clean[j])
			dst[j] = x[j] + slope[j]
		}
	}
	if err := t.Denoise(clean, dst, to); err != nil {
		return err
	}
	for i := range from {
		step := F((to[i] - from[i]) / to[i])
		for j := i * t.Dim; j < (i+1)*t.Dim; j++ {
			dst[j] = x[j] + (slope[j]+step*(dst[j]-clean[j]))/2
		}
	}
	return nil
}

// Solve follows the teacher's trajectories from a noise level, in units of σ_d,
// down to none, over so many points: what a model in one step is compared with.
func (t *Teacher[F]) Solve(dst, x []F, sigma float64, points int) error {
	m := len(x) / max(t.Dim, 1)
	if points < 2 || !(sigma > lowest) || len(dst) != len(x) || m*t.Dim != len(x) {
		return &consistencyShapeError{"solve: values", m * t.Dim, len(x)}
	}
	levels := Karras(points, lowest, sigma)
	at, scratch := append([]F(nil), x...), make([]F, 2*len(x))
	from, to := make([]float64, m), make([]float64, m)
	for k := range points - 1 {
		for i := range m {
			from[i], to[i] = levels[k], levels[k+1]
		}
		if err := t.Heun(dst, at, from, to, scratch); err != nil {
			return err
		}
		copy(at, dst)
	}
	return t.Denoise(dst, at, to)
}

// train fits the teacher to vectors; see [DistillOptions].
func (t *Teacher[F]) train(ctx context.Context, o *DistillOptions, data *source[F], threads *grad.Threads) ([]float64, error) {
	levels := noiseLevels()
	for len(levels) > 0 && levels[len(levels)-1] > 1.25*MaxSigma {
		levels = levels[:len(levels)-1] // distillation never asks for more
	}
	fit, err := newFit(t.w[:], shapesOf(t.shapes()), o.Rate, threads)
	if err != nil {
		return nil, err
	}
	var losses []float64
	in := make([]F, o.Batch*(t.Dim+noiseFeatures))
	x, sigma := make([]F, o.Batch*t.Dim), make([]float64, o.Batch)
	for step := range o.TeacherSteps {
		clean, noise, words := data.batch(step)
		for i := range sigma {
			sigma[i] = levels[weights.Choice(words[i], len(levels))]
			scale := F(sigma[i] * t.SigmaD)
			for j := i * t.Dim; j < (i+1)*t.Dim; j++ {
				x[j] = clean[j] + scale*noise[j]
			}
		}
		t.input(in, x, sigma)
		loss, err := fit.step(step, o.TeacherSteps, func(tape *grad.Tape[F], w []grad.Ref) grad.Ref {
			h := tape.SiLU(tape.AddRow(tape.MatMulT(tape.Const(in, o.Batch, t.Dim+noiseFeatures), w[0]), w[1]))
			h = tape.SiLU(tape.AddRow(tape.MatMulT(h, w[2]), w[3]))
			d := tape.Sub(tape.AddRow(tape.MatMulT(h, w[4]), w[5]), tape.Const(noise, o.Batch, t.Dim))
			return tape.Scale(tape.Dot(d, d), 1/F(len(noise)))
		})
		if err != nil {
			return nil, err
		}
		losses = fit.note(losses, step, o.TeacherSteps, loss)
		if step%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return losses, nil
}
