// Package vocab makes vocabularies of text: what package token reads.
//
// [Train] learns byte-pair encoding (Sennrich et al., arXiv:1508.07909) over
// bytes, or lists the characters of a text ([Config].Characters), and
// [Vocabulary.JSON] writes it as Hugging Face's tokenizer.json:
//
//	texts ─ special tokens cut out ─ split into words ─▶ distinct words, counted    count.go
//	words ─▶ the most frequent pair of neighbours becomes a token, again and again  merge.go
//	tokens and merges ─▶ tokenizer.json                                             json.go
//
//	ids of bytes          0 …               the special tokens, as given
//	                      then 256          the bytes, in the order of the characters that stand for them
//	                      then              merged tokens, most frequent first
//	ids of characters     0 …               the special tokens, the unknown one among them
//	                      then              the characters, by code point
//
// The same texts give the same file, byte for byte, in whatever order and
// pieces they come, and it is the file that the trainer of the library
// huggingface/tokenizers 0.22 gives for them: of pairs that are equally
// frequent, the one with the smaller ids goes first.
//
// A pair's count is kept up to date where a merge changes it, and the heap of
// candidates is corrected when one comes to its top, so a merge costs what it
// changes, not a pass over the text. Memory is bounded by the distinct words,
// and those by [Config].MaxBytes.
package vocab
