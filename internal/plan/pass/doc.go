// Package pass is the compiler of plans: an ordered list of small steps, each
// in its own file, and the checks that need a backend. Read pass.go first.
//
//	programs ─▶ plan.Builder ─▶ ExecutionPlan
//	                                  │
//	          validate  states  fuse  number  revalidate  liveness  recheck     Compile
//	                                  │
//	                                  ▼
//	                            CompiledPlan ──▶ text, JSON, id                 package plan
//	                                  │                │
//	                                  │       LoadText, LoadJSON: the same checks again
//	                                  ▼
//	          Route (which backend)  Map (which buffer)  CheckHandoffs          per backend
//	                                  │
//	                                  ▼
//	                            bound records                                   internal/exec
//
// What an opcode asks of the widths, rows and numbers around it is one row of
// the table in rules.go; what joins instructions is in validate.go.
//
// Two facts carry the package. Registers are written once, so the life of a
// value is one interval and "last reader" is one number. And everything that a
// step claims is verified by a second piece of code that shares nothing with
// it: [Validate] runs again after the rewriting steps, [Recheck] counts uses
// where the liveness step looked for the last one, and the tests simulate a
// [Map] result instead of trusting it. A plan that comes from a file passes
// through exactly the same checks as one that was just compiled.
//
// Steps are pure: no clock, no environment, no map order. The same program
// gives the same bytes.
package pass
