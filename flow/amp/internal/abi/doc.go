// Package abi is the machine's side of include/amp.h: its structures as Go
// sees them, memory for them outside Go's heap, and the call itself.
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
// A record takes 64 bytes. One pass through the runtime serves a list of any
// length: 35 ns for the pass, 2.5 ns for each record. A thread that runs on
// its system stack already, which is how the real-time executor runs Go code
// without a P, makes a plain call instead; [Run] sees which of the two it is.
// The floating-point environment is compared once a list, and set back.
//
// The callbacks of the host are assembly as well: none enters Go, so a node may
// log from any thread, and from one without a P, without waiting for anybody.
//
// All that C sees lies in a [Memory]: Go's collector neither moves nor scans
// it, and addresses in it are integers, so that writing one is no pointer
// write.
package abi

// Version of the ABI that this host speaks.
const (
	Major = 2
	Minor = 0
)

// ErrUnsupported is what loading a library answers in other builds.
const ErrUnsupported = Refusal("this build cannot load C nodes: they need Linux on amd64 or arm64, and a build without -tags static")

// ErrRuntime says that the runtime has changed where this package looks.
const ErrRuntime = Refusal("this build cannot load C nodes: the Go runtime keeps its stacks in another place than expected; build with the Go version of go.mod")

// A Refusal is an error that is a constant.
type Refusal string

func (r Refusal) Error() string { return string(r) }
