package nested_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/grad"
	"atenia/nested/rule"
)

func init() {
	families["blocks"] = family{
		name: func(c json.RawMessage) string {
			var n struct{ Rule, Variant string }
			_ = json.Unmarshal(c, &n)
			return n.Rule + "-" + n.Variant
		},
		run: func(t *testing.T, c json.RawMessage) {
			t.Run("float64", func(t *testing.T) { runBlock[float64](t, c) })
			t.Run("float32", func(t *testing.T) { runBlock[float32](t, c) })
		},
	}
}

// blockCase is a chunk through one block, and all its adjoints.
type blockCase struct {
	Rule       rule.Name
	Config     rule.Config
	D, Seq     int
	ParamOrder []string `json:"param_order"`
	X, DY      nums
	Params     map[string]nums
	State0     map[string]nums
	StateT     map[string]nums
	DStateT    map[string]nums
	K, V, Q    nums
	Code       nums
	Gates      map[string]nums
	Y          nums
	Loss       float64
	Grad       blockGrad
	WithState  blockGrad `json:"grad_with_dstateT"`
	Frozen     struct {
		Y, Q, DQ, DX nums
		DWQ          nums `json:"dW_Q"`
	}
}

type blockGrad struct {
	X              nums
	Params, State0 map[string]nums
	Core           map[string]nums
}

// roundings counts the roundings on the longest path through a chunk of T tokens: every
// token reads and writes each layer of the memory by products of the width of its rows,
// as often as the rule iterates, and has a dozen operations of its own.
func roundings(l *rule.Layout, T int) float64 {
	c := l.Config
	width, times := max(l.D, l.DK), 1
	switch l.Rule {
	case rule.Moneta, rule.YAAD, rule.MEMORA:
		width, times = max(width, c.Hidden), 2
	case rule.Lattice:
		width = max(width, c.Slots)
	case rule.Trellis:
		width, times = max(width, c.Slots), 2
	case rule.Atlas:
		times = c.Window
		if !c.NoNS {
			times += 3 * c.NSIters
		}
	}
	return float64(T * times * (2*width + 12))
}

// blockTolerance returns the tolerance of a case: in float64 the one of the specification,
// in float32 a unit of rounding for each rounding of the longest path, and what the
// specification allows for the exponentials of MEMORA.
func blockTolerance[F float32 | float64](l *rule.Layout, T int) float64 {
	single := max(1e-5, 0x1p-24*roundings(l, T))
	if l.Rule == rule.MEMORA {
		single = max(single, 1e-4)
	}
	return tolerance[F](1e-10, single)
}

func runBlock[F float32 | float64](t *testing.T, raw json.RawMessage) {
	c := decode[blockCase](t, raw)
	l := layoutOf(t, c.Rule, c.D, c.Config)
	judge(t, blockTolerance[F](l, c.Seq), 4*math.Sqrt(roundings(l, c.Seq)), func(round func(float64) F) []blockArray[F] { return evaluateBlock(t, &c, round) })
}

