// Package plan is the contract between what describes a model and what runs it:
// a typed program per mode, with nothing in it that knows a family, a file
// format or a machine.
//
//	Program ──Builder──▶ ExecutionPlan ──internal/plan/pass──▶ CompiledPlan
//	   ▲                      │                            │
//	family                    ├ Instructions  op, in → out, weights, payload, state
//	(data)                    ├ Registers     symbolic rows × columns, written once
//	                          ├ Weights       names only
//	                          ├ States        bytes per slot or page, and their life
//	                          └ Params        versioned little-endian payloads
//
// A model has up to four plans ([ModelPlans]): vision_encode → scatter → prefill
// or decode. Each covers the whole model, embedding and head included, so an
// executor is one loop over one array.
//
// # One instruction
//
//	2 L0  attention  r3! -> r4:L0.a[tokens,64] s0 q=blk.0.attn_q … {heads=4 …}
//	│ │   │          │      │  │    │          │  │                │
//	│ │   opcode     │      │  name rows,cols  │  weights by slot  payload
//	│ layer          │      register written   state it owns
//	position         register read; "!": dead afterwards
//
// # The rules everything rests on
//
//   - A register is written once. Reusing memory is the business of a mapping
//     ([PhysicalMapping]), never of a plan.
//   - Row counts are symbolic ([RowKind]); one plan serves every batch, and only
//     the [Sizing] differs.
//   - [Specs] is the one description of an opcode: arity, weight slots, states,
//     modes, payload and in-place rule. The builder, the validator, the binder,
//     the printer, the generated constructor of adapter tables and the
//     documentation read it and repeat nothing of it. Numbers are never reused.
//   - Numbers that a kernel needs are in the payload, encoded once and decoded
//     once, when a plan is bound. A program holds no numbers: they come from the
//     configuration through a [Resolver].
//   - What outlives a step is a state with a descriptor that owns the real
//     bytes; what a scheduler may do with it is [Matrix], and a forbidden action
//     is an error.
//
// # Binding
//
// Every executor binds its plans with [Bind]: for each instruction it looks up
// registers and weights, decodes the payload, and calls the [Adapter] that the
// executor's table has for the opcode. An executor brings what differs, as a
// [Binder]: what it keeps of a register and of a weight, and what an adapter is
// to return, a kernel (internal/exec) or a recorder of gradients
// (internal/tape). [NewAdapterTable] has one parameter for each opcode, so that
// an executor that forgets one does not compile.
//
// # Names of the contract
//
// The runtime contract that this implements names thirteen types; a reader of it
// finds them here. The reasons are those of docs/decisions/0019-what-runs.md.
//
//	contract           here                     why it is not the same
//	Opcode             [Opcode]                 the same
//	RegisterRef        [RegisterRef]            the same
//	TensorHandle       R of a [Binder]          a type parameter: the compiler keeps a backend's
//	                                            handles out of another; internal/exec has a register
//	TensorViewDesc     [TensorViewDesc]         rows are symbolic, so the shape is RowKind and Cols
//	StateBlockHandle   pages of an exec.Run     a sequence's state is a list of pages that grows;
//	                                            id is the position, size the length of the slice
//	ParamBlock         [ParamBlock]             the same
//	StateDescriptor    [StateDescriptor]        and pages, window, layers, sections
//	LivenessMap        [LivenessMap]            the same
//	ExecutionPlan      [ExecutionPlan]          and mode, inputs, outputs, weights' names
//	CompiledPlan       [CompiledPlan]           the same
//	PhysicalMapping    [PhysicalMapping]        and the bytes that it saves
//	AdapterTable       [AdapterTable]           its entries are factories: they run when a plan is bound
//	AdapterCapability  pass.AdapterCapability   and Accept, for what an opcode alone does not tell
//
// ExecutionContext is exec.Step, KernelAdapterFn an [Adapter] and the exec.Kernel
// that it returns, the map of operations to opcodes [Specs].
//
// # Text
//
// Everything here prints and reads back: plans as text ([Print], [ParseText])
// and as JSON ([MarshalPlans], [ParseJSON]), programs ([Program.String],
// [ParseProgram]), every enumeration. Names are plain, of letters, digits, "_",
// ".", "-" and "/", or quoted as Go quotes strings. [Diff] compares two plans, and
// [ModelPlans.ID] is the hash that log lines, benchmark records and prefix
// caches carry. A plan that was parsed must be checked before use: package pass
// has the loaders that do both.
//
// testdata/mlp.txtar shows a model becoming a plan and a mapping without any
// code; testdata/opcodes.txt is the opcode table.
package plan
