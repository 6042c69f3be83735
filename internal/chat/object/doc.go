// Package object has the values that chat templates compute with: those of
// Python, as far as text shows them.
//
//	value.go    the types          mapping.go  dict, keys that are equal
//	number.go   int and float      letter.go   str, character by character
//	compare.go  == is < in         iterate.go  iterators and generators
//	print.go    str() and repr()   json.go     values from JSON and from Go
//	args.go     calls              budget.go   limits
//
// A [Value] is never changed, but for a [Namespace]. What costs time or memory
// in proportion to a value is a method of a [Machine], which counts it and
// fails with a [RuntimeError] of [KindLimit] when a template wants too much.
package object