// layoutOf returns the layout of a rule.
func layoutOf(t *testing.T, name rule.Name, d int, c rule.Config) *rule.Layout {
	t.Helper()
	l, err := rule.NewLayout(name, d, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// judge compares the results of evaluate with what they should be, to base of the largest
// entry. A case that amplifies a change of its inputs' last digits, mostly a long chunk of
// an ill-conditioned rule, amplifies the rounding of the arithmetic likewise: how much is
// seen from what five such changes do to the results of the same code, and factor times
// that is allowed. What the results should be has no part in it, so that an error of the
// code widens nothing.
func judge[F float32 | float64](t *testing.T, base, factor float64, evaluate func(round func(float64) F) []blockArray[F]) {
	t.Helper()
	got := evaluate(func(x float64) F { return F(x) })
	moves := make([]float64, len(got))
	rng := rand.New(rand.NewPCG(uint64(len(got)), 1))
	for range 5 {
		moved := evaluate(func(x float64) F { return F(x * (1 + float64(rng.IntN(3)-1)*tolerance[F](0x1p-52, 0x1p-23))) })
		for i, a := range moved {
			for j, v := range a.got {
				if off := math.Abs(float64(v) - float64(got[i].got[j])); !(off <= moves[i]) {
					moves[i] = off
				}
			}
		}
	}
	for i, a := range got {
		tol := base
		if a.top > 0 {
			tol = max(tol, factor*moves[i]/a.top)
		}
		if finite := !slices.ContainsFunc(a.got, func(v F) bool { return v-v != 0 }); finite && !(tol <= 0.1) {
			t.Logf("%s says nothing: a change of its inputs' last digits changes it by %.2g of its largest entry", a.name, moves[i]/a.top)
			continue
		}
		nearTo(t, a.name, a.got, a.want, tol, a.top)
	}
}

// A blockArray is one array of a case, computed and expected, with the largest
// expected entry.
type blockArray[F float32 | float64] struct {
	name string
	got  []F
	want []float64
	grad bool
	top  float64
}

// evaluateBlock computes a case from inputs that went through round.
func evaluateBlock[F float32 | float64](t *testing.T, c *blockCase, round func(float64) F) (all []blockArray[F]) {
	b, err := rule.New[F](c.Rule, c.D, c.Config)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range b.Params {
		if i >= len(c.ParamOrder) || a.Name != c.ParamOrder[i] || len(b.Params) != len(c.ParamOrder) {
			t.Fatalf("parameters are in the order %v, want %v", b.Params, c.ParamOrder)
		}
	}
	add := func(name string, got []F, want []float64, grad bool, top float64) {
		all = append(all, blockArray[F]{name, append([]F(nil), got...), want, grad, max(top, largest(want))})
	}
	// In float32 the arrays of a flat vector share the largest entry: a bias is
	// a sum that may cancel.
	flat := func(what string, arrays []rule.Array, got []F, want map[string]nums, grad bool) {
		top := tolerance[F](0, largestOf(want))
		for _, a := range arrays {
			add(what+": "+a.Name, got[a.At:][:a.Len()], want[a.Name].V, grad, top)
		}
	}
	w, n := grad.NewWork[F](nil), c.Seq
	x, dy := rounded(c.X.V, round), rounded(c.DY.V, round)
	p, s0, dsT := flatOf(t, b.Params, c.Params, round), flatOf(t, b.State, c.State0, round), flatOf(t, b.State, c.DStateT, round)

	y, sT := make([]F, n*b.D), make([]F, b.StateLen)
	cache := b.Cut(nil, n, make([]F, b.CacheLen(n)))
	b.Forward(w, x, p, s0, y, sT, cache)
	in := b.Tokens(n, cache)
	add("k", in.K, c.K.V, false, 0)
	add("v", in.V, c.V.V, false, 0)
	add("q", in.Q, c.Q.V, false, 0)
	add("code", in.Code, c.Code.V, false, 0)
	for _, g := range b.Gates {
		add(g.String(), in.Gate[g], c.Gates[g.String()].V, false, 0)
	}
	add("y", y, c.Y.V, false, 0)
	flat("stateT", b.State, sT, c.StateT, false)
	var loss F
	for i, v := range y {
		loss += v * dy[i]
	}
	add("loss", []F{loss}, []float64{c.Loss}, false, float64(n))

	check := func(what string, dsT []F, want blockGrad) {
		dx, dp, ds0 := make([]F, len(x)), make([]F, len(p)), make([]F, len(s0))
		b.Backward(w, x, p, s0, cache, dy, dsT, dx, dp, ds0)
		g := b.Adjoints()
		core := map[string][]F{"k": g.K, "v": g.V, "q": g.Q}
		if b.Code > 0 {
			core["code"] = g.Code
		}
		for _, gate := range b.Gates {
			core[gate.String()] = g.Gate[gate]
		}
		top := tolerance[F](0, largestOf(want.Core))
		for _, name := range slices.Sorted(maps.Keys(want.Core)) {
			add(what+": core "+name, core[name], want.Core[name].V, true, top)
		}
		add(what+": x", dx, want.X.V, true, 0)
		flat(what, b.Params, dp, want.Params, true)
		flat(what+": state0", b.State, ds0, want.State0, true)
	}
	check("grad", nil, c.Grad)
	check("grad with the state's", dsT, c.WithState)

	wq := rule.Param(b.Layout, p, "W_Q")
	q, norms, yf := make([]F, n*b.DK), make([]F, n), make([]F, n*b.D)
	before := append([]F(nil), s0...)
	b.Query(w, x, wq, q, norms)
	b.Read(w, s0, q, yf)
	add("frozen q", q, c.Frozen.Q.V, false, 0)
	add("frozen y", yf, c.Frozen.Y.V, false, 0)
	dq, dx, dwq := make([]F, len(q)), make([]F, len(x)), make([]F, len(wq))
	b.ReadBack(w, s0, q, dy, dq)
	add("frozen dq", dq, c.Frozen.DQ.V, true, 0)
	b.QueryBack(w, x, wq, q, norms, dq, dx, dwq)
	add("frozen dx", dx, c.Frozen.DX.V, true, 0)
	add("frozen dW_Q", dwq, c.Frozen.DWQ.V, true, 0)
	if !slices.Equal(s0, before) {
		t.Fatal("the state of a frozen level has changed")
	}
	return all
}

func rounded[F float32 | float64](v []float64, round func(float64) F) []F {
	out := make([]F, len(v))
	for i, x := range v {
		out[i] = round(x)
	}
	return out
}

// flatOf is a flat vector of named arrays.
func flatOf[F float32 | float64](t testing.TB, arrays []rule.Array, from map[string]nums, round func(float64) F) []F {
	t.Helper()
	if len(from) != len(arrays) {
		t.Fatalf("%d arrays, want %d", len(from), len(arrays))
	}
	var flat []F
	for _, a := range arrays {
		v, ok := from[a.Name]
		if !ok || len(v.V) != a.Len() {
			t.Fatalf("%s has %d numbers, want %d", a.Name, len(v.V), a.Len())
		}
		flat = append(flat, rounded(v.V, round)...)
	}
	return flat
}

func largest(v []float64) (top float64) {
	for _, x := range v {
		top = max(top, math.Abs(x))
	}
	return top
}

func largestOf(m map[string]nums) (top float64) {
	for _, a := range m {
		top = max(top, largest(a.V))
	}
	return top
}

// nearTo is near, relative to top where that is larger.
func nearTo[F float32 | float64](t testing.TB, what string, got []F, want []float64, tol, top float64) {
	t.Helper()
	if own := largest(want); own > 0 && top > own {
		tol *= top / own
	}
	near(t, what, got, want, tol)
}
