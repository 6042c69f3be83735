package boundary

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// A Uniformity says what [Uniformise] did.
type Uniformity struct {
	Moved                             int // rows
	PerplexityBefore, PerplexityAfter float64
	MSEBefore, MSEAfter               float64 // mean squared distance of a vector to its row
	Usage                             []uint64
}

// Uniformise evens out how often the rows of a book that is not frozen are used,
// given the vectors x of the whole training set: while a row has less
// than a tenth of the mean usage, it moves to the centre of one half of the most
// used row's vectors, and every row to the mean of its vectors. It ends when that
// gains less than 0.1 % of perplexity, or would raise the squared error above
// 1.05 times what it was; such a move is taken back.
func Uniformise(b *Book, x []float32, seed uint64) (Uniformity, error) {
	if b.frozen {
		return Uniformity{}, fmt.Errorf("uniformise: %w", ErrFrozen)
	}
	m := len(x) / b.dim
	if m == 0 || m*b.dim != len(x) {
		return Uniformity{}, &codebookError{"uniformise: values of a vector", b.dim, len(x), errCodebookShape}
	}
	u := &uniform{b: b, x: x, codes: make([]int32, m), search: search{work: grad.NewWork[float32](nil)}}
	if err := u.assign(); err != nil {
		return Uniformity{}, err
	}
	r := Uniformity{PerplexityBefore: perplexity(u.usage), MSEBefore: u.mse}
	r.PerplexityAfter, r.MSEAfter, r.Usage = r.PerplexityBefore, u.mse, u.usage
	kept := make([]float32, len(b.rows))
	for r.Moved < 4*b.n {
		least, most := u.extremes()
		if float64(u.usage[least]) >= .1*float64(m)/float64(b.n) || u.usage[most] < 2 {
			break
		}
		copy(kept, b.rows)
		u.split(least, most, weights.Stream{Seed: seed, Neuron: uint32(least), Tick: uint64(r.Moved), Site: weights.InitSite})
		if err := u.assign(); err != nil {
			return r, err
		}
		u.centre()
		if err := u.assign(); err != nil {
			return r, err
		}
		p := perplexity(u.usage)
		if u.mse > 1.05*r.MSEBefore || p < r.PerplexityAfter {
			copy(b.rows, kept)
			break
		}
		gain := p/r.PerplexityAfter - 1
		r.PerplexityAfter, r.MSEAfter, r.Usage = p, u.mse, u.usage
		r.Moved++
		if gain < .001 {
			break
		}
	}
	return r, nil
}

// A uniform is a pass of [Uniformise].
type uniform struct {
	b      *Book
	x      []float32
	codes  []int32
	usage  []uint64
	mse    float64
	search search
}

// assign finds the nearest rows of all vectors, the usage and the error.
func (u *uniform) assign() error {
	b := u.b
	half, most := halves(b.rows, b.n, b.dim)
	if err := u.search.nearest(u.codes, u.x, b.rows, half, most, b.n, b.dim); err != nil {
		return err
	}
	u.usage, u.mse = make([]uint64, b.n), 0
	for i, c := range u.codes {
		u.usage[c]++
		u.mse += squared(u.x[i*b.dim:(i+1)*b.dim], b.Row(int(c)))
	}
	u.mse /= float64(len(u.codes))
	return nil
}

// extremes are the least and the most used rows, the smaller of equal ones.
func (u *uniform) extremes() (least, most int) {
	for c, n := range u.usage {
		if n < u.usage[least] {
			least = c
		}
		if n > u.usage[most] {
			most = c
		}
	}
	return least, most
}

// split divides the vectors of a row in two halves by 2-means and puts the row
// on one centre, and the one that was hardly used on the other.
func (u *uniform) split(least, most int, s weights.Stream) {
	b := u.b
	var own []int
	for i, c := range u.codes {
		if int(c) == most {
			own = append(own, i)
		}
	}
	vector := func(i int) []float32 { return u.x[i*b.dim : (i+1)*b.dim] }
	// The second centre starts at the vector that is furthest from the first.
	first := own[weights.Choice(s.Words(1)[0], len(own))]
	second, far := first, -1.0
	for _, i := range own {
		if d := squared(vector(first), vector(i)); d > far {
			second, far = i, d
		}
	}
	centres := [2][]float32{append([]float32(nil), vector(first)...), append([]float32(nil), vector(second)...)}
	for range 8 {
		var n [2]float64
		sums := [2][]float64{make([]float64, b.dim), make([]float64, b.dim)}
		for _, i := range own {
			side := 0
			if squared(vector(i), centres[1]) < squared(vector(i), centres[0]) {
				side = 1
			}
			n[side]++
			for d, v := range vector(i) {
				sums[side][d] += float64(v)
			}
		}
		for side := range centres {
			for d := range b.dim {
				if n[side] > 0 {
					centres[side][d] = float32(sums[side][d] / n[side])
				}
			}
		}
	}
	copy(b.Row(most), centres[0])
	copy(b.Row(least), centres[1])
}

// centre moves every row that is used to the mean of its vectors.
func (u *uniform) centre() {
	b := u.b
	sums := make([]float64, len(b.rows))
	for i, c := range u.codes {
		for d, v := range u.x[i*b.dim : (i+1)*b.dim] {
			sums[int(c)*b.dim+d] += float64(v)
		}
	}
	for c, n := range u.usage {
		for d := range b.dim {
			if n > 0 {
				b.rows[c*b.dim+d] = float32(sums[c*b.dim+d] / float64(n))
			}
		}
	}
}

// KMeans fills a book that is not frozen with centres of the vectors x, by
// k-means++ seeding and so many Lloyd rounds (D. Arthur and S. Vassilvitskii,
// 2007).
func KMeans(b *Book, x []float32, rounds int, s weights.Stream) error {
	if b.frozen {
		return fmt.Errorf("k-means: %w", ErrFrozen)
	}
	m := len(x) / b.dim
	if m == 0 || m*b.dim != len(x) {
		return &codebookError{"k-means: values of a vector", b.dim, len(x), errCodebookShape}
	}
	vector := func(i int) []float32 { return x[i*b.dim : (i+1)*b.dim] }
	near := make([]float64, m)
	for i := range near {
		near[i] = math.Inf(1)
	}
	words := s.Words(b.n)
	copy(b.Row(0), vector(weights.Choice(words[0], m)))
	for c := 1; c < b.n; c++ {
		var all float64
		for i := range near {
			near[i] = math.Min(near[i], squared(vector(i), b.Row(c-1)))
			all += near[i]
		}
		at, chosen := float64(words[c])*0x1p-32*all, weights.Choice(words[c], m)
		if all > 0 {
			for i, d := range near {
				if at -= d; at < 0 {
					chosen = i
					break
				}
			}
		}
		copy(b.Row(c), vector(chosen))
	}
	u := &uniform{b: b, x: x, codes: make([]int32, m), search: search{work: grad.NewWork[float32](nil)}}
	for range rounds {
		if err := u.assign(); err != nil {
			return err
		}
		u.centre()
	}
	return nil
}
