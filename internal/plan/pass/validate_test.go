package pass

import (
	"errors"
	"math"
	"strings"
	"testing"

	"atenia/internal/plan"
	"atenia/tensor"
)

// Every mutation changes one thing of a valid plan and is rejected with the
// sentinel, and for the reason, that a person would expect. at finds an
// instruction by opcode.
var mutations = []struct {
	name string
	want error
	why  string // part of the message
	edit func(p *plan.ExecutionPlan)
}{
	{"unknown opcode", plan.ErrUnsupportedOpcode, "op200", func(p *plan.ExecutionPlan) { p.Instructions[1].Op = 200 }},
	{"opcode of another mode", plan.ErrInvalidPlan, "mode", func(p *plan.ExecutionPlan) { p.Instructions[1].Op = plan.OpSpatialMerge }},
	{"opcode changed", plan.ErrWeightBinding, "weight references", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Op = plan.OpNorm }},
	{"unknown mode", plan.ErrInvalidPlan, "mode", func(p *plan.ExecutionPlan) { p.Mode = plan.NumModes }},
	{"producer dropped", plan.ErrInvalidPlan, "nothing has written", func(p *plan.ExecutionPlan) { p.Instructions = p.Instructions[1:] }},
	{"read before written", plan.ErrInvalidPlan, "nothing has written", func(p *plan.ExecutionPlan) { p.Instructions[0].In[0] = 9 }},
	{"instructions swapped", plan.ErrInvalidPlan, "nothing has written", func(p *plan.ExecutionPlan) {
		p.Instructions[1], p.Instructions[2] = p.Instructions[2], p.Instructions[1]
	}},
	{"output duplicated", plan.ErrInvalidPlan, "written already", func(p *plan.ExecutionPlan) { p.Instructions[2].Out[0] = p.Instructions[1].Out[0] }},
	{"output overwrites an input of the plan", plan.ErrInvalidPlan, "written already", func(p *plan.ExecutionPlan) { p.Instructions[0].Out[0] = p.Inputs[0] }},
	{"output out of range", plan.ErrInvalidPlan, "out of range", func(p *plan.ExecutionPlan) { p.Instructions[2].Out[0] = 9999 }},
	{"input out of range", plan.ErrInvalidPlan, "nothing has written", func(p *plan.ExecutionPlan) { p.Instructions[2].In[0] = 9999 }},
	{"input missing", plan.ErrInvalidPlan, "inputs", func(p *plan.ExecutionPlan) { at(p, plan.OpResidualAdd).In = at(p, plan.OpResidualAdd).In[:1] }},
	{"input too many", plan.ErrInvalidPlan, "inputs", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).In = append(at(p, plan.OpFFN).In, 2) }},
	{"no outputs", plan.ErrInvalidPlan, "outputs", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Out = nil }},
	{"plan output out of range", plan.ErrInvalidPlan, "nothing writes", func(p *plan.ExecutionPlan) { p.Outputs[0] = 9999 }},
	{"plan output twice", plan.ErrInvalidPlan, "twice", func(p *plan.ExecutionPlan) { p.Outputs = append(p.Outputs, p.Outputs[0]) }},
	{"plan without output", plan.ErrInvalidPlan, "no outputs", func(p *plan.ExecutionPlan) { p.Outputs = nil }},
	{"plan input out of range", plan.ErrInvalidPlan, "input 0", func(p *plan.ExecutionPlan) { p.Inputs[0] = 9999 }},
	{"plan input twice", plan.ErrInvalidPlan, "input 2", func(p *plan.ExecutionPlan) { p.Inputs = append(p.Inputs, p.Inputs[0]) }},
	{"register nobody writes", plan.ErrInvalidPlan, "nothing writes", func(p *plan.ExecutionPlan) { p.Registers = append(p.Registers, p.Registers[2]) }},
	{"rank 5", plan.ErrUnsupportedTensorRank, "rank 5", func(p *plan.ExecutionPlan) { p.Registers[2].Rank = 5 }},
	{"rank 0", plan.ErrInvalidPlan, "rank 0", func(p *plan.ExecutionPlan) { p.Registers[2].Rank = 0 }},
	{"no columns", plan.ErrInvalidPlan, "columns", func(p *plan.ExecutionPlan) { p.Registers[2].Cols = 0 }},
	{"quantised register", plan.ErrInvalidPlan, "type Q8_0", func(p *plan.ExecutionPlan) { p.Registers[2].DType = tensor.Q8_0 }},
	{"unknown layout", plan.ErrInvalidPlan, "layout", func(p *plan.ExecutionPlan) { p.Registers[2].Layout = plan.NumLayouts }},
	{"unknown row kind", plan.ErrInvalidPlan, "row kind", func(p *plan.ExecutionPlan) { p.Registers[2].Rows = plan.NumRowKinds }},
	{"rows changed", plan.ErrInvalidPlan, "rows", func(p *plan.ExecutionPlan) { p.Registers[at(p, plan.OpNorm).Out[0]].Rows = plan.RowsMerged }},
	{"width changed", plan.ErrInvalidPlan, "width", func(p *plan.ExecutionPlan) { p.Registers[at(p, plan.OpNorm).Out[0]].Cols++ }},
	{"index instead of activation", plan.ErrInvalidPlan, "type", func(p *plan.ExecutionPlan) { p.Registers[at(p, plan.OpNorm).Out[0]].DType = tensor.I32 }},
	{"activation instead of index", plan.ErrInvalidPlan, "type", func(p *plan.ExecutionPlan) { p.Registers[p.Inputs[0]].DType = tensor.F32 }},
	{"weight index out of range", plan.ErrWeightBinding, "weight 9999", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Weights[1] = 9999 }},
	{"required weight missing", plan.ErrWeightBinding, "required", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Weights[1] = plan.NoWeight }},
	{"gate of a gated layer missing", plan.ErrInvalidPlan, "gate", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Weights[0] = plan.NoWeight }},
	{"weight list short", plan.ErrWeightBinding, "weight references", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Weights = at(p, plan.OpFFN).Weights[:2] }},
	{"weight without a name", plan.ErrWeightBinding, "name", func(p *plan.ExecutionPlan) { p.Weights[0].Name = "" }},
	{"two weights of one name", plan.ErrWeightBinding, "name", func(p *plan.ExecutionPlan) { p.Weights[0].Name = p.Weights[1].Name }},
	{"parameter block missing", plan.ErrInvalidParamBlockABI, "no parameter block", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Param = 9999 }},
	{"parameter version", plan.ErrInvalidParamBlockABI, "version", func(p *plan.ExecutionPlan) { p.Params[1].Version = 2 }},
	{"parameters of another opcode", plan.ErrInvalidParamBlockABI, "payload is for", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).Param = at(p, plan.OpNorm).Param }},
	{"payload short", plan.ErrInvalidParamBlockABI, "bytes", func(p *plan.ExecutionPlan) { p.Params[1].Data = p.Params[1].Data[:8] }},
	{"payload padding", plan.ErrInvalidParamBlockABI, "padding", func(p *plan.ExecutionPlan) { p.Params[1].Data[20] = 1 }},
	{"parameter not a number", plan.ErrInvalidPlan, "not a number", func(p *plan.ExecutionPlan) {
		reparam(p, plan.OpNorm, &plan.NormParams{Dim: toyDim, Eps: float32(math.NaN()), Groups: 1})
	}},
	{"width parameter", plan.ErrInvalidPlan, "width", func(p *plan.ExecutionPlan) {
		reparam(p, plan.OpFFN, &plan.FFNParams{Dim: toyDim + 8, Hidden: toyHidden, Gated: 1})
	}},
	{"heads that do not divide", plan.ErrInvalidPlan, "kv_heads", func(p *plan.ExecutionPlan) {
		reparam(p, plan.OpAttention, &plan.AttentionParams{Heads: 4, KVHeads: 3, HeadDim: 16})
	}},
	{"no heads", plan.ErrInvalidPlan, "kv_heads", func(p *plan.ExecutionPlan) { reparam(p, plan.OpAttention, &plan.AttentionParams{HeadDim: 16}) }},
	{"layer outside the state", plan.ErrInvalidPlan, "state layer", func(p *plan.ExecutionPlan) {
		reparam(p, plan.OpAttention, &plan.AttentionParams{Layer: 99, Heads: 4, KVHeads: 2, HeadDim: 16})
	}},
	{"second output without a norm", plan.ErrInvalidPlan, "norm", func(p *plan.ExecutionPlan) { reparam(p, plan.OpResidualAdd, &plan.AddParams{Scale: 1, Norm: 1}) }},
	{"state of the wrong kind", plan.ErrInvalidPlan, "cannot own", func(p *plan.ExecutionPlan) { p.States[0].Kind = plan.StateRecurrent }},
	{"state out of range", plan.ErrInvalidPlan, "state s7", func(p *plan.ExecutionPlan) { at(p, plan.OpAttention).State = 7 }},
	{"negative state", plan.ErrInvalidPlan, "state s-2", func(p *plan.ExecutionPlan) { at(p, plan.OpAttention).State = -2 }},
	{"state where none belongs", plan.ErrInvalidPlan, "cannot own", func(p *plan.ExecutionPlan) { at(p, plan.OpFFN).State = 0 }},
	{"layer below -1", plan.ErrInvalidPlan, "layer", func(p *plan.ExecutionPlan) { p.Instructions[0].Layer = -2 }},
	{"state in a vision plan", plan.ErrInvalidPlan, "has no kv state", func(p *plan.ExecutionPlan) { p.Mode = plan.ModeVisionEncode }},
	{"state size", plan.ErrInvalidPlan, "layers", func(p *plan.ExecutionPlan) { p.States[0].SizeBytes++ }},
	{"state alignment", plan.ErrInvalidPlan, "alignment", func(p *plan.ExecutionPlan) { p.States[0].AlignBytes = 48 }},
	{"state id", plan.ErrInvalidPlan, "id", func(p *plan.ExecutionPlan) { p.States[0].ID = 3 }},
}

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
