package plan

//go:generate go run -C ../../tools ./adapters -o ../internal/plan/zadapters.go

import "fmt"

// An Adapter looks at one instruction and its payload when a plan is bound, and
// returns what runs the instruction from then on. Whatever depends on
// parameters, formats or weights is decided in it, once. B is the executor's
// view of an instruction; K is what it runs, a kernel or a recorder of
// gradients.
type Adapter[B, K any] func(B, Params) (K, error)

// An AdapterTable is what one executor does for every opcode, by number; nil
// says that it does not support the opcode. Make one with the generated
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

// A Binder is the executor's side of [Bind]: what it keeps for a register (R)
// and for a weight (W), and the type that its adapters take (B), which embeds
// the [Binding]. A Binder serves one plan.
type Binder[R, W, B any] interface {
	// Register returns what the executor keeps for a register.
	Register(RegisterRef) R
	// Weight returns what the executor keeps for a weight, and whether it was
	// given one.
	Weight(WeightRef) (W, bool)
	// Open returns the view of the next instruction. Its adapter returns before
	// Open is called again, so a Binder may collect what the adapter does.
	Open(Binding[R, W]) B
}

// Bind binds the instructions of p in order and returns what the adapters made
// of them, by instruction. It is the only place where payloads are decoded and
// operands looked up; nothing that it returns needs the plan again.
//
// The first error ends it, and names its instruction. Beside what adapters
// return it is an [*OpcodeError] where the table has no entry, a
// [*ParamABIError] where a payload is not the opcode's, or a [*WeightError]
// where the executor was not given a weight that the plan names.
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
			return nil, fmt.Errorf("instruction %d: %w", i, err)
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
	for _, r := range ins.In {
		b.In = append(b.In, from.Register(r))
	}
	for _, r := range ins.Out {
		b.Out = append(b.Out, from.Register(r))
	}
	for slot, ref := range ins.Weights {
		if ref == NoWeight {
			continue
		}
		b.names[slot] = p.Weights[ref].Name
		w, ok := from.Weight(ref)
		if !ok {
			return b, b.weightError(slot, "no such tensor was loaded")
		}
		b.weights[slot] = w
	}
	return b, nil
}

// A Binding is one instruction with its operands resolved: registers and
// weights as the executor keeps them. Adapters ask for weights by the slot
// names of the opcode's [OpSpec]; a name that is not among them is a mistake in
// the adapter, and panics.
type Binding[R, W any] struct {
	Ins     *Instruction
	Spec    *OpSpec
	In, Out []R // in the order of Ins.In and Ins.Out

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

// Weight returns the weight in a slot. An optional slot that the model leaves
// empty gives false and no error; any other that is empty gives a
// [*WeightError].
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
