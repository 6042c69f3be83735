// Package conform runs the rows of the conformance suite: small experiments,
// each with an id, that say whether an implementation does what the
// specification of Quila asks, and how close to a limit it comes.
//
//	results := conform.Suite{Only: []string{"DET"}, Each: show}.Run(ctx)
//
// There are rows by subject, a file or more each; the command atenia quila conformance
// and the tests run the same ones. A row checks the code that a network runs: there are
// no second implementations here but oracles, plain loops over the formulas of the
// specification in float64, which share nothing with what they check.
//
// Only the command imports this package: a program that imports package quila links
// none of it.
package conform
