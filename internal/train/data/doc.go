// Package data makes batches of tokens.
//
//	Tokens  a b c d │ e f g │ …     rows follow each other: Lens 4, 3, …
//	Labels  b c d ∅ │ f g ∅ │ …     what each position is to predict
package data
