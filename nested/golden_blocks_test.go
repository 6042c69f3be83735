package nested_test

import (
	"encoding/json"
	"math"
	"testing"

	"atenia/internal/dense"
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

// blockTolerance is what float32 is held to, by what its arithmetic can reach:
// Newton–Schulz iterations and normalised layers amplify rounding.
func blockTolerance[F float32 | float64](l *rule.Layout) (values, grads float64) {
	c := l.Config
	values, grads = 1e-5, 1e-5
	switch {
	case l.Rule == rule.Atlas && c.NSIters > 0:
		values, grads = 1e-3, 1e-3
	case l.Rule == rule.MEMORA && c.Form == rule.LnRes:
		values, grads = 1e-4, 1e-4
	case l.Rule == rule.Trellis:
		values, grads = 3e-5, 3e-5
	}
	return tolerance[F](1e-10, values), tolerance[F](1e-10, grads)
}

func runBlock[F float32 | float64](t *testing.T, raw json.RawMessage) {
	c := decode[blockCase](t, raw)
	b, err := rule.New[F](c.Rule, c.D, c.Config)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range b.Params {
		if i >= len(c.ParamOrder) || a.Name != c.ParamOrder[i] || len(b.Params) != len(c.ParamOrder) {
			t.Fatalf("parameters are in the order %v, want %v", b.Params, c.ParamOrder)
		}
	}
	w, n := dense.New[F](nil), c.Seq
	x, dy := cast[F](c.X.V), cast[F](c.DY.V)
	p, s0, dsT := flatOf[F](t, b.Params, c.Params), flatOf[F](t, b.State, c.State0), flatOf[F](t, b.State, c.DStateT)
	values, grads := blockTolerance[F](b.Layout)

	y, sT := make([]F, n*b.D), make([]F, b.StateLen)
	cache := b.Cut(nil, n, make([]F, b.CacheLen(n)))
	b.Forward(w, x, p, s0, y, sT, cache)
	in := b.Tokens(n, cache)
	near(t, "k", in.K, c.K.V, values)
	near(t, "v", in.V, c.V.V, values)
	near(t, "q", in.Q, c.Q.V, values)
	near(t, "code", in.Code, c.Code.V, values)
	for _, g := range b.Gates {
		near(t, g.String(), in.Gate[g], c.Gates[g.String()].V, values)
	}
	near(t, "y", y, c.Y.V, values)
	within(t, "stateT", b.State, sT, c.StateT, values)
	loss := 0.0
	for i, v := range y {
		loss += float64(v) * float64(dy[i])
	}
	if math.Abs(loss-c.Loss) > values*max(1, math.Abs(c.Loss)) {
		t.Errorf("loss %g, want %g", loss, c.Loss)
	}

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
		top := largest(want.Core)
		for name, v := range want.Core {
			nearTo(t, what+": core "+name, core[name], v.V, grads, top)
		}
		nearTo(t, what+": x", dx, want.X.V, grads, 0)
		within(t, what, b.Params, dp, want.Params, grads)
		within(t, what+": state0", b.State, ds0, want.State0, grads)
	}
	check("grad", nil, c.Grad)
	check("grad with the state's", dsT, c.WithState)

	wq := rule.Param(b.Layout, p, "W_Q")
	q, norms, yf := make([]F, n*b.DK), make([]F, n), make([]F, n*b.D)
	before := append([]F(nil), s0...)
	b.Query(w, x, wq, q, norms)
	b.Read(w, s0, q, yf)
	near(t, "frozen q", q, c.Frozen.Q.V, values)
	near(t, "frozen y", yf, c.Frozen.Y.V, values)
	dq, dx, dwq := make([]F, len(q)), make([]F, len(x)), make([]F, len(wq))
	b.ReadBack(w, s0, q, dy, dq)
	near(t, "frozen dq", dq, c.Frozen.DQ.V, grads)
	b.QueryBack(w, x, wq, q, norms, dq, dx, dwq)
	near(t, "frozen dx", dx, c.Frozen.DX.V, grads)
	near(t, "frozen dW_Q", dwq, c.Frozen.DWQ.V, grads)
	for i, v := range before {
		if s0[i] != v {
			t.Fatal("the state of a frozen level has changed")
		}
	}
}

// flatOf is a flat vector of named arrays.
func flatOf[F float32 | float64](t testing.TB, arrays []rule.Array, from map[string]nums) []F {
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
		flat = append(flat, cast[F](v.V)...)
	}
	return flat
}

func largest(m map[string]nums) (top float64) {
	for _, a := range m {
		for _, v := range a.V {
			top = max(top, math.Abs(v))
		}
	}
	return top
}

// within compares the arrays of a flat vector. In float32 they share the
// largest entry: a bias is a sum that may cancel.
func within[F float32 | float64](t testing.TB, what string, arrays []rule.Array, got []F, want map[string]nums, tol float64) {
	t.Helper()
	top := tolerance[F](0, largest(want))
	for _, a := range arrays {
		nearTo(t, what+": "+a.Name, got[a.At:][:a.Len()], want[a.Name].V, tol, top)
	}
}

// nearTo is near, relative to top where that is larger.
func nearTo[F float32 | float64](t testing.TB, what string, got []F, want []float64, tol, top float64) {
	t.Helper()
	own := 0.0
	for _, x := range want {
		own = max(own, math.Abs(x))
	}
	if own > 0 && top > own {
		tol *= top / own
	}
	near(t, what, got, want, tol)
}
