package plan

import "atenia/tensor"

// A RegisterRef names one value of a plan. Registers are written once.
type RegisterRef uint16

// A WeightRef indexes the weights of a plan.
type WeightRef uint32

// NoWeight fills an optional weight slot that a model does not have.
const NoWeight WeightRef = ^WeightRef(0)

// A StateRef indexes the states of a plan.
type StateRef int16

// NoState marks an instruction that owns no state.
const NoState StateRef = -1

// Limits of a plan. A 126-layer model with mixture of experts needs about 900
// instructions; the limits bound what a hostile plan file can make a loader
// allocate, since kill sets take instructions × registers bits.
const (
	MaxInstructions = 1 << 12
	MaxRegisters    = 1 << 13
)

// A RowKind is the symbolic number of rows of a value, so that one plan serves
// every batch; a [Sizing] turns it into a number.
type RowKind uint8

// The row kinds.
const (
	RowsTokens    RowKind = iota // every token of the ragged batch
	RowsSlots                    // one row per active slot
	RowsRequested                // rows whose logits are requested
	RowsPatches                  // vision patches
	RowsMerged                   // vision tokens after merging
	NumRowKinds
)

var rowNames = [NumRowKinds]string{"tokens", "slots", "requested", "patches", "merged"}

// String returns the kind's name.
func (r RowKind) String() string {
	if r < NumRowKinds {
		return rowNames[r]
	}
	return "rows?"
}

// A RegSpec is the logical shape of a register: Rows × Cols elements.
type RegSpec struct {
	Name   string       `json:"name"`
	DType  tensor.DType `json:"dtype"` // F32 for activations, I32 for indices
	Rank   uint8        `json:"rank"`
	Rows   RowKind      `json:"rows"`
	Cols   uint32       `json:"cols"`
	Layout Layout       `json:"layout"`
}

// An Instruction applies one opcode.
type Instruction struct {
	Op      Opcode
	In, Out []RegisterRef
	Weights []WeightRef // in the order of OpSpec.Weights
	Param   uint16      // index into ExecutionPlan.Params
	State   StateRef
	Layer   int16 // model layer, for dumps and traces; −1 outside layers
}

// A WeightBinding names the tensor that fills a weight reference, in the
// canonical spelling "blk.3.attn_q", and the slot that uses it first.
type WeightBinding struct {
	Slot string
	Name string
}

// An ExecutionPlan is the typed program of one mode of one model.
type ExecutionPlan struct {
	Mode         Mode
	Instructions []Instruction
	Registers    []RegSpec
	Inputs       []RegisterRef
	Outputs      []RegisterRef
	Params       []ParamBlock
	Weights      []WeightBinding
	States       []StateDescriptor
}

// StateBytes returns the bytes that one sequence keeps: a fixed part, and bytes for each
// token.
func (p *ExecutionPlan) StateBytes() (fixed, perToken uint64) {
	for _, d := range p.States {
		if d.PageTokens == 0 {
			fixed += d.SizeBytes
		} else {
			perToken += d.SizeBytes / uint64(d.PageTokens)
		}
	}
	return fixed, perToken
}

// A LivenessMap has the lifetimes of registers.
type LivenessMap struct {
	LastRead  []uint32   // register → last instruction that reads it, or NeverRead
	KillAfter [][]uint64 // instruction → set of registers that die after it
}

// NeverRead is the LastRead of a register that nothing reads.
const NeverRead = ^uint32(0)

// Kills reports whether register r dies after instruction i.
func (l *LivenessMap) Kills(i int, r RegisterRef) bool {
	return l.KillAfter[i][r/64]&(1<<(r%64)) != 0
}

// A PlanDiagnostic is something a pass noticed.
type PlanDiagnostic struct {
	Warn bool
	Code string // "never_read", "fused", …
	Text string
}

// A CompiledPlan is a plan with the results of the passes.
type CompiledPlan struct {
	Plan          ExecutionPlan
	Live          LivenessMap
	PeakRegisters uint16
	Diagnostics   []PlanDiagnostic
}

// ModelPlans is the staged set of one model. The vision stages are nil for
// text models, Decode is nil for encoders.
type ModelPlans struct {
	VisionEncode *CompiledPlan
	Scatter      *CompiledPlan
	Prefill      *CompiledPlan
	Decode       *CompiledPlan
	// Early is the first layers of Decode with its head, which guess what all layers
	// will say. It has the states of all, and is nil where nobody asks for it.
	Early    *CompiledPlan
	Handoffs []Handoff
}

// ByMode returns the plan of a mode, or nil.
func (m *ModelPlans) ByMode(mode Mode) *CompiledPlan {
	switch mode {
	case ModeDecode:
		return m.Decode
	case ModePrefill:
		return m.Prefill
	case ModeVisionEncode:
		return m.VisionEncode
	case ModeScatter:
		return m.Scatter
	}
	return nil
}

// Usual returns the plan that most steps of a model run: decode, or for an encoder
// prefill. Its order of products is that of both.
func (m *ModelPlans) Usual() *CompiledPlan {
	if m.Decode != nil {
		return m.Decode
	}
	return m.Prefill
}

// Modes lists all modes that there is a plan for, in the order in which they run.
func (m *ModelPlans) Modes() (all []Mode) {
	for _, mode := range []Mode{ModeVisionEncode, ModeScatter, ModePrefill, ModeDecode} {
		if m.ByMode(mode) != nil {
			all = append(all, mode)
		}
	}
	return all
}

// TextModes lists the modes of text that there is a plan for.
func (m *ModelPlans) TextModes() []Mode {
	if m.Decode == nil {
		return []Mode{ModePrefill}
	}
	return []Mode{ModePrefill, ModeDecode}
}

// A Handoff is one stage boundary: the register that leaves, the one that
// receives it, whether the producer must be synchronised, and when its buffer
// is free again.
type Handoff struct {
	From         Mode         `json:"from"`
	To           Mode         `json:"to"`
	FromReg      RegisterRef  `json:"from_reg"`
	ToReg        RegisterRef  `json:"to_reg"`
	DType        tensor.DType `json:"dtype"`
	Layout       Layout       `json:"layout"`
	Cols         uint32       `json:"cols"`
	Sync         bool         `json:"sync"`
	ReleaseAfter uint32       `json:"release_after"` // instruction of the consumer after which the buffer is free
}
