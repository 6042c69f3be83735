// Package conform runs the rows of the conformance suite: small experiments,
// each with an id, that say whether an implementation does what the
// specification of Quila asks, and how close to a limit it comes.
//
//	Row     an id, what it needs, and the check
//	T       what a check reports to
//	Result  pass, fail, short, not-yet or needs-device, a figure and the faults
//
// The rows lie in the packages below, by subject; the command atenia quila
// conformance and the tests run the same ones. A row checks the code that a
// network runs: there are no second implementations here but oracles that are
// slower and plainer than what they check.
package conform
