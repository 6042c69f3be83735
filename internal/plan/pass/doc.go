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
// The requirements of an opcode on widths, rows and numbers are one row of the
// table in rules.go; those between instructions are in validate.go.
//
// Registers are written once, so the life of a value is one interval, which
// "last reader" defines. And every property that a step establishes is verified
// by separate code: [validatePlan] runs again after the rewriting steps, [recheckPlan]
// counts uses where the liveness step searched for the last one, and tests
// simulate the result of [Map]. A plan from a file passes the same checks as a
// compiled one.
//
// Steps are pure: no clock, no environment, no map order. The same program
// gives the same bytes.
package pass
