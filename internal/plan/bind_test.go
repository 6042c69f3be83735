package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atenia/internal/plan"
	"atenia/tensor"
)

// A view is the executor's view in these tests: registers are their names,
// weights the names of tensors.
type view struct {
	plan.Binding[string, string]
	opened int // views before it
}

// An executor binds a plan of two norms and a sum and has the tensors of its
// list.
type executor struct {
	plan   *plan.ExecutionPlan
	loaded []string
	opened int
}

func (x *executor) Register(r plan.RegisterRef) string { return x.plan.Registers[r].Name }

func (x *executor) Weight(r plan.WeightRef) (string, bool) {
	name := x.plan.Weights[r].Name
	return "<" + name + ">", slices.Contains(x.loaded, name)
}

func (x *executor) Open(b plan.Binding[string, string]) *view {
	x.opened++
	return &view{b, x.opened - 1}
}

func bindNorm(v *view, p *plan.NormParams) (string, error) {
	w, ok, err := v.Weight("weight")
	if err != nil {
		return "", err
	}
	if p.Groups > 1 {
		return "", v.WeightErrorf("weight", "%d groups", p.Groups)
	}
	return fmt.Sprintf("%d: %s = norm %s %q %t %t eps %g", v.opened, v.Out[0], v.In[0], w, ok, v.Has("bias"), p.Eps), nil
}

func bindAdd(v *view, _ *plan.AddParams) (string, error) {
	return fmt.Sprintf("%d: %s = add %s %s", v.opened, v.Out[0], v.In[0], v.In[1]), nil
}

func bindGather(*view) (string, error) { return "gather", nil }

var table = plan.NewAdapterTable(bindNorm, nil, nil, nil, nil, nil, nil, nil, bindAdd, nil, bindGather,
	nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
	nil, nil, nil)

// row is a register of activations.
func row(name string) plan.RegSpec {
	return plan.RegSpec{Name: name, DType: tensor.F32, Rank: 2, Cols: 4}
}

func newExecutor(t *testing.T) *executor {
	t.Helper()
	p := &plan.ExecutionPlan{
		Registers: []plan.RegSpec{row("x"), row("y"), row("z"), row("sum"), {Name: "rows", DType: tensor.F32, Rank: 1, Cols: 1}},
		Weights:   []plan.WeightBinding{{Slot: "weight", Name: "w"}},
		Instructions: []plan.Instruction{
			{Op: plan.OpNorm, In: []plan.RegisterRef{0}, Out: []plan.RegisterRef{1}, Weights: []plan.WeightRef{0, plan.NoWeight}},
			{Op: plan.OpNorm, In: []plan.RegisterRef{1}, Out: []plan.RegisterRef{2}, Weights: []plan.WeightRef{plan.NoWeight, plan.NoWeight}, Param: 1},
			{Op: plan.OpResidualAdd, In: []plan.RegisterRef{1, 2}, Out: []plan.RegisterRef{3}, Weights: []plan.WeightRef{plan.NoWeight, plan.NoWeight}, Param: 2},
		},
	}
	for i, v := range []plan.Params{&plan.NormParams{Eps: 0.5}, &plan.NormParams{Eps: 0.25}, &plan.AddParams{}} {
		b, err := plan.EncodeParams(p.Instructions[i].Op, v)
		if err != nil {
			t.Fatal(err)
		}
		p.Params = append(p.Params, b)
	}
	return &executor{plan: p, loaded: []string{"w"}}
}

// Operands are in the executor's representation, payloads have their types, and
// results of adapters are in the order of the instructions.
func TestBind(t *testing.T) {
	x := newExecutor(t)
	got, err := plan.Bind(x.plan, table, x)
	want := []string{
		`0: y = norm x "<w>" true false eps 0.5`,
		`1: z = norm y "" false false eps 0.25`,
		`2: sum = add y z`,
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// Every failure to bind is an error that names the instruction.
func TestBindErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		kind       error
		edit       func(*executor)
	}{
		{"no adapter", "instruction 2: unsupported opcode: pool", plan.ErrUnsupportedOpcode, func(x *executor) { x.plan.Instructions[2].Op = plan.OpPool }},
		{"integers", "instruction 0: invalid plan: input 0 of norm has type I32, want a float", plan.ErrInvalidPlan, func(x *executor) { x.plan.Registers[0].DType = tensor.I32 }},
		{"no type", "instruction 2: invalid plan: output 0 of residual_add has type", plan.ErrInvalidPlan, func(x *executor) { x.plan.Registers[3].DType = tensor.Invalid }},
		{"rank 3", "instruction 0: unsupported tensor rank: input 0 of norm has rank 3, want 2", plan.ErrUnsupportedTensorRank, func(x *executor) { x.plan.Registers[0].Rank = 3 }},
		{"rank 5", "instruction 0: unsupported tensor rank: output 0 of norm has rank 5, at most 4", plan.ErrUnsupportedTensorRank, func(x *executor) { x.plan.Registers[1].Rank = 5 }},
		{"row numbers that are floats", "instruction 2: invalid plan: input 1 of gather_rows has type F32, want I32", plan.ErrInvalidPlan, func(x *executor) {
			x.plan.Instructions[2].Op, x.plan.Instructions[2].Weights = plan.OpGatherRows, nil
			x.plan.Instructions[2].In = []plan.RegisterRef{1, 4}
			x.plan.Params[2] = plan.ParamBlock{Op: plan.OpGatherRows, Version: x.plan.Params[2].Version}
		}},
		{"unknown layout", "instruction 0: invalid plan: output 0 of norm has layout layout? with strides [4 1], want contiguous rows of 4", plan.ErrInvalidPlan, func(x *executor) { x.plan.Registers[1].Layout = plan.NumLayouts }},
		{"another's payload", "instruction 2: invalid parameter block: residual_add: payload is for norm", plan.ErrInvalidParamBlockABI, func(x *executor) { x.plan.Instructions[2].Param = 0 }},
		{"weight not loaded", "instruction 0: weight binding: w, slot weight of norm: no such tensor was loaded", plan.ErrWeightBinding, func(x *executor) { x.loaded = nil }},
		{"adapter refuses", "instruction 1: weight binding: , slot weight of norm: 2 groups", plan.ErrWeightBinding, func(x *executor) {
			x.plan.Params[1], _ = plan.EncodeParams(plan.OpNorm, &plan.NormParams{Groups: 2})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newExecutor(t)
			c.edit(x)
			if _, err := plan.Bind(x.plan, table, x); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A slot that must be filled and is not is an error; a name that the opcode
// does not have is a mistake of the adapter.
func TestBindingSlots(t *testing.T) {
	b := plan.Binding[string, string]{
		Ins: &plan.Instruction{Op: plan.OpLMHead, Weights: []plan.WeightRef{plan.NoWeight, plan.NoWeight}}, Spec: plan.Specs.Get(plan.OpLMHead),
	}
	if _, ok, err := b.Weight("bias"); ok || err != nil {
		t.Errorf("optional: %t, %v", ok, err)
	}
	defer func() {
		if e, _ := recover().(string); e != "plan: lm_head has no slot table" {
			t.Errorf("panicked with %q", e)
		}
	}()
	b.Has("table")
}
