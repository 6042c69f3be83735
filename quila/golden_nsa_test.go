package quila_test

import (
	"math"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

func init() {
	topics["nsa_mask"] = goldenMasks
	topics["utilities"] = goldenUtilities
}

// goldenMasks checks what is selected and attended to. The neurons' half is in
// microMask.
func goldenMasks(t *testing.T, path string) {
	var file struct {
		Micro []map[string]any `json:"micro"`
		Port  []map[string]any `json:"port"`
	}
	golden.JSON(t, path, &file)
	if len(file.Micro) == 0 || len(file.Port) == 0 {
		t.Fatal("no cases")
	}
	for _, one := range file.Micro {
		microMask(t, one)
	}
	for _, one := range file.Port {
		utility, k := flat(t, one["utility"]), int(one["k"].(float64))
		state, x := flat(t, one["state"]), flat(t, one["h_final"])
		idx, bias := flat(t, one["idx"]), flat(t, one["bias"])
		if k < len(utility) {
			// The case lowers one utility to zero after the choice.
			selected := append([]float64(nil), utility...)
			for _, i := range idx {
				if selected[int(i)] == 0 {
					selected[int(i)] = 2
				}
			}
			got := neuron.TopK(nil, selected, k, nil)
			near(t, "idx", toFloats(got), idx, 0, 0)
		}
		rows := make([]int32, len(idx))
		for i, j := range idx {
			rows[i] = int32(j)
		}
		n, d := len(utility), len(state)
		query, folded := make([]float64, d), make([]float64, d)
		dense(query, flat(t, one["q"]), state, false)
		dense(folded, flat(t, one["kk"]), query, true)
		logits, weight, mean, out := make([]float64, n), make([]float64, n), make([]float64, d), make([]float64, d)
		wide := make([]float64, n)
		for i, j := range rows {
			wide[j] = bias[i]
		}
		var scratch []float64
		neuron.Attend(logits, weight, mean, folded, x, utility, wide, rows, &scratch)
		dense(out, flat(t, one["v"]), mean, false)
		var gotLogits, gotWeight []float64
		for _, j := range rows {
			gotLogits, gotWeight = append(gotLogits, logits[j]), append(gotWeight, weight[j])
		}
		near(t, "logits", gotLogits, flat(t, one["logits"]), 1e-10, 0)
		near(t, "weight", gotWeight, flat(t, one["weight"]), 1e-10, 0)
		near(t, "out", out, flat(t, one["out"]), 1e-10, 0)
	}
}

// dense multiplies a square matrix, or its transpose, with a vector.
func dense(dst, m, x []float64, transposed bool) {
	n := len(x)
	for i := range n {
		for j := range n {
			if transposed {
				dst[i] += m[j*n+i] * x[j]
			} else {
				dst[i] += m[i*n+j] * x[j]
			}
		}
	}
}

func toFloats[I int | int32](x []I) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// goldenUtilities checks utilities and the scan. The neurons' half is in
// neuronUtility.
func goldenUtilities(t *testing.T, path string) {
	var file struct {
		Cases []map[string]any `json:"cases"`
		Scan  map[string]any   `json:"scan"`
	}
	golden.JSON(t, path, &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, one := range file.Cases {
		phase := int(one["phase"].(float64))
		a, b, c := neuron.Weighting(phase, []float64{one["d_alpha"].(float64), one["b_raw"].(float64)})
		near(t, "abg", []float64{a, b, c}, flat(t, one["abg"]), 1e-10, 0)
		w := flat(t, one["wkv_weight"])
		u, trace, ptrace := make([]float64, len(w)), make([]float64, len(w)), make([]float64, len(w))
		neuron.DivideByMean(trace, flat(t, one["trace"]), len(w))
		neuron.DivideByMean(ptrace, flat(t, one["ptrace"]), len(w))
		neuron.Utilities(u, w, trace, ptrace, a, b, c)
		near(t, "port_utility", u, flat(t, one["port_utility"]), 1e-10, 0)
		neuronUtility(t, one, a, b, c)
	}
	scan := file.Scan
	x := flat(t, scan["x"])
	params := scan["params"].(map[string]any)
	d := len(flat(t, params["w_decay"]))
	for form, want := range scan["aggr"].(map[string]any) {
		c, err := config.Profile("nano")
		if err != nil {
			t.Fatal(err)
		}
		// A Thinker alone sees no slot: its scan is of the neurons.
		c.N, c.D, c.DE, c.KP, c.Aggr, c.TrainPorts = len(x)/d, d, d, len(x)/d, form, "thinkers"
		set := weights.NewSet[float64](weights.Inventory(&c, c.N*c.Deg))
		for k, v := range params {
			copy(set.Of("port.thinker.0."+k), flat(t, v))
		}
		s := neuron.NewStepper(neuron.NewPorts[float64](&c, nil), set, 0)
		zero := make([]float64, c.N)
		if err := s.Step(&neuron.Step[float64]{Phase: 5, X: x, Conf: zero, Utility: zero, Slots: make([]float64, 3*d), M: make([]float64, d), Confidence: make([]float64, 1)}); err != nil {
			t.Fatal(err)
		}
		near(t, "aggr "+form, s.Detail(0, 0).Aggr, flat(t, want), 1e-10, 0)
		near(t, "wkv_weight", s.Detail(0, 0).Scan, flat(t, scan["wkv_weight"]), 1e-10, 0)
	}
}

// microMask runs one neuron on the h of a case, as step 1 gave it.
func microMask(t *testing.T, one map[string]any) {
	t.Helper()
	h, u := flat(t, one["h"]), flat(t, one["u_dim"])
	c := bare(t, 1, len(h))
	c.NSAK, c.Streams = int(one["k"].(float64)), "A"
	w, g := gridFor(t, c)
	copy(w.Of("n.nsa"), flat(t, one["w"]))
	g.Bind(w)
	s := neuron.NewState[float64](c, 1)
	copy(s.UDim, u)
	copy(s.HDim, flat(t, one["h_dim"]))
	var seen neuron.Trace[float64]
	// The reference had these two in float32.
	alpha, gamma := float64(float32(one["alpha"].(float64))), float64(float32(one["gamma"].(float64)))
	g.Step(s, &neuron.Tick[float64]{HIn: h, Phase: 5, Alpha: alpha, Gamma: gamma, Seen: &seen})
	near(t, "mask", toFloats(seen.Counts["mask"]), flat(t, one["mask"]), 0, 0)
	near(t, "out", seen.Values["out_a"], flat(t, one["out"]), 1e-10, 0)
	near(t, "attn", seen.Values["attn_a"], flat(t, one["attn"]), 1e-10, 0)
	score := make([]float64, len(u))
	for i, x := range u {
		score[i] = alpha*float64(len(u))*x + gamma*flat(t, one["h_dim"])[i]
	}
	near(t, "score", score, flat(t, one["score"]), 1e-10, 0)
}

// bare is a configuration of n neurons of d dimensions whose state is what step 1
// gives: no norm, no residual, no consistency model.
func bare(t *testing.T, n, d int) *config.Config {
	t.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.N, c.D, c.D1, c.D2, c.DE, c.KP, c.Deg = n, d, d, 1, d, n, 0
	c.NormIn, c.RhoOn, c.CM = false, false, "off"
	return &c
}

// gridFor makes neurons without edges and their first weights.
func gridFor(t *testing.T, c *config.Config) (*weights.Set[float64], *neuron.Grid[float64]) {
	t.Helper()
	graph, err := weights.New(c.N, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return weights.To[float64](weights.Init(c, 0, 1)), neuron.New[float64](c, graph, nil)
}

// neuronUtility runs neurons whose smoothed state is that of the case: stream D
// corrects nothing, so both streams of the intercept are h, and stream C, which has
// no share, starts at the logarithms of the weights.
func neuronUtility(t *testing.T, one map[string]any, alpha, beta, gamma float64) {
	t.Helper()
	h, p := flat(t, one["h"]), flat(t, one["wkv_weights"])
	n := len(flat(t, one["trace"]))
	d := len(h) / n
	c := bare(t, n, d)
	c.Streams = "CD"
	w, g := gridFor(t, c)
	for _, name := range []string{"n.rwkv", "n.drc.corr", "n.mhc", "n.gate", "s4.spec"} {
		clear(w.Of(name))
	}
	for i := range n {
		w.Rows("s4.spec", i)[0] = 1
		w.Rows("n.gate", i)[2*d] = -1000
		w.Of("n.fxaa")[i] = -50
	}
	g.Bind(w)
	s := neuron.NewState[float64](c, 1)
	for i, x := range p {
		s.Num[i] = math.Log(x)
	}
	copy(s.Trace, flat(t, one["trace"]))
	copy(s.PTrace, flat(t, one["ptrace"]))
	var seen neuron.Trace[float64]
	g.Step(s, &neuron.Tick[float64]{HIn: h, Phase: 5, Alpha: alpha, Beta: beta, Gamma: gamma, Seen: &seen})
	near(t, "h", seen.Values["h_smooth"], h, 1e-10, 0)
	near(t, "wkv_weights", seen.Values["wkv_weights"], p, 1e-10, 0)
	near(t, "neuron_utility", seen.Values["util_now"], flat(t, one["neuron_utility"]), 1e-10, 0)
}
