// Package jsontext parses JSON into values that carry their positions.
//
// encoding/json does not suffice for plans: it accepts invalid UTF-8, does not
// keep whether a number was written as an integer, and does not report
// positions of values.
//
//	{"nodes": [ 4.0 ]}     a [Value] of kind Object with the item
//	                       Key nodes, kind Array, bytes 10 to 17, with the item
//	                       kind Number, text 4.0
//
// Time and memory are linear in the size of the text, also for adversarial
// input.
package jsontext
