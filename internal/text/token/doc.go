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
// like, which are rejected with a [*regexError].
//
// A [Stream] decodes generated text one id at a time and never emits an
// incomplete character.
//
// Reference: the Rust library huggingface/tokenizers 0.22. Character tables are
// those of the library (see unicode.go), not of Go's standard library.
//
// # Words
//
// A [normalizer] rewrites a [Piece] of text, a [preTokenizer] splits it into
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
// A [tokenModel] splits one word, a [Piece], and appends its tokens to a [Scratch].
// All models use a [lexicon], which maps tokens to ids.
//
//	BPE         neighbours merge in the order of a list
//	SPM         neighbours merge by the score of the result
//	Unigram     the split with the highest sum of scores
//	WordPiece   the longest token first
//
// Every model takes at most O(n log n) time for a word of n bytes, because a
// word may be a whole text.
//
// # Corpora
//
// [ReadCorpus] reads text for training models and vocabularies.
//
//	file             a document is                                  [Document]
//	*.jsonl          a line {"text": "…"}                           Text
//	                 a line {"messages": [{"role": …}, …]}          Messages, Tools
//	                 a line {"audio": "a.wav", "text": "…"}         Text, Audio, Language, Task
//	                 a line {"query": "…", "positive": "…"}         Pair
//	                 a line {"query": …, "document": …, "label": 1} Pair
//	                 a line {"text": "…", "label": 1}               Text, Pair
//	anything else    the whole file, in pieces of a mebibyte        Text, More
//
// Files are read in sequence, a line or a piece at a time, so that they may be
// larger than memory. Errors are [*CorpusError] with file and line.
//
// # Vocabularies
//
// Vocabularies are learned from text.
//
// [TrainVocabulary] learns byte-pair encoding (Sennrich et al., arXiv:1508.07909) over
// bytes, or lists the characters of a text ([VocabularyConfig].Characters), and
// [Vocabulary.JSON] writes it as Hugging Face's tokenizer.json:
//
//	texts ─ special tokens cut out ─ split into words ─▶ distinct words, counted    count.go
//	words ─▶ the most frequent adjacent pair becomes a token, repeatedly            merge.go
//	tokens and merges ─▶ tokenizer.json                                             vocabjson.go
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
// distinct words, which [VocabularyConfig].MaxBytes bounds.
package token
