package plan

//go:generate go run -C ../../tools ./adapters -o ../internal/plan/zadapters.go

import "fmt"

// An Adapter examines one instruction and its payload when a plan is bound, and
// returns the code that runs it. It makes every choice that depends on
// parameters, formats or weights, once. B is the executor's view of an
// instruction; K is the code, a kernel or a recorder of gradients.
type Adapter[B, K any] func(B, Params) (K, error)

// An AdapterTable has one executor's adapter for every opcode, by number; nil
// means that the opcode is not supported. Make one with the generated
// [NewAdapterTable].
type AdapterTable[B, K any] [256]Adapter[B, K]

// adapter returns the table's entry for an adapter that takes its payload as
// the type it has. A nil function stays nil.
func adapter[B, K any, P Params](f func(B, P) (K, error)) Adapter[B, K] {
	if f == nil {
		return nil
	}
	return func(b B, p Params) (K, error) { return f(b, p.(P)) }
}

// bareAdapter is adapter for an opcode without payload.
func bareAdapter[B, K any](f func(B) (K, error)) Adapter[B, K] {
	if f == nil {
		return nil
	}
	return func(b B, _ Params) (K, error) { return f(b) }
}

// A Binder is the executor's side of [Bind]: its representation of a register
// (R) and of a weight (W), and the type that its adapters take (B), which
// embeds the [Binding]. A Binder serves one plan.
type Binder[R, W, B any] interface {
	// Register returns the executor's representation of a register.
	Register(RegisterRef) R
	// Weight returns the executor's representation of a weight, and whether it
	// has one.
	Weight(WeightRef) (W, bool)
	// Open returns the view of the next instruction. Its adapter returns before
	// Open is called again, so a Binder may collect what adapters reserve.
	Open(Binding[R, W]) B
}

// Bind binds the instructions of p in order and returns the results of the
// adapters, by instruction. It is the only place where payloads are decoded and
// operands looked up; its results do not refer to the plan.
//
// Bind stops at the first error, which names its instruction. Besides the
// errors of adapters it is an [*OpcodeError] if the table has no entry, a
// [*ParamABIError] if a payload does not fit the opcode, a [*PlanError] if an
// operand's view does not, or a [*WeightError] if the executor lacks a weight of
// the plan.
func Bind[R, W, B, K any](p *ExecutionPlan, table AdapterTable[B, K], from Binder[R, W, B]) ([]K, error) {
	made := make([]K, len(p.Instructions))
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		adapt := table[ins.Op]
		if adapt == nil {
			return nil, &OpcodeError{Op: ins.Op, Index: i}
		}
		payload, err := p.Params[ins.Param].decodeFor(ins.Op)
		if err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
		b, err := resolve(p, i, from)
		if err != nil {
			return nil, err
		}
		if made[i], err = adapt(from.Open(b), payload); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
	}
	return made, nil
}

// resolve looks up the operands of instruction i.
func resolve[R, W, B any](p *ExecutionPlan, i int, from Binder[R, W, B]) (Binding[R, W], error) {
	ins := &p.Instructions[i]
	b := Binding[R, W]{
		Ins: ins, Spec: Specs.Get(ins.Op),
		names: make([]string, len(ins.Weights)), weights: make([]W, len(ins.Weights)),
	}
	for k, r := range ins.In {
		v := p.Registers[r].View()
		if err := b.Spec.checkView(i, "input", k, v, b.Spec.IsIndex(k)); err != nil {
			return b, err
		}
		b.In, b.InViews = append(b.In, from.Register(r)), append(b.InViews, v)
	}
	for k, r := range ins.Out {
		v := p.Registers[r].View()
		if err := b.Spec.checkView(i, "output", k, v, false); err != nil {
			return b, err
		}
		b.Out, b.OutViews = append(b.Out, from.Register(r)), append(b.OutViews, v)
	}
	for slot, ref := range ins.Weights {
		if ref == NoWeight {
			continue
		}
		b.names[slot] = p.Weights[ref].Name
		w, ok := from.Weight(ref)
		if !ok {
			return b, fmt.Errorf("instruction %d: %w", i, b.weightError(slot, "no such tensor was loaded"))
		}
		b.weights[slot] = w
	}
	return b, nil
}

// A Binding is one instruction with its operands resolved to the executor's
// registers and weights. Adapters get weights by the slot names of the opcode's
// [OpSpec]; any other name is a programming error and panics.
type Binding[R, W any] struct {
	Ins     *Instruction
	Spec    *OpSpec
	In, Out []R // in the order of Ins.In and Ins.Out

	InViews, OutViews []TensorViewDesc // of In and Out; they suit the Spec

	names   []string // by slot; "" = empty
	weights []W      // by slot
}

func (b *Binding[R, W]) slot(name string) int {
	i, ok := b.Spec.SlotIndex(name)
	if !ok {
		panic("plan: " + b.Spec.Name + " has no slot " + name)
	}
	return i
}

// Has reports whether the model fills a slot.
func (b *Binding[R, W]) Has(slot string) bool { return b.Ins.Weights[b.slot(slot)] != NoWeight }

// WeightName returns the name of the tensor in a slot, "" for an empty one.
func (b *Binding[R, W]) WeightName(slot string) string { return b.names[b.slot(slot)] }

// Weight returns the weight in a slot. For an empty optional slot it returns
// false and no error, for any other empty slot a [*WeightError].
func (b *Binding[R, W]) Weight(slot string) (w W, ok bool, err error) {
	i := b.slot(slot)
	if b.Ins.Weights[i] != NoWeight {
		return b.weights[i], true, nil
	}
	if _, optional := b.Spec.Slot(i); !optional {
		err = b.weightError(i, "absent")
	}
	return w, false, err
}

// WeightErrorf returns a [*WeightError] about the weight in a slot.
func (b *Binding[R, W]) WeightErrorf(slot, format string, args ...any) error {
	return b.weightError(b.slot(slot), fmt.Sprintf(format, args...))
}

func (b *Binding[R, W]) weightError(slot int, why string) error {
	name, _ := b.Spec.Slot(slot)
	return &WeightError{Name: b.names[slot], Slot: name, Op: b.Ins.Op, Why: why}
}
