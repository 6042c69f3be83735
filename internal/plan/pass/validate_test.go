package pass

import (
	"errors"
	"math"
	"strings"
	"testing"

	"atenia/internal/plan"
)

// Every mutation changes one thing of a valid plan that neither text nor JSON can say, and is
// rejected with the sentinel, and for the reason, that a person would expect. Those that a
// file can say are in TestMalformedPlans of the root.
var mutations = []struct {
	name string
	want error
	why  string // part of the message
	edit func(p *plan.ExecutionPlan)
}{
	{"unknown opcode", plan.ErrUnsupportedOpcode, "op200", func(p *plan.ExecutionPlan) { p.Instructions[1].Op = 200 }},
	{"unknown mode", plan.ErrInvalidPlan, "mode", func(p *plan.ExecutionPlan) { p.Mode = plan.NumModes }},
	{"unknown layout", plan.ErrInvalidPlan, "layout", func(p *plan.ExecutionPlan) { p.Registers[2].Layout = plan.NumLayouts }},
	{"unknown row kind", plan.ErrInvalidPlan, "row kind", func(p *plan.ExecutionPlan) { p.Registers[2].Rows = plan.NumRowKinds }},
	{"weight index out of range", plan.ErrWeightBinding, "weight 9999", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Weights[1] = 9999 }},
	{"required weight missing", plan.ErrWeightBinding, "required", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Weights[1] = plan.NoWeight }},
	{"weight list short", plan.ErrWeightBinding, "weight references", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Weights = at(p, plan.OpFFN).Weights[:2] }},
	{"two weights of one name", plan.ErrWeightBinding, "name", func(p *plan.ExecutionPlan) { p.Weights[0].Name = p.Weights[1].Name }},
	{"parameter block missing", plan.ErrInvalidParamBlockABI, "no parameter block", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Param = 9999 }},
	{"parameter version", plan.ErrInvalidParamBlockABI, "version", func(p *plan.ExecutionPlan) { p.Params[1].Version = 2 }},
	{"parameters of another opcode", plan.ErrInvalidParamBlockABI, "payload is for", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Param = at(p, plan.OpNorm).Param }},
	{"payload short", plan.ErrInvalidParamBlockABI, "bytes", func(p *plan.ExecutionPlan) { p.Params[1].Data = p.Params[1].Data[:8] }},
	{"payload padding", plan.ErrInvalidParamBlockABI, "padding", func(p *plan.ExecutionPlan) { p.Params[1].Data[20] = 1 }},
	{"parameter not a number", plan.ErrInvalidPlan, "not a number", func(p *plan.ExecutionPlan) {
		reparam(p, plan.OpNorm, &plan.NormParams{Dim: toyDim, Eps: float32(math.NaN()), Groups: 1})
	}},
	{"negative state", plan.ErrInvalidPlan, "state s-2", func(p *plan.ExecutionPlan) { at(p, plan.OpAttention).State = -2 }},
	{"state id", plan.ErrInvalidPlan, "id", func(p *plan.ExecutionPlan) { p.States[0].ID = 3 }},
}

// at finds an instruction by opcode.
func at(p *plan.ExecutionPlan, op plan.Opcode) *plan.Instruction {
	for i := range p.Instructions {
		if p.Instructions[i].Op == op {
			return &p.Instructions[i]
		}
	}
	panic("no " + op.String())
}

// reparam replaces the payload of the first instruction with op.
func reparam(p *plan.ExecutionPlan, op plan.Opcode, v plan.Params) {
	b, err := plan.EncodeParams(op, v)
	if err != nil {
		panic(err)
	}
	p.Params[at(p, op).Param] = b
}

func TestValidatorMutations(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			p := build(t, "llama", plan.ModePrefill, 2)
			m.edit(p)
			_, err := Compile(p, Options{})
			if !errors.Is(err, m.want) || !strings.Contains(err.Error(), m.why) {
				t.Fatalf("got %v\nwant %v about %q", err, m.want, m.why)
			}
		})
	}
}

// A decode plan without state is rejected.
func TestDecodeNeedsState(t *testing.T) {
	p := build(t, "llama", plan.ModeDecode, 1)
	at(p, plan.OpAttention).State = plan.NoState
	if err := validatePlan(p); !errors.Is(err, plan.ErrInvalidPlan) || !strings.Contains(err.Error(), "owns no state") {
		t.Errorf("got %v", err)
	}
}

// Which kinds of state a mode may declare: the vision stages keep nothing.
func TestStatesPerMode(t *testing.T) {
	for mode := range plan.NumModes {
		for kind := range plan.NumStateKinds {
			p := &plan.ExecutionPlan{Mode: mode, States: []plan.StateDescriptor{{Kind: kind}}}
			err := validatePlan(p)
			refused := err != nil && strings.Contains(err.Error(), kind.String()+" state")
			vision := mode == plan.ModeVisionEncode || mode == plan.ModeScatter
			if refused != vision {
				t.Errorf("%s state in mode %s: refused is %t", kind, mode, refused)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	p := &plan.ExecutionPlan{Instructions: make([]plan.Instruction, plan.MaxInstructions+1)}
	if err := validatePlan(p); !errors.Is(err, plan.ErrInvalidPlan) {
		t.Errorf("instructions: %v", err)
	}
	p = &plan.ExecutionPlan{Registers: make([]plan.RegSpec, plan.MaxRegisters+1)}
	if err := validatePlan(p); !errors.Is(err, plan.ErrInvalidPlan) {
		t.Errorf("registers: %v", err)
	}
	if err := validatePlan(new(plan.ExecutionPlan)); !errors.Is(err, plan.ErrInvalidPlan) {
		t.Errorf("empty: %v", err)
	}
}
