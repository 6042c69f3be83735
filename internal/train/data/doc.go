// Package data makes batches of tokens from texts and conversations.
//
//	files ─ corpus.Read ─▶ documents ─ tokenizer, chat template ─▶ Set ─▶ Source ─ Next ─▶ Batch
//
//	Tokens  a b c d │ e f g │ …     rows follow each other: Lens 4, 3, …
//	Labels  b c d ∅ │ f g ∅ │ …     what each position is to predict
//
// [Open] turns every document into tokens once and keeps them, in memory up to
// a bound and beyond it in a file. What is not to be learnt (the questions of a
// conversation, not its answers) is marked there. A [Source] then only copies:
//
//	document            one text, one conversation, one whole file of plain text
//	row                 at most [Config].Row tokens of one document
//	epoch               all rows once, in an order of its own
//	place in an epoch   a number; the n-th row is computed, not looked up
//
// The order is a permutation that is a function (shuffle.go), and so is where a
// long document is cut, which changes from epoch to epoch: nothing is shuffled
// in memory, and to go on at a place is to go to a number. Batches depend on
// files, tokenizer, configuration and place alone.
//
// A batch holds whole rows, as many as fit: attention stays inside each, and
// nothing is padded, for a batch is not a rectangle.
package data
