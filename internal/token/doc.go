// Package token maps text to the ids a model was trained on, and back.
//
// A [Tokenizer] is read from a Hugging Face tokenizer.json by [Load] or from a
// GGUF file's vocabulary by [FromVocab]; [Tokenizer.ToGGUF] is the inverse. It
// is a pipeline whose stages behave exactly like the components of the same
// names in the file, because a single different id is a different prompt:
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
// Components not in this table are rejected with an [*UnknownError] that names
// them. That includes split patterns: each known regular expression has a
// scanner, found by its exact text (segment/pattern.go), and no other expression
// is supported.
//
// A [Stream] decodes generated text one id at a time and never emits an
// incomplete character.
//
// Reference: the Rust library huggingface/tokenizers 0.22. Character tables are
// those of the library (see segment/unicode.go), not of Go's standard library.
package token
