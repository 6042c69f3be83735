package pass

import (
	"encoding/binary"
	"math"
	"reflect"

	"atenia/internal/plan"
	"atenia/tensor"
)

// validate verifies a plan: every number is in range, every value is written
// once and before it is read, every instruction has the operands of its spec,
// and the widths on both sides of every register agree.
func validate(s *state) error { return validatePlan(&s.c.Plan) }

// validatePlan is the structural check of a plan as built or parsed. Its errors
// match [plan.ErrInvalidPlan], [plan.ErrUnsupportedOpcode],
// [plan.ErrUnsupportedTensorRank], [plan.ErrInvalidParamBlockABI] or
// [plan.ErrWeightBinding].
func validatePlan(p *plan.ExecutionPlan) error {
	v := validator{p: p, written: make([]bool, min(len(p.Registers), plan.MaxRegisters))}
	if err := v.header(); err != nil {
		return err
	}
	for i := range p.Instructions {
		if err := v.instruction(i); err != nil {
			return err
		}
	}
	return v.outputs()
}

type validator struct {
	p       *plan.ExecutionPlan
	written []bool // register → has a producer so far
	site    site   // of the current instruction; its slices are reused
}

// header checks what does not belong to one instruction.
func (v *validator) header() error {
	p := v.p
	switch {
	case p.Mode >= plan.NumModes:
		return invalid(plan.Whole, "unknown mode %d", p.Mode)
	case len(p.Instructions) > plan.MaxInstructions:
		return invalid(plan.Whole, "%d instructions, at most %d", len(p.Instructions), plan.MaxInstructions)
	case len(p.Registers) > plan.MaxRegisters:
		return invalid(plan.Whole, "%d registers, at most %d", len(p.Registers), plan.MaxRegisters)
	case len(p.States) > math.MaxUint8:
		return invalid(plan.Whole, "%d states, at most %d", len(p.States), math.MaxUint8)
	}
	for r := range p.Registers {
		if err := register(r, &p.Registers[r]); err != nil {
			return err
		}
	}
	for i := range p.States {
		if d := &p.States[i]; !plan.ModeStates[p.Mode].Has(d.Kind) {
			return invalid(plan.Whole, "a plan of mode %s has no %s state (s%d)", p.Mode, d.Kind, i)
		}
	}
	names := make(map[string]bool, len(p.Weights))
	for i, w := range p.Weights {
		if w.Name == "" || names[w.Name] {
			return plan.Errorf(plan.ErrWeightBinding, plan.Whole, "weight %d has no name of its own (%q)", i, w.Name)
		}
		names[w.Name] = true
	}
	for i, r := range p.Inputs {
		if int(r) >= len(v.written) || v.written[r] {
			return invalid(plan.Whole, "input %d is r%d, which is out of range or an input already", i, r)
		}
		v.written[r] = true
	}
	return nil
}

func register(r int, s *plan.RegSpec) error {
	switch {
	case s.Rank > plan.MaxRank:
		return plan.Errorf(plan.ErrUnsupportedTensorRank, plan.Whole, "r%d (%s) has rank %d, at most %d", r, s.Name, s.Rank, plan.MaxRank)
	case s.Rank == 0:
		return invalid(plan.Whole, "r%d (%s) has rank 0", r, s.Name)
	case s.Cols == 0:
		return invalid(plan.Whole, "r%d (%s) has no columns", r, s.Name)
	case s.Rows >= plan.NumRowKinds:
		return invalid(plan.Whole, "r%d (%s) has unknown row kind %d", r, s.Name, s.Rows)
	case s.Layout >= plan.NumLayouts:
		return invalid(plan.Whole, "r%d (%s) has unknown layout %d", r, s.Name, s.Layout)
	}
	switch s.DType {
	case tensor.F32, tensor.F16, tensor.BF16, tensor.I32:
		return nil
	}
	return invalid(plan.Whole, "r%d (%s) has type %s; registers hold F32, F16, BF16 or I32", r, s.Name, s.DType)
}

func (v *validator) instruction(i int) error {
	in := &v.p.Instructions[i]
	s := plan.Specs.Get(in.Op)
	if s == nil {
		return &plan.OpcodeError{Op: in.Op, Index: i}
	}
	switch {
	case !s.Modes.Has(v.p.Mode):
		return invalid(i, "%s is not an operation of mode %s", s.Name, v.p.Mode)
	case len(in.In) < int(s.MinIn) || len(in.In) > int(s.MaxIn):
		return invalid(i, "%s has %d inputs, want %d to %d", s.Name, len(in.In), s.MinIn, s.MaxIn)
	case len(in.Out) < int(s.MinOut) || len(in.Out) > int(s.MaxOut):
		return invalid(i, "%s has %d outputs, want %d to %d", s.Name, len(in.Out), s.MinOut, s.MaxOut)
	case in.Layer < -1:
		return invalid(i, "%s is in layer %d", s.Name, in.Layer)
	}
	for _, r := range in.In {
		if int(r) >= len(v.written) || !v.written[r] {
			return invalid(i, "%s reads r%d, which nothing has written yet", s.Name, r)
		}
	}
	for _, r := range in.Out {
		if int(r) >= len(v.written) || v.written[r] {
			return invalid(i, "%s writes r%d, which is out of range or written already", s.Name, r)
		}
		v.written[r] = true
	}
	if err := v.weights(i, s); err != nil {
		return err
	}
	d, err := v.ownedState(i, s)
	if err != nil {
		return err
	}
	params, err := v.params(i, s)
	if err != nil {
		return err
	}
	at := &v.site
	*at = site{spec: s, params: params, weights: in.Weights, state: d, in: at.in[:0], out: at.out[:0]}
	for _, r := range in.In {
		at.in = append(at.in, v.p.Registers[r])
	}
	for _, r := range in.Out {
		at.out = append(at.out, v.p.Registers[r])
	}
	if err := first(rules[in.Op](at), indices(at)); err != nil {
		return invalid(i, "%s: %v", s.Name, err)
	}
	return nil
}

