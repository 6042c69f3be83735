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
//	stage             file            kinds
//	added tokens      added.go        single_word, lstrip, rstrip, normalized, special
//	normalizers       normalize.go    NFC NFD NFKC NFKD Lowercase Prepend Replace Strip StripAccents
//	                                  Nmt BertNormalizer ByteLevel Sequence
//	                  charsmap.go     Precompiled
//	pre-tokenizers    pretokenize.go  ByteLevel Split Metaspace Digits Punctuation BertPreTokenizer
//	                                  Whitespace WhitespaceSplit CharDelimiterSplit Sequence
//	models            bpe.go          BPE: byte-level, byte fallback, end-of-word suffix
//	                  unigram.go      Unigram
//	                  wordpiece.go    WordPiece
//	                  spm.go          SentencePiece BPE by score (GGUF, .model)
//	                  greedy.go       the longest token first (RWKV)
//	post-processors   postprocess.go  TemplateProcessing BertProcessing RobertaProcessing ByteLevel Sequence
//	decoders          decode.go       ByteLevel ByteFallback Fuse Replace Strip Metaspace WordPiece
//	                                  BPEDecoder Sequence
//
// Components not in this table are rejected with an [*UnknownError] that names
// them. Split patterns are regular expressions in the syntax of Oniguruma: the
// common ones have scanners, found by their exact text (pattern.go), and an
// engine runs the others (regex.go), except those with back references and the
// like, which are rejected with a [*RegexError].
//
// A [Stream] decodes generated text one id at a time and never emits an
// incomplete character.
//
// Reference: the Rust library huggingface/tokenizers 0.22. Character tables are
// those of the library (see unicode.go), not of Go's standard library.
//
// # Words
//
// A [Normalizer] rewrites a [Piece] of text, a [PreTokenizer] splits it into
// smaller ones. If offsets are requested, a piece records for every byte where
// in the original it came from, through any number of rewrites:
//
//	"Its ﬁne" ── NFKC ──▶ "Its fine" ── Split ──▶ "Its"  " fine"
//	                                    from       0–3     3–7    (code points)
//
// Character classes follow Unicode 16 and older, as in the reference library
// (unicode.go).
//
// # Models
//
// A [Model] splits one word, a [Piece], and appends its tokens to a [Scratch].
// All models use a [Lexicon], which maps tokens to ids.
//
//	BPE         neighbours merge in the order of a list
//	SPM         neighbours merge by the score of the result
//	Unigram     the split with the highest sum of scores
//	WordPiece   the longest token first
//
// Every model takes at most O(n log n) time for a word of n bytes, because a
// word may be a whole text.
package token
