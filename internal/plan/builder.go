package plan

import (
	"errors"
	"fmt"
	"math"

	"atenia/tensor"
)

// A Builder assembles an [ExecutionPlan]. It collects errors and reports them
// in Build, so that model code reads as mathematics.
type Builder struct {
	p      ExecutionPlan
	r      Resolver
	names  map[string]RegisterRef
	wix    map[string]WeightRef
	states map[StateKey]StateRef
	errs   []error
}

// NewBuilder starts a plan for one mode.
func NewBuilder(mode Mode, r Resolver) *Builder {
	return &Builder{
		p:      ExecutionPlan{Mode: mode},
		r:      r,
		names:  map[string]RegisterRef{},
		wix:    map[string]WeightRef{},
		states: map[StateKey]StateRef{},
	}
}

// Input declares a value the engine supplies. Programs may read it by name.
func (b *Builder) Input(name string, s RegSpec) RegisterRef {
	r := b.register(name, s)
	b.p.Inputs = append(b.p.Inputs, r)
	b.names[name] = r
	return r
}

// State declares a state; its ID is its position.
func (b *Builder) State(d StateDescriptor) StateRef {
	k := StateKey{d.Kind, d.Group}
	if _, dup := b.states[k]; dup {
		b.fail(ErrInvalidPlan, "state %s.%d declared twice", d.Kind, d.Group)
	}
	d.ID = uint8(len(b.p.States))
	ref := StateRef(len(b.p.States))
	b.states[k] = ref
	b.p.States = append(b.p.States, d)
	return ref
}

// Lower appends a program for one layer; layer is −1 outside layers. x is the
// value of the program's "x"; rows is the row kind of every value it makes.
// Lower returns the value of the last op, or x for an empty program.
func (b *Builder) Lower(prog Program, layer int, x RegisterRef, rows RowKind) RegisterRef {
	local := map[string]RegisterRef{"x": x}
	for i := range prog {
		if len(b.errs) > 0 {
			return x // later errors would only repeat the first
		}
		x = b.op(&prog[i], layer, rows, local)
	}
	return x
}

func (b *Builder) op(op *LayerOp, layer int, rows RowKind, local map[string]RegisterRef) RegisterRef {
	s := Specs.Get(op.Op)
	if s == nil {
		b.errs = append(b.errs, &OpcodeError{Op: op.Op, Index: len(b.p.Instructions)})
		return 0
	}
	ins := Instruction{Op: op.Op, Layer: int16(layer), State: NoState}
	for _, n := range op.In {
		r, ok := local[n]
		if !ok {
			r, ok = b.names[n]
		}
		if !ok {
			b.fail(ErrInvalidPlan, "%s: no producer for %q", s.Name, n)
		}
		ins.In = append(ins.In, r)
	}
	if _, dup := local[op.Out]; dup {
		b.fail(ErrInvalidPlan, "%s: value %q written twice", s.Name, op.Out)
	}
	ins.Weights = b.weights(s, op, layer)
	ins.Param = b.params(op, layer)
	if k, ok := b.r.State(op.Op, op.Tag, layer); ok {
		ref, declared := b.states[k]
		if !declared {
			b.fail(ErrInvalidPlan, "%s: state %s.%d is not declared", s.Name, k.Kind, k.Group)
		}
		ins.State = ref
	}
	cols, err := b.r.Cols(op.Op, op.Tag, layer)
	if err != nil {
		b.errs = append(b.errs, err)
	}
	name := op.Out
	if layer >= 0 {
		name = fmt.Sprintf("L%d.%s", layer, op.Out)
	}
	out := b.register(name, RegSpec{DType: tensor.F32, Rank: 2, Rows: rows, Cols: cols})
	ins.Out = []RegisterRef{out}
	local[op.Out] = out
	if op.All {
		if _, dup := b.names[op.Out]; dup {
			b.fail(ErrInvalidPlan, "%s: value %q, which later layers read, is written twice", s.Name, op.Out)
		}
		b.names[op.Out] = out
	}
	b.p.Instructions = append(b.p.Instructions, ins)
	return out
}

func (b *Builder) weights(s *OpSpec, op *LayerOp, layer int) []WeightRef {
	for slot := range op.W {
		if _, ok := s.SlotIndex(slot); !ok {
			b.fail(ErrWeightBinding, "%s has no weight slot %q", s.Name, slot)
		}
	}
	refs := make([]WeightRef, len(s.Weights))
	for i := range s.Weights {
		refs[i] = NoWeight
		slot, optional := s.Slot(i)
		id, given := op.W[slot]
		name, found := "", false
		if given {
			name, found = b.r.Weight(id, layer)
		}
		switch {
		case found:
			refs[i] = b.weight(slot, name)
		case !optional && given:
			b.fail(ErrWeightBinding, "%s: the model has no weight %q for slot %q of layer %d", s.Name, id, slot, layer)
		case !optional:
			b.fail(ErrWeightBinding, "%s: slot %q is required and not given", s.Name, slot)
		}
	}
	return refs
}

func (b *Builder) params(op *LayerOp, layer int) uint16 {
	v, err := b.r.Params(op.Op, op.Tag, layer)
	if err != nil {
		b.errs = append(b.errs, err)
		return 0
	}
	pb, err := EncodeParams(op.Op, v)
	if err != nil {
		b.errs = append(b.errs, err)
		return 0
	}
	if len(b.p.Params) > math.MaxUint16 {
		b.fail(ErrInvalidPlan, "more than %d parameter blocks", math.MaxUint16)
		return 0
	}
	b.p.Params = append(b.p.Params, pb)
	return uint16(len(b.p.Params) - 1)
}

func (b *Builder) weight(slot, name string) WeightRef {
	if r, ok := b.wix[name]; ok {
		return r
	}
	r := WeightRef(len(b.p.Weights))
	b.p.Weights = append(b.p.Weights, WeightBinding{slot, name})
	b.wix[name] = r
	return r
}

func (b *Builder) register(name string, s RegSpec) RegisterRef {
	if len(b.p.Registers) >= math.MaxUint16 {
		b.fail(ErrInvalidPlan, "more than %d registers", math.MaxUint16)
		return 0
	}
	s.Name = name
	b.p.Registers = append(b.p.Registers, s)
	return RegisterRef(len(b.p.Registers) - 1)
}

func (b *Builder) fail(kind error, format string, args ...any) {
	b.errs = append(b.errs, Errorf(kind, len(b.p.Instructions), format, args...))
}

// Build returns the plan with the given outputs, or every error met on the way.
// The plan is not validated yet; package pass does that.
func (b *Builder) Build(outs ...RegisterRef) (*ExecutionPlan, error) {
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	b.p.Outputs = outs
	return &b.p, nil
}
