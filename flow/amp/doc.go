// Package amp runs nodes written in C, from shared libraries loaded at run
// time; no C compiler is needed to run them. include/amp.h is the contract,
// include/template.c a complete node, docs/c-nodes.md the manual.
//
//	Open ──▶ Library ──Types──▶ node.Table ──append to the shipped one──▶ flow.Options.Catalog
//	            │ New32, New64
//	            ▼
//	         instance      a node.Instance: state, descriptor and buffers outside Go's heap
//
// A call of an instance fills in the buffers of the C call, makes it, and
// checks what the node did:
//
//	state replaced            the old one is released, once
//	frames lowered            a late node; more, or another pointer: InvalidArg, zeros
//	v2 answers Unsupported    in forward: v1 from now on
//	positive, or below -11    Fail: no node may say that
//	environment changed       set back
//
// Violations are counted, and [Library.Events] reports each kind once per node.
// The call itself costs 40 ns, allocates nothing, and may be made on a thread
// without a P.
//
// # Parameters
//
// A type's parameters follow its signal inputs. A parameter that the plan
// neither gives nor modulates is flagged absent, and the node's own default
// applies. Other values of the plan's params are settings, which the node finds
// in params_json. Two settings are the host's: batches and channels fix the
// outputs' shape, which otherwise is that of the first input, or 1, 1 for a
// source.
//
// # Trust
//
// A library that crashes takes the process down, which no Go program can
// prevent. Package isolate runs libraries in separate processes; package
// catalog does so for all that are not trusted.
package amp
