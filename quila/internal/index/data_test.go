package index_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/quila/internal/index"
	"atenia/quila/internal/weights"
)

// A set is vectors of unit norm: isotropic, or near a subspace of rank 12 around
// centres, which is what embeddings are like.
type set struct {
	dim  int
	rows [][]float32
}

func gaussian(seed uint64, n, dim int) set {
	r := rand.New(rand.NewPCG(seed, 1))
	s := set{dim: dim}
	for range n {
		v := make([]float64, dim)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		s.rows = append(s.rows, unit(v))
	}
	return s
}

// clustered draws rows about 100 centres in a space of 12 dimensions.
func clustered(seed uint64, n, dim int) set {
	const rank, centres = 12, 100
	r := rand.New(rand.NewPCG(1, 2)) // the space is the same for data and queries
	base, mid := make([]float64, rank*dim), make([]float64, centres*rank)
	for i := range base {
		base[i] = r.NormFloat64()
	}
	for i := range mid {
		mid[i] = r.NormFloat64()
	}
	r = rand.New(rand.NewPCG(seed, 3))
	s := set{dim: dim}
	for range n {
		c, v := r.IntN(centres), make([]float64, dim)
		for k := range rank {
			z := mid[c*rank+k] + 0.5*r.NormFloat64()
			for i := range v {
				v[i] += z * base[k*dim+i]
			}
		}
		for i := range v {
			v[i] += 0.01 * r.NormFloat64()
		}
		s.rows = append(s.rows, unit(v))
	}
	return s
}

func unit(v []float64) []float32 {
	sum := 0.0
	for _, f := range v {
		sum += f * f
	}
	out := make([]float32, len(v))
	for i, f := range v {
		out[i] = float32(f / math.Sqrt(sum))
	}
	return out
}

// truth returns the labels of the k nearest rows by sums in float64.
func truth(s set, q []float32, k int, metric index.Metric) []uint64 {
	type pair struct {
		d float64
		i int
	}
	all := make([]pair, len(s.rows))
	for i, row := range s.rows {
		d := 0.0
		for j, v := range row {
			if metric == index.L2 {
				e := float64(v) - float64(q[j])
				d += e * e
			} else {
				d -= float64(v) * float64(q[j])
			}
		}
		all[i] = pair{d, i}
	}
	slices.SortFunc(all, func(a, b pair) int {
		switch {
		case a.d < b.d:
			return -1
		case a.d > b.d:
			return 1
		}
		return a.i - b.i
	})
	out := make([]uint64, min(k, len(all)))
	for i := range out {
		out[i] = uint64(all[i].i)
	}
	return out
}

// shared is the share of want that is in got.
func shared(got, want []uint64) float64 {
	n := 0
	for _, w := range want {
		if slices.Contains(got, w) {
			n++
		}
	}
	return float64(n) / float64(len(want))
}

func labels(hits []index.Hit) []uint64 {
	out := make([]uint64, len(hits))
	for i, h := range hits {
		out[i] = h.Label
	}
	return out
}

// built returns an index of a set, labelled by row.
func built(t testing.TB, s set, c index.GraphConfig) *index.Graph {
	t.Helper()
	c.Dim = s.dim
	if c.Stream == (weights.Stream{}) {
		c.Stream = weights.Stream{Seed: 7, Site: weights.InitSite}
	}
	x, err := index.NewGraph(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range s.rows {
		if err := x.Add(uint64(i), v); err != nil {
			t.Fatal(err)
		}
	}
	return x
}
