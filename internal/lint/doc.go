// Package lint holds the laws of this repository: tests that read its source,
// its documents and the tests of other packages. It has no code of its own.
//
//	layers_test.go        which rooms may import which
//	rooms_test.go         how many rooms a room may know, and which small ones stay
//	size_test.go          files and functions
//	deadcode_test.go      what no program, Example or external test reaches
//	mentions_test.go      which declarations name which others, for the above
//	duplicates_test.go    ten equal lines in two places
//	dispatch_test.go      one table of opcodes, one loop that runs a plan
//	states_test.go        a new state of a model changes no struct of the scheduler
//	hotpath_test.go       no map, no untyped value, no logging while tokens are made
//	imports_test.go       no plug-ins, no hidden switches, no names of weights
//	acceptance_test.go    docs/acceptance.json names tests that exist, and follows their names
//	requirements_test.go  no requirement of the plan contract is forgotten
//
// walk_test.go finds the module's root and its files, module_test.go parses and
// type-checks them. The tests read files in process instead of running the go
// tool, because the test cache tracks files that a test opens, but not those
// that a child process opens.
package lint
