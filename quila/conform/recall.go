// HNSW-RECALL: neighbours against sums in float64 over all vectors.

package conform

import (
	"atenia/quila/internal/index"
	"atenia/quila/internal/weights"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const dim, k = 64, 32

// gaussian draws unit vectors without structure.
func gaussian(r *rand.Rand, n int) [][]float32 {
	return draw(n, func(v []float64) {
		for i := range v {
			v[i] = r.NormFloat64()
		}
	})
}

// clustered draws unit vectors about centres in a space of 12 dimensions, which
// is the same for every seed.
func clustered(r *rand.Rand, n int) [][]float32 {
	const rank, centres = 12, 32
	fixed := rand.New(rand.NewPCG(1, 2))
	var base [rank * dim]float64
	var mid [centres * rank]float64
	for i := range base {
		base[i] = fixed.NormFloat64()
	}
	for i := range mid {
		mid[i] = fixed.NormFloat64()
	}
	return draw(n, func(v []float64) {
		c := r.IntN(centres)
		for i := range rank {
			z := mid[c*rank+i] + r.NormFloat64()
			for j := range v {
				v[j] += z * base[i*dim+j]
			}
		}
		for j := range v {
			v[j] += 0.3 * r.NormFloat64()
		}
	})
}

func draw(n int, fill func(v []float64)) [][]float32 {
	rows := make([][]float32, n)
	for i := range rows {
		v, sum := make([]float64, dim), 0.0
		fill(v)
		for _, f := range v {
			sum += f * f
		}
		rows[i] = make([]float32, dim)
		for j, f := range v {
			rows[i][j] = float32(f / math.Sqrt(sum))
		}
	}
	return rows
}

// nearestLabels returns the labels of the k rows with the largest products, of those
// that are alive if live is given.
func nearestLabels(rows [][]float32, q []float32, k int, live map[uint64]bool) []uint64 {
	type pair struct {
		product float64
		label   uint64
	}
	var all []pair
	for i, row := range rows {
		if live != nil && !live[uint64(i)] {
			continue
		}
		sum := 0.0
		for j, v := range row {
			sum += float64(v) * float64(q[j])
		}
		all = append(all, pair{sum, uint64(i)})
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.product, a.product), cmp.Compare(a.label, b.label))
	})
	var out []uint64
	for _, p := range all[:min(k, len(all))] {
		out = append(out, p.label)
	}
	return out
}

// share is how much of want was found.
func share(hits []index.Hit, want []uint64) float64 {
	n := 0
	for _, h := range hits {
		if slices.Contains(want, h.Label) {
			n++
		}
	}
	return float64(n) / float64(len(want))
}

// newIndex returns one of rows, labelled by their place.
func newIndex(t *report, rows [][]float32, c index.GraphConfig) *index.Graph {
	c.Dim, c.Stream = dim, weights.Stream{Seed: 1, Site: weights.InitSite}
	x, err := index.NewGraph(c)
	t.Must(err)
	for i, v := range rows {
		t.Must(x.Add(uint64(i), v))
	}
	return x
}

func hnswRecall(t *report) {
	for _, c := range []struct {
		name  string
		draw  func(r *rand.Rand, n int) [][]float32
		n     int
		exact int
		least float64
	}{{"clustered", clustered, 10_000, 2000, .985}, {"Gaussian", gaussian, 10_000, 2000, .75}, {"exact", gaussian, 1999, 2000, 1}} {
		if t.Brief() { // what is missed of fewer rows is a third of it
			c.n, c.exact, c.least = c.n/4, c.exact/4, 1-(1-c.least)/3
		}
		rows, queries := c.draw(rand.New(rand.NewPCG(3, 4)), c.n), c.draw(rand.New(rand.NewPCG(5, 6)), 200)
		x := newIndex(t, rows, index.GraphConfig{ExactBelow: c.exact})
		if s := x.Stats(); (s.Linked == 0) != (c.n < c.exact) {
			t.Errorf("%s: the graph has %d of %d entries", c.name, s.Linked, c.n)
		}
		sum := 0.0
		for _, q := range queries {
			hits, err := x.Search(nil, q, k, 64)
			t.Must(err)
			sum += share(hits, nearestLabels(rows, q, k, nil))
		}
		if sum /= float64(len(queries)); sum < c.least {
			t.Errorf("%s: recall %.4f, at least %.3f", c.name, sum, c.least)
		}
		t.Figure("%s %.4f", c.name, sum)
	}
}
