// Package exec runs compiled plans on the CPU. It is the one place where a
// plan, its weights and the kernels meet.
//
//	New(plans, weights)                     Step(runs, tokens)
//	  route   is every opcode supported       choose decode or prefill
//	  map     registers → a few buffers       fill the input registers
//	  bind    instruction → Bound record      Execute: for each record, run
//	                                          logits of the requested rows
//
// Everything that does not depend on the tokens is decided in New: a
// [plan.Adapter] examines one instruction's parameters, weights and formats and
// returns the [Kernel] to run, a closure over slices of fixed bounds. A step
// therefore looks up nothing, parses nothing and allocates nothing.
//
// A step is a ragged batch: runs of rows, each belonging to one sequence at
// one position. Prefill of several prompts, one chunk of a long prompt and
// decode rows may share a step. The result of a row does not depend on the
// other rows, on how they are chunked, or on the number of threads: work is
// split over outputs, and every output is one fixed order of additions.
//
// Sequences' keys and values live in pages that the caller owns (internal/memory/kv)
// and passes as views with each run:
//
//	page of one state group: [layer][k|v][token][kv head × head dim]
//
// The file to read first is execute.go, then bind.go; one file per opcode
// holds its adapter.
package exec
