// Package subword cuts words into tokens of a vocabulary.
//
// A [Model] takes one word, a [segment.Piece], and appends its tokens to a
// [Scratch]. All models share the [Lexicon], which maps tokens to ids.
//
//	model       file          how a word is cut
//	BPE         bpe.go        neighbours merge in the order of a list
//	SPM         spm.go        neighbours merge by the score of the result
//	Unigram     unigram.go    the cut with the highest sum of scores
//	WordPiece   wordpiece.go  the longest token first
//
// No model takes more than n log n time for a word of n bytes, so that one
// word may be a whole text.
package subword
