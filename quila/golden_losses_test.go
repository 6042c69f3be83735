package quila_test

import (
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/quila/internal/network"
	"atenia/quila/internal/neuron"
)

func init() { topics["losses"] = goldenLosses }

func goldenLosses(t *testing.T, path string) {
	var file map[string]any
	golden.JSON(t, path, &file)
	losses[float64](t, file, 1e-10, 1e-10, 1e-14)
	losses[float32](t, file, 5e-5, 2e-4, 1e-7)
}

// losses compares every term and every gradient that the file has; a term or an
// input that is not known here fails.
func losses[F grad.Float](t *testing.T, file map[string]any, tol, gradTol, floor float64) {
	t.Helper()
	read := func(x any) []F {
		v := flat(t, x)
		out := make([]F, len(v))
		for i := range v {
			out[i] = F(v[i])
		}
		return out
	}
	in, d := map[string][]F{}, map[string][]F{}
	for name, x := range file["inputs"].(map[string]any) {
		in[name] = read(x)
		d[name] = make([]F, len(in[name]))
	}
	var target []int32
	for _, x := range flat(t, file["target"]) {
		target = append(target, int32(x))
	}
	shards := file["inputs"].(map[string]any)["shards"].([]any)
	nll, hit := make([]F, len(target)), make([]F, len(target))
	terms := map[string]func() F{
		"ce":    func() F { return network.CrossEntropy(d["logits"], nll, hit, in["logits"], target, 1) },
		"brier": func() F { return brier(t, d["conf"], in["conf"], in["logits"], target) },
		"z_kl":  func() F { return network.Prior(d["z"], in["z"], read(file["z_star"]), 1) },
		"align": func() F { return network.Align(d["shards"], in["shards"], read(file["outs"]), len(shards), 1) },
		"drift": func() F {
			return network.Drift(d["a_theta"], in["a_theta"], read(file["cos"]), read(file["switch"]), 1)
		},
		"diversity": func() F { return network.Diversity(d["mix_logits"], in["mix_logits"], 1) },
	}
	want, grads := file["losses"].(map[string]any), file["grads"].(map[string]any)
	if len(want) == 0 || len(grads) == 0 {
		t.Fatal("no losses")
	}
	for name := range want {
		term := terms[name]
		if term == nil {
			t.Errorf("there is no loss %q", name)
			continue
		}
		for _, g := range d {
			clear(g)
		}
		near(t, name, []F{term()}, flat(t, want[name]), tol, floor)
		for input, g := range grads[name].(map[string]any) {
			near(t, "gradient of "+name+" by "+input, d[input], flat(t, g), gradTol, floor)
		}
	}
}

// brier is the term that training records on its tape.
func brier[F grad.Float](t *testing.T, dconf, conf, logits []F, target []int32) F {
	t.Helper()
	var reg grad.Registry[F]
	neuron.RegisterPort(&reg)
	tape := grad.New(&reg)
	c := tape.Param(conf, len(conf))
	b := neuron.Brier(tape, c, tape.Const(logits, len(target), len(logits)/len(target)), target)
	if err := tape.Backward(tape.Sum(b)); err != nil {
		t.Fatal(err)
	}
	g, _ := tape.Grad(c)
	copy(dconf, g)
	return tape.Value(b)[0]
}
