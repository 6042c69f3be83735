package weights

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/config"
)

// A Set has the values of an inventory, in one piece of memory.
type Set[F grad.Float] struct {
	Specs  []Spec
	index  map[string]int
	at     []int // where each begins in values; the last is the end
	values []F
}

// NewSet makes a set of zeros.
func NewSet[F grad.Float](specs []Spec) *Set[F] {
	s := &Set[F]{Specs: specs, index: make(map[string]int, len(specs)), at: make([]int, len(specs)+1)}
	for i := range specs {
		s.index[specs[i].Name] = i
		s.at[i+1] = s.at[i] + specs[i].Size()
	}
	s.values = make([]F, s.at[len(specs)])
	return s
}

// Has reports whether there is a tensor of that name.
func (s *Set[F]) Has(name string) bool { _, ok := s.index[name]; return ok }

// Of returns the values of a tensor. A name that the inventory lacks is a fault
// of the program and panics.
func (s *Set[F]) Of(name string) []F {
	i, ok := s.index[name]
	if !ok {
		panic(fmt.Sprintf("weights: there is no tensor %q", name))
	}
	return s.At(i)
}

// At returns the values of tensor i of Specs.
func (s *Set[F]) At(i int) []F { return s.values[s.at[i]:s.at[i+1]:s.at[i+1]] }

// Rows returns row i of a tensor's first axis.
func (s *Set[F]) Rows(name string, i int) []F {
	v, n := s.Of(name), s.Specs[s.index[name]].Dims[0]
	w := len(v) / n
	return v[i*w : (i+1)*w : (i+1)*w]
}

// To converts a set to another float type.
func To[G, F grad.Float](s *Set[F]) *Set[G] {
	t := NewSet[G](s.Specs)
	for i, x := range s.values {
		t.values[i] = G(x)
	}
	return t
}

// Init makes the first values of a network with so many edges [R-2.1c]. They
// depend on the seed, the tensor's place in the inventory and nothing else.
func Init(c *config.Config, edges int, seed uint64) *Set[float32] {
	s := NewSet[float32](Inventory(c, edges))
	byName := rules(c)
	for i := range s.Specs {
		rule, ok := initial(c, byName, &s.Specs[i])
		if !ok {
			continue // zeros
		}
		rule(s.At(i), &s.Specs[i], Stream{Seed: seed, Neuron: uint32(i), Site: InitSite})
	}
	return s
}

// A filler writes first values of a tensor.
type filler func(v []float32, s *Spec, r Stream)

// constant fills with a number.
func constant(x float64) filler {
	return func(v []float32, _ *Spec, _ Stream) {
		for i := range v {
			v[i] = float32(x)
		}
	}
}

// normal draws from a normal distribution of that standard deviation, a block of
// numbers a tick.
func normal(std float64) filler {
	return func(v []float32, _ *Spec, r Stream) {
		var buf [4096]float64
		for len(v) > 0 {
			n := min(len(v), len(buf))
			r.Normal(buf[:n])
			for i := range n {
				v[i] = float32(std * buf[i])
			}
			v = v[n:]
			r.Tick++
		}
	}
}

// along fills the last axis with a function of the index.
func along(f func(i, n int) float64) filler {
	return func(v []float32, s *Spec, _ Stream) {
		n := s.Dims[len(s.Dims)-1]
		for i := range v {
			v[i] = float32(f(i%n, n))
		}
	}
}

// diagonal adds d to the diagonals of square matrices, on top of another rule.
func diagonal(d float64, below filler) filler {
	return func(v []float32, s *Spec, r Stream) {
		if below != nil {
			below(v, s, r)
		}
		n := s.Dims[len(s.Dims)-1]
		rows := s.Dims[len(s.Dims)-2]
		for m := 0; m < len(v); m += n * rows {
			for i := range min(n, rows) {
				v[m+i*n+i] += float32(d)
			}
		}
	}
}

// ramp is i ÷ (n−1).
func ramp(i, n int) float64 { return float64(i) / math.Max(float64(n-1), 1) }

// half is (1/√n).
func half(n int) float64 { return 1 / math.Sqrt(float64(n)) }

// orthogonal fills square matrices with the Q of a normal matrix's QR
// decomposition, by modified Gram–Schmidt on rows.
func orthogonal(v []float32, s *Spec, r Stream) {
	n := s.Dims[1]
	w := make([]float64, len(v))
	for i := 0; i < len(w); i += n {
		r.Normal(w[i : i+n])
		r.Tick++
		row := w[i : i+n]
		for range 2 { // twice is enough (W. Kahan)
			for j := max(0, i-n*(n-1)); j < i; j += n {
				var dot float64
				for k, x := range w[j : j+n] {
					dot += x * row[k]
				}
				for k, x := range w[j : j+n] {
					row[k] -= dot * x
				}
			}
		}
		var sum float64
		for _, x := range row {
			sum += x * x
		}
		for k := range row {
			row[k] /= math.Sqrt(sum)
			v[i+k] = float32(row[k])
		}
	}
}

// sphere puts the rows of a codebook on the sphere of radius √n [R-10.6b].
func sphere(v []float32, s *Spec, r Stream) {
	n := s.Dims[1]
	row := make([]float64, n)
	for i := 0; i < len(v); i += n {
		r.Normal(row)
		r.Tick++
		var sum float64
		for _, x := range row {
			sum += x * x
		}
		for k, x := range row {
			v[i+k] = float32(x * math.Sqrt(float64(n)/sum))
		}
	}
}
