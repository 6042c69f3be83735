// Mutate plants one error at a time in Go packages and runs their tests: an error that no
// test finds is a survivor.
//
//	go run -C tools ./mutate -sample 100 -seed 1 ./nested/rule
//	go run -C tools ./mutate -with ./nested -excused mutate/survivors.tsv ./nested/rule ./grad
//
// Errors are those of a slip in arithmetic or in a loop: an operator for its opposite, a
// comparison that is off by one, a condition turned round, a statement left out, a number one
// too large, a sign lost. The files of the repository are not touched: go test reads the
// changed file by its flag -overlay. An error that does not compile is not counted.
//
// Survivors that change nothing, or only time and memory, have a line with the reason in the
// file of -excused: file, function, change, which of that change in the function, reason,
// separated by tabs. The exit code is 1 if fewer than -least of the errors that are not
// excused were found, or a test fails without any.
package main
