package quila_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

func init() {
	topics["ports"] = goldenPorts
}

// configOf reads a case's configuration: every option that it names.
func configOf(t *testing.T, raw any) *config.Config {
	t.Helper()
	b, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func goldenPorts(t *testing.T, path string) {
	var f struct {
		Config    any              `json:"config"`
		HFinal    any              `json:"h_final"`
		Slots     any              `json:"slots"`
		Trace     any              `json:"trace"`
		PTrace    any              `json:"ptrace"`
		Cases     []map[string]any `json:"cases"`
		Generator map[string]any   `json:"generator"`
		Merge     map[string]any   `json:"merge"`
		Read      map[string]any   `json:"read"`
	}
	golden.JSON(t, path, &f)
	c := configOf(t, f.Config)
	if len(f.Cases) == 0 {
		t.Fatal("no cases")
	}
	x, slots, trace, ptrace := flat(t, f.HFinal), flat(t, f.Slots), flat(t, f.Trace), flat(t, f.PTrace)
	for _, one := range f.Cases {
		name := one["port"].(string)
		phase := int(one["phase"].(float64))
		t.Run(fmt.Sprintf("%s %d", name, phase), func(t *testing.T) {
			goldenPort[float64](t, c, one, name, phase, x, slots, trace, ptrace, 1e-10)
			goldenPort[float32](t, c, one, name, phase, x, slots, trace, ptrace, 5e-5)
		})
	}
	th := c.Thinkers
	m, o := flat(t, f.Generator["m"]), flat(t, f.Generator["o"])
	out := make([]float64, len(m))
	h := neuron.Intercept(c, flat(t, f.Generator["mhc"]))
	neuron.Generator(out, m, o, h)
	near(t, "generator", out, flat(t, f.Generator["out"]), 1e-10, 0)
	merits := append(flat(t, f.Merge["conf"]), flat(t, f.Merge["util"])...)
	weight := make([]float64, len(merits)/2)
	neuron.MergeWeights(weight, merits, 1, 0)
	near(t, "merge", weight, flat(t, f.Merge["weight"]), 1e-10, 0)
	book, y := flat(t, f.Read["codebook"]), flat(t, f.Read["y"])
	codes := neuron.NewCodes(book, len(y), f.Read["tau"].(float64))
	logits := make([]float64, len(book)/len(y))
	codes.Write(grad.NewWork[float64](nil), logits, y, nil, 1)
	near(t, "logits", logits, flat(t, f.Read["logits"]), 1e-10, 0)
	if th < 1 || math.IsNaN(logits[0]) {
		t.Fatal("no Thinker")
	}
}

// convert changes the float type.
func convert[F grad.Float](x []float64) []F {
	out := make([]F, len(x))
	for i, v := range x {
		out[i] = F(v)
	}
	return out
}

func goldenPort[F grad.Float](t *testing.T, c *config.Config, one map[string]any, name string, phase int, x, slots, trace, ptrace []float64, tol float64) {
	ports := neuron.NewPorts[F](c, nil)
	set := weights.NewSet[F](weights.Inventory(c, c.N*c.Deg))
	for k, v := range one["params"].(map[string]any) {
		copy(set.Of("port."+name+"."+k), convert[F](flat(t, v)))
	}
	stepper := neuron.NewStepper(ports, set, 0)
	at := -1
	for i := range ports.List {
		if ports.List[i].Name == name {
			at = i
		}
	}
	if at < 0 {
		t.Fatalf("there is no port %s", name)
	}
	table := convert[F](slots)
	conf := make([]F, c.N)
	if err := stepper.Step(&neuron.Step[F]{Phase: phase, X: convert[F](x), Conf: conf, Utility: conf, Trace: convert[F](trace), PTrace: convert[F](ptrace), Slots: table, M: make([]F, c.D), Confidence: make([]F, 1)}); err != nil {
		t.Fatal(err)
	}
	d := stepper.Detail(at, 0)
	reads := flat(t, one["reads"])
	for i, s := range reads {
		if len(d.Visible) != len(reads) || d.Visible[i] != int(s) {
			t.Fatalf("sees %v, want %v", d.Visible, reads)
		}
	}
	steps := one["steps"].(map[string]any)
	check := func(what string, got []F) {
		t.Helper()
		want, ok := steps[what]
		if !ok {
			if len(got) > 0 && what != "mask" && what != "nsa_weight" && what != "logits" {
				t.Errorf("the case has no %s", what)
			}
			return
		}
		near(t, what, got, flat(t, want), tol, 0)
	}
	check("aggr", d.Aggr)
	check("wkv_weight", d.Scan)
	check("utility", d.Utility)
	var mask []F
	pick := func(all []F) (out []F) {
		for _, i := range d.Mask {
			out = append(out, all[i])
		}
		return out
	}
	for _, i := range d.Mask {
		mask = append(mask, F(i))
	}
	check("mask", mask)
	check("out_nsa", d.OutNSA)
	check("nsa_weight", pick(d.Weights))
	check("logits", pick(d.Logits))
	check("h_res", d.H)
	check("merged", d.Merged)
	check("o", d.O)
	check("slot", table[d.Slot*c.D:][:c.D])
}
