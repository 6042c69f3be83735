package plan

import (
	"slices"
	"strings"
)

// plans builds the plans of the document.
func (d *jsonDocument) plans() (*ModelPlans, error) {
	m := new(ModelPlans)
	if len(d.Handoffs) > 0 {
		m.Handoffs = d.Handoffs
	}
	for name := range d.Plans {
		if _, err := ParseMode(name); err != nil {
			return nil, Errorf(ErrInvalidPlan, Whole, "plans: %v", err)
		}
	}
	for mode := range NumModes {
		j := d.Plans[mode.String()]
		if j == nil {
			continue
		}
		c, err := d.compiled(mode, j)
		if err != nil {
			return nil, err
		}
		if err := m.setByMode(c); err != nil {
			return nil, err
		}
	}
	for _, g := range d.Diagnostics {
		c := m.ByMode(g.Plan)
		if c == nil {
			return nil, Errorf(ErrInvalidPlan, Whole, "a diagnostic of a %s plan that is not there", g.Plan)
		}
		c.Diagnostics = append(c.Diagnostics, PlanDiagnostic{g.Warn, g.Code, g.Text})
	}
	return m, nil
}

// setByMode puts a plan where its mode says.
func (m *ModelPlans) setByMode(c *CompiledPlan) error {
	switch c.Plan.Mode {
	case ModeDecode:
		m.Decode = c
	case ModePrefill:
		m.Prefill = c
	case ModeVisionEncode:
		m.VisionEncode = c
	case ModeScatter:
		m.Scatter = c
	default:
		return Errorf(ErrInvalidPlan, Whole, "unknown mode %d", c.Plan.Mode)
	}
	return nil
}

func (d *jsonDocument) compiled(mode Mode, j *jsonPlan) (*CompiledPlan, error) {
	switch {
	case len(j.Instructions) > MaxInstructions:
		return nil, Errorf(ErrInvalidPlan, Whole, "%d instructions, at most %d", len(j.Instructions), MaxInstructions)
	case len(j.Registers) > MaxRegisters:
		return nil, Errorf(ErrInvalidPlan, Whole, "%d registers, at most %d", len(j.Registers), MaxRegisters)
	case len(j.States) > 256:
		return nil, Errorf(ErrInvalidPlan, Whole, "%d states, at most 256", len(j.States))
	}
	c := &CompiledPlan{PeakRegisters: j.Peak}
	p := &c.Plan
	p.Mode = mode
	p.Inputs, p.Outputs = some(j.Inputs), some(j.Outputs)
	p.Registers = j.Registers
	for id, i := range j.States {
		if i < 0 || i >= len(d.States) {
			return nil, Errorf(ErrInvalidPlan, Whole, "state %d of %d", i, len(d.States))
		}
		s := d.States[i]
		s.ID = uint8(id)
		p.States = append(p.States, s)
	}
	var kills []kill
	weights := make(map[string]WeightRef)
	for i := range j.Instructions {
		in := &j.Instructions[i]
		if in.I != i {
			return nil, Errorf(ErrInvalidPlan, i, "it is numbered %d", in.I)
		}
		if err := p.add(in, weights); err != nil {
			return nil, err
		}
		for _, r := range in.Kills {
			if int(r) >= len(p.Registers) {
				return nil, Errorf(ErrInvalidPlan, i, "r%d of %d dies", r, len(p.Registers))
			}
			kills = append(kills, kill{i, r})
		}
	}
	c.Live = liveness(p, kills)
	return c, nil
}

// add appends one instruction with its payload and weights.
func (p *ExecutionPlan) add(j *jsonInstruction, weights map[string]WeightRef) error {
	i := len(p.Instructions)
	spec := Specs.Get(j.Op) // there is one: the name was read from the table
	in := Instruction{Op: j.Op, In: some(j.In), Out: some(j.Out), Layer: j.Layer, State: NoState, Param: uint16(len(p.Params))}
	if j.State != nil {
		in.State = *j.State
	}
	for slot := range j.Weights {
		if _, ok := spec.SlotIndex(slot); !ok {
			return Errorf(ErrWeightBinding, i, "%s has no weight slot %q", spec.Name, slot)
		}
	}
	for k := range spec.Weights {
		slot, _ := spec.Slot(k)
		name, ok := j.Weights[slot]
		if !ok {
			in.Weights = append(in.Weights, NoWeight)
			continue
		}
		ref, ok := weights[name]
		if !ok {
			ref = WeightRef(len(p.Weights))
			weights[name] = ref
			p.Weights = append(p.Weights, WeightBinding{slot, name})
		}
		in.Weights = append(in.Weights, ref)
	}
	block := ParamBlock{Version: ParamVersion1, Op: j.Op}
	switch {
	case spec.Params != nil:
		v := spec.Params()
		for key, raw := range j.Params {
			if err := setField(v, key, strings.Trim(string(raw), `"`)); err != nil {
				return Errorf(ErrInvalidPlan, i, "%s: %v", spec.Name, err)
			}
		}
		b, err := EncodeParams(j.Op, v)
		if err != nil {
			return err
		}
		block = b
	case len(j.Params) > 0:
		return Errorf(ErrInvalidPlan, i, "%s has no parameters", spec.Name)
	}
	p.Params = append(p.Params, block)
	p.Instructions = append(p.Instructions, in)
	return nil
}

// some returns nil for an empty list, as a compiled plan has it.
func some(rs []RegisterRef) []RegisterRef {
	if len(rs) == 0 {
		return nil
	}
	return slices.Clip(rs)
}
