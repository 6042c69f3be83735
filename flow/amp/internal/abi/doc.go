// Package abi implements include/amp.h in Go: its structures, memory for them
// outside Go's heap, and the call itself.
//
//	Go                     assembly                       C
//	Run(list) ──cgocall──▶ entryList: for each record ──▶ amp_run_node_v2(desc, state,
//	   │ on the system      {fn, desc, state, in, out,       in, out, mode, metrics)
//	   └─stack: a plain──▶   mode, metrics, result}
//	     call               environment compared
//
//	C: host->log ────────▶ hostLog: a slot of a ring ──▶ Log.Drain in Go
//	   host->alloc, free ─▶ aligned_alloc, free
//
// A record takes 64 bytes. One transition through the runtime serves a list of
// any length: 35 ns for the transition, 2.5 ns per record. A thread that
// already runs on its system stack, as the real-time executor's does, makes a
// plain call instead; [Run] detects which of the two it is. The floating-point
// environment is compared once per list, and restored.
//
// The host's callbacks are assembly as well: none enters Go, so a node may log
// from any thread, including one without a P, without blocking.
//
// All that C sees is in a [Memory]: Go's collector neither moves nor scans it,
// and addresses in it are integers, so that storing one is not a pointer write.
package abi

// The version of the ABI that this host implements.
const (
	Major = 2
	Minor = 1
)

// ErrUnsupported is the error of loading a library in other builds.
const ErrUnsupported = refusal("this build cannot load C nodes: they need Linux on amd64 or arm64, and a build without -tags static")

// errRuntime says that a Go runtime does not match this package's assumptions.
const errRuntime = refusal("this build cannot load C nodes: the Go runtime keeps its stacks in another place than expected; build with the Go version of go.mod")

// A refusal is a constant error.
type refusal string

func (r refusal) Error() string { return string(r) }
