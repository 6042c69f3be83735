package boundary

import (
	"math"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// record records a coder's loss on its batch.
func (r *trainer) record(s *side, step int) (grad.Ref, error) {
	o, t, c := r.o, r.tape, s.c
	for _, p := range c.params() {
		clear(p.Grad)
	}
	bind(t, c.layers, true)
	x := t.Const(s.batch, o.Batch*Side*Side, c.Channels)
	s.z = c.encode(t, x, o.Batch, Side)
	e := s.z
	var commitment grad.Ref
	if step >= o.Free {
		z := t.Value(s.z)
		if err := s.ema.Assign(s.codes, z); err != nil {
			return 0, err
		}
		s.row = s.row[:0]
		for _, code := range s.codes {
			s.row = append(s.row, c.Book.Row(int(code))...)
		}
		far := t.Sub(s.z, t.Const(s.row, len(s.codes), c.Dim))
		commitment = t.Scale(t.Dot(far, far), float32(o.Commitment/float64(len(z))))
		for i, v := range z {
			s.row[i] -= v
		}
		e = t.Add(s.z, t.Const(s.row, len(s.codes), c.Dim)) // the row, with the gradient of z
	}
	if o.Align > 0 {
		s.pooled = t.SphereProject(t.MatMul(t.Const(r.pool(), o.Batch, len(s.codes)), e))
	}
	s.drawn = c.decode(t, e, o.Batch, Side)
	d := t.Sub(s.drawn, x)
	loss := t.Scale(t.Dot(d, d), 1/float32(len(s.batch)))
	if err := t.Err(); err != nil {
		return 0, err
	}
	s.note(step, o.Steps, float64(t.Value(loss)[0]))
	if commitment != 0 {
		loss = t.Add(loss, commitment)
	}
	if step >= o.CriticFrom {
		bind(t, s.critic.layers, false)
		score := s.critic.judge(t, r.engine(), s.drawn, o.Batch, Side)
		wish := t.Sum(t.Softplus(t.Neg(score)))
		loss = t.Add(loss, t.Scale(wish, float32(o.CriticShare)/float32(len(t.Value(score)))))
	}
	return loss, t.Err()
}

// note adds to the losses of tenths of the run.
func (s *side) note(step, of int, loss float64) {
	s.sum, s.n = s.sum+loss, s.n+1
	if (step+1)*10/of > step*10/of {
		s.summary.Loss = append(s.summary.Loss, s.sum/float64(s.n))
		s.sum, s.n = 0, 0
	}
}

// pool is the matrix that averages the vectors of each picture.
func (r *trainer) pool() []float32 {
	if r.average == nil {
		places := Codes(Side)
		r.average = make([]float32, r.o.Batch*r.o.Batch*places)
		for i := range r.o.Batch {
			for k := range places {
				r.average[(i*r.o.Batch+i)*places+k] = 1 / float32(places)
			}
		}
		r.targets = make([]int32, r.o.Batch)
		for i := range r.targets {
			r.targets[i] = int32(i)
		}
	}
	return r.average
}

// sharpness divides the cosines of the contrastive loss.
const sharpness = .1

// contrast records the contrastive loss: of all sounds of the batch, the one that
// means the same should be the nearest to a picture, and the other way round.
func (r *trainer) contrast() grad.Ref {
	t := r.tape
	near := t.Scale(t.MatMulT(r.sides[0].pooled, r.sides[1].pooled), 1/sharpness)
	return t.Scale(t.Add(t.CrossEntropy(near, r.targets), t.CrossEntropy(t.Transpose(near), r.targets)), .5)
}

// vectors of so many pictures begin a codebook.
const firstPictures = 256

// begin makes the first codebook from what the encoder says by now.
func (s *side) begin(o *VQGANOptions) error {
	z, err := s.all(min(firstPictures, len(s.data)))
	if err != nil {
		return err
	}
	if err := KMeans(s.c.Book, z, 5, weights.Stream{Seed: o.Seed, Neuron: 5 << 16, Site: weights.InitSite}); err != nil {
		return err
	}
	s.ema, err = NewEMA(s.c.Book, o.EMA, o.DeadBatches)
	return err
}

// all returns the vectors of the first n pictures of the training set.
func (s *side) all(n int) ([]float32, error) {
	size := len(s.data[0])
	pictures, codes := make([]float32, 0, n*size), make([]int32, n*Codes(Side))
	for _, p := range s.data[:n] {
		pictures = append(pictures, p...)
	}
	return s.c.vectors(codes, pictures, Side)
}

// finish evens out the codebook, freezes it and measures the coder.
func (s *side) finish(o *VQGANOptions) error {
	z, err := s.all(len(s.data))
	if err != nil {
		return err
	}
	m := s.summary
	if m.Uniform, err = Uniformise(s.c.Book, z, o.Seed); err != nil {
		return err
	}
	if err := s.c.Book.Freeze(m.Uniform.Usage); err != nil {
		return err
	}
	for _, u := range m.Uniform.Usage {
		if u > 0 {
			m.Used++
		}
	}
	m.Dead = 1 - float64(m.Used)/float64(len(m.Uniform.Usage))
	m.Perplexity = perplexity(m.Uniform.Usage)
	var sum float64
	var n int
	codes := make([]int32, Codes(Side))
	drawn := make([]float32, len(s.test[0]))
	for _, p := range s.test {
		if err := s.c.Encode(Encoder, codes, p, Side); err != nil {
			return err
		}
		if err := s.c.Decode(Decoder, drawn, codes, Side); err != nil {
			return err
		}
		for i, v := range p {
			sum += float64((v - drawn[i]) * (v - drawn[i]))
		}
		n += len(p)
	}
	m.MSE = sum / float64(n)
	m.PSNR = PSNR(m.MSE)
	o.Log("%s: %.2f dB, perplexity %.1f of %d codes, %d in use, %d rows revived, %d moved", s.c.Name, m.PSNR, m.Perplexity, s.c.Book.Len(), m.Used, m.Revived, m.Uniform.Moved)
	return nil
}

// PSNR is the peak signal-to-noise ratio, in decibels, of values from −1 to 1
// with that mean squared error.
func PSNR(mse float64) float64 { return 10 * math.Log10(4/mse) }

// retrieval looks for the nearest sound of every picture, by their mean codes, in
// groups of all meanings of pictures that no training has seen.
func (r *trainer) retrieval() (float64, error) {
	var means [2][][]float64
	for i, s := range r.sides {
		for _, p := range s.test {
			m, err := s.c.Mean(p, Side)
			if err != nil {
				return 0, err
			}
			means[i] = append(means[i], m)
		}
	}
	hits, all := 0, 0
	for group := 0; group+Pairs <= testPictures; group += Pairs {
		for i := group; i < group+Pairs; i++ {
			best, at := math.Inf(-1), 0
			for j := group; j < group+Pairs; j++ {
				if c := cosine(means[0][i], means[1][j]); c > best {
					best, at = c, j
				}
			}
			all++
			if at == i {
				hits++
			}
		}
	}
	return float64(hits) / float64(all), nil
}

// Mean returns the mean of the rows that a picture's codes stand for: a vector of
// what it means, comparable across aligned coders.
func (c *Coder) Mean(picture []float32, side int) ([]float64, error) {
	codes := make([]int32, Codes(side))
	if err := c.Encode(Encoder, codes, picture, side); err != nil {
		return nil, err
	}
	rows := make([]float32, len(codes)*c.Dim)
	if err := c.Book.Lookup(Encoder, rows, codes); err != nil {
		return nil, err
	}
	mean := make([]float64, c.Dim)
	for i, v := range rows {
		mean[i%c.Dim] += float64(v) / float64(len(codes))
	}
	return mean, nil
}

func cosine(a, b []float64) float64 {
	var ab, aa, bb float64
	for i, x := range a {
		ab, aa, bb = ab+x*b[i], aa+x*x, bb+b[i]*b[i]
	}
	return ab / math.Sqrt(math.Max(aa*bb, 1e-300))
}
