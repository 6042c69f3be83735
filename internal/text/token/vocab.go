package token

// The configuration and the result of training.

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Pattern names the expression that splits text into words; tokens do not
// cross the boundaries of words.
type Pattern string

// The patterns.
const (
	llama3 Pattern = "llama3" // numbers of up to three digits, line ends separate
	gpt2   Pattern = "gpt2"
)

// expressions maps each pattern to its expression in the file.
var expressions = map[Pattern]string{llama3: reLlama3, gpt2: reGPT2}

// unknownPiece is the token for characters that a vocabulary of characters lacks.
const unknownPiece = "<unk>"

// A VocabularyConfig describes the vocabulary to learn. Its zero value is 4,096 tokens,
// split as in Llama 3, without special tokens.
type VocabularyConfig struct {
	Size     int      // tokens of all kinds; 0 = 4096
	Pattern  Pattern  // "" = Llama3
	Special  []string // in the order of their ids, from 0
	BOS      string   // the special token that starts every text; "" for none
	MinCount int64    // rarer pairs are not merged; 0 = 2
	MaxBytes int64    // of distinct words; 0 = 256 MiB. Above it the rarest words are ignored
	// Characters makes each character a token, instead of byte pairs. Size is then
	// an upper bound: the most frequent characters are kept.
	Characters bool
}

// ErrVocabularyConfig is matched by every fault of a [VocabularyConfig].
var ErrVocabularyConfig = errors.New("vocabulary")

// largestVocabulary is the largest permitted vocabulary.
const largestVocabulary = 1 << 24

// defaulted fills in defaults and returns all faults in one error.
func (c VocabularyConfig) defaulted() (VocabularyConfig, error) {
	if c.Size == 0 {
		c.Size = 4096
	}
	if c.Pattern == "" {
		c.Pattern = llama3
	}
	if c.MinCount == 0 {
		c.MinCount = 2
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 256 << 20
	}
	c.Special = slices.Clone(c.Special)
	if c.Characters && !slices.Contains(c.Special, unknownPiece) {
		c.Special = append(c.Special, unknownPiece)
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrVocabularyConfig}, args...)...))
	}
	least := 256 + len(c.Special)
	if c.Characters {
		least = len(c.Special)
	}
	if c.Size < least || c.Size > largestVocabulary {
		fault("a size of %d, want %d (special tokens and bytes) to %d", c.Size, least, largestVocabulary)
	}
	if _, ok := expressions[c.Pattern]; !ok {
		fault("no pattern %q, want %q or %q", c.Pattern, llama3, gpt2)
	}
	if c.MinCount < 0 || c.MaxBytes < 0 {
		fault("a negative bound")
	}
	for i, s := range c.Special {
		if s == "" || !utf8.ValidString(s) {
			fault("special token %q, want text that is not empty", s)
		}
		if slices.Contains(c.Special[:i], s) {
			fault("special token %q twice", s)
		}
		if r, n := utf8.DecodeRuneInString(s); n == len(s) && (c.Characters || isByteChar(r)) {
			fault("special token %q is also a token of the text: give it more than one character", s)
		}
	}
	if c.BOS != "" && !slices.Contains(c.Special, c.BOS) {
		fault("%q begins a text and is no special token", c.BOS)
	}
	return c, errors.Join(faults...)
}

// isByteChar reports whether a character represents a byte.
func isByteChar(r rune) bool { return slices.Contains(byteChar[:], r) }

// A Vocabulary is the result of [TrainVocabulary].
type Vocabulary struct {
	Tokens []string // by id, in the file's form: each byte as a character
	Merges [][2]int32

	Bytes  int64 // of the text, without special tokens and dropped words
	Length int64 // number of tokens for this text

	cfg VocabularyConfig
}

// TrainTexts is a sequence of texts to learn from. Words do not continue from one
// text to the next.
type TrainTexts = iter.Seq2[string, error]

// TrainVocabulary learns a vocabulary. Errors of texts are returned unwrapped, faults of
// the configuration match [ErrVocabularyConfig].
func TrainVocabulary(cfg VocabularyConfig, texts TrainTexts) (*Vocabulary, error) {
	cfg, err := cfg.defaulted()
	if err != nil {
		return nil, err
	}
	v := &Vocabulary{Tokens: slices.Clone(cfg.Special), cfg: cfg}
	words, err := cfg.count(texts)
	if err != nil {
		return nil, err
	}
	v.Bytes, v.Length = words.total()
	if cfg.Characters {
		v.Tokens = append(v.Tokens, words.mostFrequent(cfg.Size-len(v.Tokens))...)
		return v, nil
	}
	v.merge(words)
	return v, nil
}

// parts calls yield for the parts of a text between special tokens.
func (c *VocabularyConfig) parts(text string, yield func(string)) {
	next := make([]int, len(c.Special)) // position of the next occurrence of each token
	for i := range next {
		next[i] = -1
	}
	for from := 0; from < len(text); {
		at, size := len(text), 0
		for i, s := range c.Special {
			if next[i] < from {
				next[i] = len(text)
				if k := strings.Index(text[from:], s); k >= 0 {
					next[i] = from + k
				}
			}
			if next[i] < at || next[i] == at && at < len(text) && len(s) > size {
				at, size = next[i], len(s)
			}
		}
		if at > from {
			yield(text[from:at])
		}
		from = at + size
	}
}
