// Package vocab learns vocabularies from text, for package token.
//
// [Train] learns byte-pair encoding (Sennrich et al., arXiv:1508.07909) over
// bytes, or lists the characters of a text ([Config].Characters), and
// [Vocabulary.JSON] writes it as Hugging Face's tokenizer.json:
//
//	texts ─ special tokens cut out ─ split into words ─▶ distinct words, counted    count.go
//	words ─▶ the most frequent adjacent pair becomes a token, repeatedly            merge.go
//	tokens and merges ─▶ tokenizer.json                                             json.go
//
//	ids of bytes          0 …               the special tokens, as given
//	                      then 256          the bytes, in the order of the characters that represent them
//	                      then              merged tokens, most frequent first
//	ids of characters     0 …               the special tokens, including the unknown one
//	                      then              the characters, by code point
//
// The same texts give the same file, byte for byte, in any order and division,
// and it equals that of the trainer in the library huggingface/tokenizers 0.22:
// of equally frequent pairs, the one with the smaller ids comes first.
//
// Counts of pairs are updated incrementally, and the heap of candidates is
// corrected lazily, when a candidate reaches the top, so that a merge costs what
// it changes rather than a pass over the text. Memory is proportional to the
// distinct words, which [Config].MaxBytes bounds.
package vocab
