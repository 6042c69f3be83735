// Package amp runs nodes written in C, from libraries that are loaded while the
// program runs and need no C compiler where they run. include/amp.h is the
// contract, include/template.c a whole node, docs/c-nodes.md the manual.
//
//	Open ──▶ Library ──Types──▶ node.Table ──append to the shipped one──▶ flow.Options.Catalog
//	            │ New32, New64
//	            ▼
//	         instance      a node.Instance: state, descriptor and buffers outside Go's heap
//
// One call of an instance fills in the buffers of the C call, makes it, and
// looks at what the node did:
//
//	state replaced            the old one is released, once
//	frames lowered            a late node; more, or another pointer: InvalidArg, zeros
//	v2 answers Unsupported    in forward: v1 from now on
//	positive, or below -11    Fail: no node may say that
//	environment changed       set back
//
// What an instance notices it counts, and [Library.Events] tells once a node
// and kind. The call itself costs 40 ns; it allocates nothing and may be made
// on a thread without a P.
//
// # Parameters
//
// A type's parameters follow its signal inputs. One that the plan neither gives
// nor modulates is flagged absent, and the node's own default counts. Other
// values of the plan's params are settings, which the node finds in params_json.
// Two settings are the host's: batches and channels fix the outputs' shape,
// which is otherwise that of the first input, or 1, 1 for a source.
//
// # Trust
//
// A library that crashes takes the process with it, and no Go program can
// prevent that. Package isolate runs libraries in a process of their own,
// package catalog does so with all that are not trusted.
package amp
