// Package jsontext reads JSON into values that know where they stand.
//
// encoding/json will not do for plans: it takes bytes that are not UTF-8,
// forgets whether a number was written as an integer, and knows no positions of
// values.
//
//	{"nodes": [ 4.0 ]}     a [Value] of kind Object with the item
//	                       Key nodes, kind Array, bytes 10 to 17, with the item
//	                       kind Number, text 4.0
//
// What reading takes is in proportion to the text, however deep or odd.
package jsontext
