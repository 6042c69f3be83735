// Package states holds the states of sequences: what a plan's layers keep of the
// tokens they have seen. Its storage is pages of package kv; its rules are the
// plan's lifecycle matrix, which every action goes through.
//
//	Pool    the storage of one state of a model, for all sequences
//	State   that of one sequence: unbound, or bound to pages
//
//	                   slot_persistent   request_scoped   step_scoped
//	alloc              bind              bind, zero       bind, zero
//	reset, reuse       continue at p     error            zero; error
//	evict              unbind            unbind           unbind
//	clone_for_fork     share pages       share pages      error
//
// A state that is addressed by position continues at any position whose pages it
// has. One that is not (recurrent, conv) continues at its end, at 0, where it is
// zero, or from a snapshot: a fork that nobody extends.
//
// An action that the matrix forbids is an error that matches
// [plan.ErrStateLifecycle], in every build. The scheduler does not know kinds of
// states: a new one is a descriptor.
package states
