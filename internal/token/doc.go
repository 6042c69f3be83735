// Package token maps text to the ids a model was trained on, and back.
//
// A [Tokenizer] is read from a Hugging Face tokenizer.json by [Load] or made
// from a GGUF file's vocabulary by [FromVocab]; [Tokenizer.ToGGUF] goes the
// other way. It is a pipeline, and every stage does exactly what the component
// of that name in the file does, since one different id is a different prompt:
//
//	text ─▶ added tokens ─▶ normalizer ─▶ added tokens ─▶ pre-tokenizers ─▶ model ─▶ post-processor ─▶ ids
//	        of the original  NFC, BERT …   of the result   words             BPE …    [CLS] … [SEP]
//
//	stage             file                    kinds
//	added tokens      added.go                single_word, lstrip, rstrip, normalized, special
//	normalizers       segment/normalize.go    NFC NFD NFKC NFKD Lowercase Prepend Replace Strip StripAccents
//	                                          Nmt BertNormalizer ByteLevel Sequence
//	                  segment/charsmap.go     Precompiled
//	pre-tokenizers    segment/pretokenize.go  ByteLevel Split Metaspace Digits Punctuation BertPreTokenizer
//	                                          Whitespace WhitespaceSplit CharDelimiterSplit Sequence
//	models            subword/bpe.go          BPE: byte-level, byte fallback, end-of-word suffix
//	                  subword/unigram.go      Unigram
//	                  subword/wordpiece.go    WordPiece
//	                  subword/spm.go          SentencePiece BPE by score (GGUF only)
//	post-processors   postprocess.go          TemplateProcessing BertProcessing RobertaProcessing ByteLevel Sequence
//	decoders          decode.go               ByteLevel ByteFallback Fuse Replace Strip Metaspace WordPiece
//	                                          BPEDecoder Sequence
//
// Whatever is not in this table is refused with an [*UnknownError] that names
// it. That holds for split patterns too: each known regular expression has a
// scanner, found by its exact text (segment/pattern.go), and no other is run.
//
// Generated text is decoded by a [Stream], one id at a time, without ever
// emitting half a character.
//
// Reference: the Rust library huggingface/tokenizers 0.22. Character tables
// are its own (see segment/unicode.go), not those of the standard library.
package token
