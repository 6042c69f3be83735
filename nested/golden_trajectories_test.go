package nested_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"atenia/nested"
	"atenia/nested/rule"
)

func init() { families["trajectories"] = family{magName, trajectoryRun} }

type trajectoryCase struct {
	Config  magConfig
	Periods []int
	LR      float64
	Chunks  []struct {
		InputIDs  []int32 `json:"input_ids"`
		TargetIDs []int32 `json:"target_ids"`
	}
	Params0 magParams
	States0 []map[string]nums
	Log     []struct {
		Step     int64
		Active   []bool
		Loss     float64
		Norms    []float64 `json:"level_grad_norm"`
		Buffered []bool
	}
	ParamsFinal magParams         `json:"params_final"`
	StatesFinal []map[string]nums `json:"states_final"`
}

func trajectoryRun(t *testing.T, raw json.RawMessage) {
	c := decode[trajectoryCase](t, raw)
	t.Run("float64", func(t *testing.T) { trajectoryCheck[float64](t, &c) })
	t.Run("float32", func(t *testing.T) { trajectoryCheck[float32](t, &c) })
}

// trajectoryCheck compares a trajectory with the file's, as [judge] does: over steps,
// Newton–Schulz makes of the last digit of a parameter much more.
func trajectoryCheck[F float32 | float64](t *testing.T, c *trajectoryCase) {
	ops := 0.0
	for l := range c.Config.K {
		ops += roundings(layoutOf(t, c.Config.Rule, c.Config.D, c.Config.RuleCfg), len(c.Log)*len(c.Chunks[0].InputIDs)/c.Periods[l])
	}
	base := tolerance[F](1e-11, max(1e-5, 0x1p-24*ops))
	if c.Config.Rule == rule.MEMORA {
		base = max(base, tolerance[F](0, 1e-4))
	}
	judge(t, base, 4*math.Sqrt(ops), func(round func(float64) F) []blockArray[F] { return evaluateTrajectory(t, c, round) })
}

// evaluateTrajectory computes a trajectory from parameters and states that went through
// round.
func evaluateTrajectory[F float32 | float64](t *testing.T, c *trajectoryCase, round func(float64) F) (all []blockArray[F]) {
	m := built[F](t, c.Config.model(c.Periods...))
	b, err := m.NewBuilder(nested.BuildConfig{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, m, &c.Params0, b.Context(0), c.States0, round)
	add := func(name string, got []F, want []float64) {
		all = append(all, blockArray[F]{name, slices.Clone(got), want, false, largest(want)})
	}
	for i, want := range c.Log {
		p := b.Conductor().Pulse(nested.Build)
		for l, a := range want.Active {
			if p.Active(l) != a {
				t.Fatalf("%v: level %d, want active %v", p, l, a)
			}
		}
		rep, err := b.Step([]nested.Chunk{{IDs: c.Chunks[i].InputIDs, Targets: c.Chunks[i].TargetIDs}}, c.LR)
		if err != nil {
			t.Fatal(err)
		}
		add(fmt.Sprintf("step %d: loss", i), []F{F(rep.Loss)}, []float64{want.Loss})
		for l := range rep.Levels {
			add(fmt.Sprintf("step %d: norm of level %d", i, l), []F{F(rep.Levels[l].Norm)}, []float64{want.Norms[l]})
			if (rep.Levels[l].Buffered > 0) != want.Buffered[l] {
				t.Errorf("step %d level %d: %d steps wait, want any %v", i, l, rep.Levels[l].Buffered, want.Buffered[l])
			}
		}
	}
	c.ParamsFinal.each(func(name string, n nums) {
		p, _ := m.Param(name)
		add(name, p.Value, n.V)
	})
	for l, s := range c.StatesFinal {
		for name, n := range s {
			add(fmt.Sprintf("state %s of level %d", name, l), rule.State(m.Layout(), b.Context(0).State(0, l), name), n.V)
		}
	}
	slices.SortStableFunc(all, func(a, b blockArray[F]) int { return strings.Compare(a.name, b.name) })
	return all
}
