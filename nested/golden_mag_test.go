package nested_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/nested"
	"atenia/nested/rule"
)

func init() { families["mag"] = family{magName, magRun} }

// A magConfig is a model as the file describes it.
type magConfig struct {
	Rule    rule.Name
	K       int
	D       int
	Heads   int
	Window  int
	Vocab   int
	RuleCfg rule.Config `json:"rule_cfg"`
	Learned bool
}

// model returns the configuration of the file's model.
func (c *magConfig) model(periods ...int) nested.Config {
	if len(periods) == 0 {
		for range c.K {
			periods = append(periods, 1)
		}
	}
	return nested.Config{Rule: c.Rule, Memory: c.RuleCfg, Vocab: c.Vocab, Width: c.D, Heads: c.Heads, Window: c.Window,
		Periods: periods, Learned: c.Learned}
}

// magParams are parameters, gradients or anything of their shape.
type magParams struct {
	shared map[string]nums
	levels []map[string]nums
}

func (p *magParams) UnmarshalJSON(b []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	p.shared = map[string]nums{}
	for name, raw := range all {
		if name == "levels" {
			if err := json.Unmarshal(raw, &p.levels); err != nil {
				return err
			}
			continue
		}
		var n nums
		if err := json.Unmarshal(raw, &n); err != nil {
			return err
		}
		p.shared[name] = n
	}
	return nil
}

// each calls f with the model's name of every array.
func (p *magParams) each(f func(name string, n nums)) {
	for name, n := range p.shared {
		if name != "W_embed" && name != "W_unembed" {
			name = "layers.0." + name
		}
		f(name, n)
	}
	for l, level := range p.levels {
		for name, n := range level {
			f(fmt.Sprintf("layers.0.levels.%d.%s", l, name), n)
		}
	}
}

type magCase struct {
	Config    magConfig
	InputIDs  []int32 `json:"input_ids"`
	TargetIDs []int32 `json:"target_ids"`
	Active    []bool
	Params    magParams
	States0   []map[string]nums
	States1   []map[string]nums
	Loss      float64
	Gate      nums
	Attn      nums
	YLevels   []nums `json:"y_levels"`
	Grads     magParams
	Logits    *nums `json:"freq_logits"`
	Mask      nums
	Dmask     nums
}

func magName(raw json.RawMessage) string {
	var c struct{ Config magConfig }
	if json.Unmarshal(raw, &c) != nil {
		return "unreadable"
	}
	id := fmt.Sprintf("%s-k%d", c.Config.Rule, c.Config.K)
	if c.Config.Learned {
		id += "-learned"
	}
	return id
}

func magRun(t *testing.T, raw json.RawMessage) {
	c := decode[magCase](t, raw)
	t.Run("float64", func(t *testing.T) { magCheck[float64](t, &c) })
	t.Run("float32", func(t *testing.T) { magCheck[float32](t, &c) })
}

// built returns a model.
func built[F float32 | float64](t testing.TB, c nested.Config) *nested.Model[F] {
	t.Helper()
	m, err := nested.New[F](c)
	if e, ok := errors.AsType[*rule.ConfigError](err); ok && strings.Contains(e.Want, "not built") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// exactly is the element nearest to a number.
func exactly[F float32 | float64](x float64) F { return F(x) }

// load copies the file's parameters and states, through round, into a model and a context.
func load[F float32 | float64](t *testing.T, m *nested.Model[F], p *magParams, c *nested.Context[F], states []map[string]nums, round func(float64) F) {
	t.Helper()
	seen := 0
	p.each(func(name string, n nums) {
		q, ok := m.Param(name)
		if !ok || len(q.Value) != len(n.V) {
			t.Fatalf("the model has no parameter %s of %d numbers", name, len(n.V))
		}
		copy(q.Value, rounded(n.V, round))
		seen++
	})
	if seen != len(m.Params()) {
		t.Fatalf("the case has %d arrays of parameters, the model %d", seen, len(m.Params()))
	}
	for l, s := range states {
		for name, n := range s {
			dst := rule.State(m.Layout(), c.State(0, l), name)
			if len(dst) != len(n.V) {
				t.Fatalf("state %s of level %d: %d numbers, want %d", name, l, len(dst), len(n.V))
			}
			copy(dst, rounded(n.V, round))
		}
	}
}

// nearStates compares all levels' states.
func nearStates[F float32 | float64](t *testing.T, m *nested.Model[F], c *nested.Context[F], want []map[string]nums, tol float64) {
	t.Helper()
	for l, s := range want {
		for name, n := range s {
			near(t, fmt.Sprintf("state %s of level %d", name, l), rule.State(m.Layout(), c.State(0, l), name), n.V, tol)
		}
	}
}

// loose are the float32 tolerances that rules with worse conditions need.
func loose(c *magConfig) (value, gradient float64) {
	switch {
	case c.Rule == rule.Atlas && !c.RuleCfg.NoNS:
		return 1e-3, 1e-2
	case c.Rule == rule.MEMORA:
		return 1e-4, 1e-4
	case c.Rule == rule.Trellis:
		return 3e-5, 3e-5
	}
	return 1e-5, 3e-5
}

func magCheck[F float32 | float64](t *testing.T, c *magCase) {
	m := built[F](t, c.Config.model())
	ctx := m.NewContext()
	load(t, m, &c.Params, ctx, c.States0, exactly)
	r, err := m.NewRunner(true, nil, grad.CheckImmutable())
	if err != nil {
		t.Fatal(err)
	}
	grads := make([]F, len(m.Values()))
	tr, err := r.Forward(nested.NewPulse(0, nested.Build, c.Active...), ctx, c.InputIDs, c.TargetIDs, grads)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Backward(1); err != nil {
		t.Fatal(err)
	}
	value, gradient := loose(&c.Config)
	value, gradient = tolerance[F](1e-10, value), tolerance[F](1e-10, gradient)
	near(t, "loss", []F{F(r.Loss())}, []float64{c.Loss}, value)
	layer, v := &tr.Layers[0], r.Tape().Value
	near(t, "attention", v(layer.Attention), c.Attn.V, value)
	near(t, "gate", v(layer.Gate), c.Gate.V, value)
	for l, y := range c.YLevels {
		near(t, fmt.Sprintf("answer of level %d", l), v(layer.Levels[l]), y.V, value)
	}
	if c.Logits != nil {
		near(t, "schedule", v(layer.Schedule), c.Logits.V, value)
		for l := 1; l < c.Config.K; l++ {
			near(t, fmt.Sprintf("mask of level %d", l), v(layer.Masks[l]), c.Mask.V[l:l+1], 0)
		}
	}
	c.Grads.each(func(name string, n nums) {
		at := m.Offset(name)
		near(t, "gradient of "+name, grads[at:at+len(n.V)], n.V, gradient)
	})
	r.Commit()
	nearStates(t, m, ctx, c.States1, value)
}
