// Package subword splits words into tokens of a vocabulary.
//
// A [Model] takes one word, a [segment.Piece], and appends its tokens to a
// [Scratch]. All models use a [Lexicon], which maps tokens to ids.
//
//	model       file          how a word is split
//	BPE         bpe.go        neighbours merge in the order of a list
//	SPM         spm.go        neighbours merge by the score of the result
//	Unigram     unigram.go    the split with the highest sum of scores
//	WordPiece   wordpiece.go  the longest token first
//
// Every model takes at most O(n log n) time for a word of n bytes, because a
// word may be a whole text.
package subword
