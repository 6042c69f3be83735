package exec

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/plan"
)

// routeSlowly is the routers' specification: sorts of everything, in float64.
func routeSlowly(p *plan.MoEParams, logits, bias []float32) (chosen []int, weights []float64) {
	n := len(logits)
	score, by := make([]float64, n), make([]float64, n)
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l))
	}
	for i, l := range logits {
		score[i] = math.Exp(float64(l)) / sum
		if p.Gate == plan.GateSigmoid {
			score[i] = 1 / (1 + math.Exp(-float64(l)))
		}
		by[i] = score[i]
		if bias != nil {
			by[i] += float64(bias[i])
		}
	}
	best := func(v []float64) []int {
		order := make([]int, len(v))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
		return order
	}
	if g := int(p.Groups); g > 1 {
		size := n / g
		scores := make([]float64, g)
		for i := range scores {
			group := slices.Clone(by[i*size : (i+1)*size])
			slices.Sort(group)
			scores[i] = group[size-1]
			if p.GroupScore == 1 {
				scores[i] += group[size-2]
			}
		}
		for _, out := range best(scores)[p.TopGroups:] {
			for i := out * size; i < (out+1)*size; i++ {
				by[i] = 0
				if p.Masked == 1 {
					by[i] = math.Inf(-1)
				}
			}
		}
	}
	total := float64(p.RenormEps)
	for _, i := range best(by)[:p.TopK] {
		chosen, weights = append(chosen, i), append(weights, score[i])
		total += score[i]
	}
	for i := range weights {
		weights[i] *= float64(p.Scale)
		if p.Renorm != 0 || p.Gate == plan.GateTop {
			weights[i] /= total
		}
	}
	return chosen, weights
}

// TestRouters compares every combination of the parameters with the specification.
func TestRouters(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	seen := map[uint32]int{}
	for range 4000 {
		p := &plan.MoEParams{Experts: 12, TopK: 1 + rng.Uint32N(4), Gate: rng.Uint32N(3), Renorm: rng.Uint32N(2), Scale: 1.7, RenormEps: 1e-6 * float32(rng.Uint32N(2))}
		if rng.IntN(2) == 0 {
			p.Groups = []uint32{2, 3, 4, 6}[rng.IntN(4)]
			p.TopGroups = 1 + rng.Uint32N(p.Groups)
			p.GroupScore, p.Masked = rng.Uint32N(2), rng.Uint32N(2)
			p.TopK = min(p.TopK, p.TopGroups*12/p.Groups)
		}
		var bias []float32
		logits, by := make([]float32, 12), make([]float32, 12)
		for i := range logits {
			logits[i] = float32(rng.NormFloat64())
		}
		if rng.IntN(2) == 0 {
			bias = make([]float32, 12)
			for i := range bias {
				bias[i] = float32(rng.NormFloat64()) * 0.5
			}
		}
		r, err := newRouter(p, bias)
		if err != nil {
			t.Fatal(err)
		}
		want, weights := routeSlowly(p, logits, bias)
		chosen, got := make([]int32, p.TopK), make([]float32, p.TopK)
		r.route(chosen, got, logits, by)
		for j := range want {
			if int(chosen[j]) != want[j] || math.Abs(float64(got[j])-weights[j]) > 1e-5 {
				t.Fatalf("%+v: chose %v with %v, want %v with %v", p, chosen, got, want, weights)
			}
		}
		seen[p.Gate]++
	}
	if len(seen) != 3 {
		t.Errorf("gates %v", seen)
	}
}

// TestRouterTies: among equals the first expert, and the first group, wins.
func TestRouterTies(t *testing.T) {
	for _, p := range []*plan.MoEParams{
		{Experts: 6, TopK: 2, Scale: 1},
		{Experts: 6, TopK: 2, Scale: 1, Gate: plan.GateSigmoid, Groups: 3, TopGroups: 1, GroupScore: 1, Masked: 1},
		{Experts: 6, TopK: 2, Scale: 1, Gate: plan.GateSparse, Jitter: 0.01},
	} {
		r, err := newRouter(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		chosen, weights := make([]int32, 2), make([]float32, 2)
		r.route(chosen, weights, []float32{1, 1, 1, 1, 1, 1}, make([]float32, 6))
		if chosen[0] != 0 || chosen[1] != 1 {
			t.Errorf("%+v chose %v", p, chosen)
		}
	}
}

// TestSparseMixer: values that transformers' sparsemixer returns for these logits
// with a jitter of 0.01.
func TestSparseMixer(t *testing.T) {
	r, err := newRouter(&plan.MoEParams{Experts: 5, TopK: 2, Gate: plan.GateSparse, Jitter: 0.01, Scale: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range sparseCases {
		chosen, weights := make([]int32, 2), make([]float32, 2)
		r.route(chosen, weights, slices.Clone(x.logits[:]), nil)
		for j := range chosen {
			if chosen[j] != x.chosen[j] || math.Abs(float64(weights[j]-x.weights[j])) > 1e-6 {
				t.Errorf("%v: chose %v with %v, want %v with %v", x.logits, chosen, weights, x.chosen, x.weights)
				break
			}
		}
	}
}

// sparseCases are made with transformers' sparsemixer.
var sparseCases = []struct {
	logits  [5]float32
	chosen  [2]int32
	weights [2]float32
}{
	{[5]float32{1.0, 1.01, 0.2, -3.0, 1.005}, [2]int32{1, 4}, [2]float32{0.3350013792514801, 0.5012499690055847}},
	{[5]float32{-1.0, -1.01, -1.015, -2.0, -5.0}, [2]int32{0, 1}, [2]float32{0.33611616492271423, 0.5012499690055847}},
	{[5]float32{5.0, 4.95, 4.94, 4.91, 4.89}, [2]int32{0, 1}, [2]float32{0.26267921924591064, 0.2568974196910858}},
	{[5]float32{0.0, 0.0, -0.1, 0.05, 0.049}, [2]int32{3, 4}, [2]float32{1.0, 1.0}},
	{[5]float32{2.0, -2.0, 1.99, 1.0, 1.98}, [2]int32{0, 2}, [2]float32{0.3366721570491791, 0.5024999976158142}},
	{[5]float32{-0.001, -0.3, -0.0011, -4.0, -0.00105}, [2]int32{0, 4}, [2]float32{1.0, 1.0}},
}
