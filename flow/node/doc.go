// Package node is the contract between a dataflow graph and its nodes, and the
// form of the table that says which types of nodes there are.
//
//	plan's node ──Table.Describe──▶ graph.Spec    ports, rates, parameters, shapes
//	linked node ──New──▶ Instance                 one running node
//
//	forward    In, Param ─▶ Forward ─▶ Out, Heat, Delay
//	backward   DOut, Param, kept In/Out/State0 ─▶ Backward ─▶ DIn, DParam
//
// An [Instance] runs calls of any number of tokens; its outputs depend on the
// stream alone, never on where calls cut it, to the bit. Extras are optional
// interfaces that a host asks for once, when it is built:
//
//	Stateful   a snapshot of the state, for long backward sweeps
//	Adjoint    the exact transpose of the derivative, in reverse order of calls
//	Binder     one closure for a call whose tensors never change
//	Fuser      one closure for equal nodes side by side
//
// The types themselves live in packages below, a table each (flow/node/basic and
// its siblings); flow/node/shipped joins them. A [Table] is a value: a host may
// append its own types.
package node
