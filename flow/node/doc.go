// Package node defines the contract between a dataflow graph and its nodes, and
// the table of node types.
//
//	plan's node ──Table.Describe──▶ graph.Spec    ports, rates, parameters, shapes
//	linked node ──New──▶ Instance                 one running node
//
//	forward    In, Param ─▶ Forward ─▶ Out, Heat, Delay
//	backward   DOut, Param, kept In/Out/State0 ─▶ Backward ─▶ DIn, DParam
//
// An [Instance] runs calls of any number of tokens; its outputs depend on the
// stream alone, to the bit, never on how it is cut into calls. Extras are
// optional interfaces, which a host queries once, at construction:
//
//	Stateful   a snapshot of the state, for long backward sweeps
//	Adjoint    the exact transpose of the derivative, in reverse order of calls
//	Binder     one closure for a call whose tensors never change
//	Fuser      one closure for equal nodes side by side
//
// A [Table] lists types and is a value: a host may append its own to
// flow.ShippedTypes. The tests of this module check each type by one suite.
package node
