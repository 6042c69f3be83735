// Package data makes batches of tokens from texts and conversations.
//
//	files ─ corpus.Read ─▶ documents ─ tokenizer, chat template ─▶ Set ─▶ Source ─ Next ─▶ Batch
//
//	Tokens  a b c d │ e f g │ …     rows follow each other: Lens 4, 3, …
//	Labels  b c d ∅ │ f g ∅ │ …     what each position is to predict
//
// [Open] tokenizes every document once and keeps the tokens in memory up to a
// limit, beyond it in a file. Tokens without loss (the questions of a
// conversation, as opposed to its answers) are marked. A [Source] then only
// copies:
//
//	document            one text, one conversation, one whole file of plain text
//	row                 at most [Config].Row tokens of one document
//	epoch               all rows once, in an order of its own
//	place in an epoch   a number; the n-th row is computed, not looked up
//
// The order is a permutation that is computed by a function (shuffle.go), as are
// the cuts of long documents, which differ between epochs: nothing is shuffled
// in memory, and to resume at a position is to set a number. Batches depend only
// on files, tokenizer, configuration and position.
//
// An encoder learns from examples instead (pairs.go): a query with a text that answers
// it and texts that do not, or texts with a label. Rows are texts then:
//
//	Lens     3 4 4 2 5 …     q₀ its answer, others, q₁ its answer, …
//	Answers  1 ∅ ∅ 4 ∅ …     the row that answers each, or
//	Targets  1 0 1 …         what a classifier should say of each
//
// A batch holds as many whole rows as fit: attention is separate for each row,
// and nothing is padded, because a batch is not a rectangle.
//
// # Senses
//
// [Senses] show images and sounds to a model in training, through its frozen
// encoders.
//
//	files ─ Show, Hear ─▶ Media of a document ─ Fill ─▶ rows in a tape.Batch
//
// When data is read, images are only measured: their size says how many places of a
// text they take. Their rows are made when a batch has them, and the last ones are
// kept, so that memory does not grow with the data. Encoders are not trained: rows
// are the same in every epoch, bit for bit, with any number of threads.
//
// [openEncoder] says of a model that is an encoder of texts itself what it learns from.
package data
