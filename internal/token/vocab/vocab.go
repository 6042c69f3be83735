package vocab

// What is asked for and what comes out.

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"atenia/internal/token/segment"
)

// A Pattern names the expression that splits text into words: no token crosses
// the border of two.
type Pattern string

// The patterns.
const (
	Llama3 Pattern = "llama3" // numbers of up to three digits, line ends by themselves
	GPT2   Pattern = "gpt2"
)

// expressions are what the file says for each pattern.
var expressions = map[Pattern]string{Llama3: segment.ReLlama3, GPT2: segment.ReGPT2}

// Unknown is the token for characters that a vocabulary of characters lacks.
const Unknown = "<unk>"

// A Config says which vocabulary is wanted. Its zero value is 4,096 tokens,
// split as Llama 3 does, without special tokens.
type Config struct {
	Size     int      // tokens, all kinds together; 0 = 4096
	Pattern  Pattern  // "" = Llama3
	Special  []string // in the order of their ids, from 0
	BOS      string   // the special token that begins every text; "" for none
	MinCount int64    // a pair that is seen less often is not merged; 0 = 2
	MaxBytes int64    // of distinct words; 0 = 256 MiB. Beyond, the rarest words do not count
	// Characters makes a token of every character in place of byte pairs.
	// Size then is an upper bound: the most frequent characters stay.
	Characters bool
}

// ErrConfig is what every fault of a [Config] matches.
var ErrConfig = errors.New("vocabulary")

// Largest is the largest vocabulary that can be asked for.
const Largest = 1 << 24

// defaulted fills in what was left out and returns all faults in one error.
func (c Config) defaulted() (Config, error) {
	if c.Size == 0 {
		c.Size = 4096
	}
	if c.Pattern == "" {
		c.Pattern = Llama3
	}
	if c.MinCount == 0 {
		c.MinCount = 2
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = 256 << 20
	}
	c.Special = slices.Clone(c.Special)
	if c.Characters && !slices.Contains(c.Special, Unknown) {
		c.Special = append(c.Special, Unknown)
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	least := 256 + len(c.Special)
	if c.Characters {
		least = len(c.Special)
	}
	if c.Size < least || c.Size > Largest {
		fault("a size of %d, want %d (special tokens and bytes) to %d", c.Size, least, Largest)
	}
	if _, ok := expressions[c.Pattern]; !ok {
		fault("no pattern %q, want %q or %q", c.Pattern, Llama3, GPT2)
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

// isByteChar reports whether a character stands for a byte.
func isByteChar(r rune) bool { return slices.Contains(segment.ByteChar[:], r) }

// A Vocabulary is what [Train] learned.
type Vocabulary struct {
	Tokens []string // by id, in the file's form: a character for every byte
	Merges [][2]int32

	Bytes  int64 // of the text, without special tokens and forgotten words
	Length int64 // tokens that this text takes

	cfg Config
}

// Texts are what a vocabulary is learned from. Each is a whole: words do not
// go on from one to the next.
type Texts = iter.Seq2[string, error]

// Train learns a vocabulary. Errors of texts are returned as they are, faults
// of the configuration match [ErrConfig].
func Train(cfg Config, texts Texts) (*Vocabulary, error) {
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

// parts calls yield for what lies between special tokens of a text.
func (c *Config) parts(text string, yield func(string)) {
	next := make([]int, len(c.Special)) // where each token is found next
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
