package network

import (
	"math"
	"strconv"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// A source draws batches of vectors and noise.
type source[F grad.Float] struct {
	vectors      [][]F
	seed         uint64
	clean, noise []F
	normals      []float64
}

func newSource[F grad.Float](vectors [][]F, batch int, seed uint64) *source[F] {
	n := batch * len(vectors[0])
	return &source[F]{vectors: vectors, seed: seed, clean: make([]F, n), noise: make([]F, n), normals: make([]float64, n)}
}

// batch returns random vectors, standard normal noise and a word for each
// vector. They are valid until the next call.
func (s *source[F]) batch(step int) (clean, noise []F, words []uint32) {
	dim := len(s.vectors[0])
	m := len(s.clean) / dim
	stream := weights.Stream{Seed: s.seed, Neuron: 1<<16 + 1, Tick: uint64(step), Site: weights.InitSite}
	words = stream.Words(2 * m)
	for i := range m {
		copy(s.clean[i*dim:], s.vectors[weights.Choice(words[i], len(s.vectors))])
	}
	stream.Site = weights.Noise
	stream.Normal(s.normals)
	for i, x := range s.normals {
		s.noise[i] = F(x)
	}
	return s.clean, s.noise, words[m:]
}

// A fit minimises a loss with AdamW, at a rate that falls along a cosine to 5 %.
type fit[F grad.Float] struct {
	tape   *grad.Tape[F]
	opt    *grad.Optimizer[F]
	params []*grad.Param[F]
	refs   []grad.Ref
	rate   float64
	sum    float64
	n      int
}

func shapesOf(s [6][]int) [][]int { return s[:] }

func newFit[F grad.Float](w [][]F, shapes [][]int, rate float64, threads *grad.Threads) (*fit[F], error) {
	f := &fit[F]{tape: grad.New[F](nil, grad.WithThreads(threads)), rate: rate, refs: make([]grad.Ref, len(w))}
	for i, v := range w {
		f.params = append(f.params, &grad.Param[F]{Name: strconv.Itoa(i), Shape: shapes[i], Value: v, Grad: make([]F, len(v))})
	}
	var err error
	f.opt, err = grad.NewOptimizer(grad.AdamW{Beta2: .99}, f.params, threads)
	return f, err
}

// step takes one step of so many and returns the loss.
func (f *fit[F]) step(step, of int, record func(*grad.Tape[F], []grad.Ref) grad.Ref) (float64, error) {
	f.tape.Reset()
	for i, p := range f.params {
		clear(p.Grad)
		f.refs[i] = f.tape.Borrow(p.Value, p.Shape...)
		f.tape.GradInto(f.refs[i], p.Grad)
	}
	loss := record(f.tape, f.refs)
	if err := f.tape.Backward(loss); err != nil {
		return 0, err
	}
	value := float64(f.tape.Value(loss)[0])
	rate := f.rate * (.05 + .95*(1+math.Cos(math.Pi*float64(step)/float64(of)))/2)
	rate *= math.Min(1, float64(step+1)/50)
	f.opt.Step(rate, 1)
	return value, nil
}

// note adds a step's loss to the means of tenths of the run.
func (f *fit[F]) note(losses []float64, step, of int, loss float64) []float64 {
	f.sum, f.n = f.sum+loss, f.n+1
	if (step+1)*10/of > step*10/of || step+1 == of {
		losses = append(losses, f.sum/float64(f.n))
		f.sum, f.n = 0, 0
	}
	return losses
}