func (v *validator) weights(i int, s *plan.OpSpec) error {
	in := &v.p.Instructions[i]
	if len(in.Weights) != len(s.Weights) {
		return plan.Errorf(plan.ErrWeightBinding, i, "%s has %d weight references, want %d", s.Name, len(in.Weights), len(s.Weights))
	}
	for k, w := range in.Weights {
		slot, optional := s.Slot(k)
		switch {
		case w == plan.NoWeight && !optional:
			return plan.Errorf(plan.ErrWeightBinding, i, "%s: slot %q is required and empty", s.Name, slot)
		case w != plan.NoWeight && uint64(w) >= uint64(len(v.p.Weights)):
			return plan.Errorf(plan.ErrWeightBinding, i, "%s: slot %q is weight %d of %d", s.Name, slot, w, len(v.p.Weights))
		}
	}
	return nil
}

// ownedState returns the descriptor an instruction refers to, or nil. In a
// decode plan an operation that can keep state must: one row alone does not
// hold what came before it.
func (v *validator) ownedState(i int, s *plan.OpSpec) (*plan.StateDescriptor, error) {
	ref := v.p.Instructions[i].State
	if ref == plan.NoState {
		if s.States != 0 && v.p.Mode == plan.ModeDecode {
			return nil, invalid(i, "%s owns no state in a decode plan", s.Name)
		}
		return nil, nil
	}
	if ref < 0 || int(ref) >= len(v.p.States) {
		return nil, invalid(i, "%s: state s%d of %d", s.Name, ref, len(v.p.States))
	}
	d := &v.p.States[ref]
	if !s.States.Has(d.Kind) {
		return nil, invalid(i, "%s cannot own a %s state (s%d)", s.Name, d.Kind, ref)
	}
	return d, nil
}

// params decodes the payload. A NaN has many bit patterns and no meaning here,
// and padding that is not zero would give equal plans different ids.
func (v *validator) params(i int, s *plan.OpSpec) (plan.Params, error) {
	in := &v.p.Instructions[i]
	if int(in.Param) >= len(v.p.Params) {
		return nil, &plan.ParamABIError{Op: in.Op, Why: "no parameter block"}
	}
	b := &v.p.Params[in.Param]
	if err := b.Check(in.Op); err != nil {
		return nil, err
	}
	for k, f := range payloads[in.Op] {
		word := binary.LittleEndian.Uint32(b.Data[4*k:])
		switch {
		case f.float && math.IsNaN(float64(math.Float32frombits(word))):
			return nil, invalid(i, "%s: parameter %s is not a number", s.Name, f.name)
		case f.name == "Pad" && word != 0:
			return nil, &plan.ParamABIError{Op: in.Op, Why: "padding is not zero"}
		}
	}
	return b.Decode()
}

// payloads lists the fields of each opcode's payload, all four bytes wide.
var payloads = func() (t [256][]payloadField) {
	for op, s := range plan.Specs {
		if s == nil || s.Params == nil {
			continue
		}
		typ := reflect.TypeOf(s.Params()).Elem()
		for k := range typ.NumField() {
			f := typ.Field(k)
			t[op] = append(t[op], payloadField{f.Name, f.Type.Kind() == reflect.Float32})
		}
	}
	return t
}()

type payloadField struct {
	name  string
	float bool
}

func (v *validator) outputs() error {
	if len(v.p.Outputs) == 0 {
		return invalid(plan.Whole, "no outputs")
	}
	seen := make(map[plan.RegisterRef]bool, len(v.p.Outputs))
	for i, r := range v.p.Outputs {
		if int(r) >= len(v.written) || !v.written[r] {
			return invalid(plan.Whole, "output %d is r%d, which nothing writes", i, r)
		}
		if seen[r] {
			return invalid(plan.Whole, "r%d is an output twice", r)
		}
		seen[r] = true
	}
	for r, ok := range v.written {
		if !ok {
			return invalid(plan.Whole, "nothing writes r%d (%s)", r, v.p.Registers[r].Name)
		}
	}
	return nil
}

func invalid(i int, format string, args ...any) error {
	return plan.Errorf(plan.ErrInvalidPlan, i, format, args...)
}
