package school

import (
	"fmt"
	"math"
	"strings"

	"atenia/quila/internal/weights"
)

// Seeds and lengths of the two parts that models are compared on.
const (
	trainSeed       = 1
	trainChars      = 1_200_000
	validationSeed  = 2
	validationChars = 60_000
)

// A ToyKind is one of the four forms of a line.
type ToyKind uint8

// The kinds, in the order of the generator's first choice.
const (
	ToySum ToyKind = iota
	Sentence
	Recall
	Reversal

	KindCount
)

func (k ToyKind) String() string {
	return [...]string{"sum", "sentence", "recall", "reversal"}[k]
}

var (
	adjectives = strings.Fields("red big old sad wet hot shy tan")
	nouns      = strings.Fields("cat dog fox owl pig hen bee ant")
	verbs      = strings.Fields("sees likes hears finds")
)

const (
	keys     = "abcdefgh"
	letters  = "abcdefghijklmnopqrst"
	addends  = 50
	recalled = 3
	reversed = 4
)

// information is the entropy of a line of each kind, in bits. All kinds have the
// two bits of the choice between them.
var information = [KindCount]float64{
	ToySum:   2 + 2*math.Log2(addends),
	Sentence: 2 + 3 + 3 + 2 + 3,
	Recall:   2 + math.Log2(8*7*6*1000*recalled),
	Reversal: 2 + reversed*math.Log2(float64(len(letters))),
}

// A ToyCorpus is a text with its entropy.
type ToyCorpus struct {
	Text    []byte
	Lines   int
	Entropy float64 // bits a character
}

// MakeToy makes whole lines until there are at least that many characters.
func MakeToy(seed uint64, chars int) ToyCorpus {
	const longest = 32
	c := ToyCorpus{Text: make([]byte, 0, chars+longest)}
	var bits float64
	for len(c.Text) < chars {
		var k ToyKind
		c.Text, k = appendLine(c.Text, seed, uint64(c.Lines))
		bits += information[k]
		c.Lines++
	}
	if len(c.Text) > 0 {
		c.Entropy = bits / float64(len(c.Text))
	}
	return c
}

// ToyTrain is the text to learn from.
func ToyTrain() ToyCorpus { return MakeToy(trainSeed, trainChars) }

// ToyValidation is the text to judge by.
func ToyValidation() ToyCorpus { return MakeToy(validationSeed, validationChars) }

// appendLine adds line i of a seed.
func appendLine(b []byte, seed, i uint64) ([]byte, ToyKind) {
	w := weights.Stream{Seed: seed, Tick: i, Site: weights.Corpus}.Words(8)
	kind := ToyKind(weights.Choice(w[0], int(KindCount)))
	switch kind {
	case ToySum:
		x, y := weights.Choice(w[1], addends), weights.Choice(w[2], addends)
		b = fmt.Appendf(b, "%d+%d=%d", x, y, x+y)
	case Sentence:
		b = fmt.Appendf(b, "the %s %s %s the %s.", adjectives[weights.Choice(w[1], len(adjectives))], nouns[weights.Choice(w[2], len(nouns))],
			verbs[weights.Choice(w[3], len(verbs))], nouns[weights.Choice(w[4], len(nouns))])
	case Recall:
		b = recall(b, w)
	case Reversal:
		b = append(b, '>')
		from := len(b)
		for j := range reversed {
			b = append(b, letters[weights.Choice(w[1+j], len(letters))])
		}
		b = append(b, '|')
		for j := range reversed {
			b = append(b, b[from+reversed-1-j])
		}
	}
	return append(b, '\n'), kind
}

// recall adds keys without repetition, each drawn from the ordered rest, with a
// digit each, and asks for one of them.
func recall(b []byte, w []uint32) []byte {
	left := []byte(keys)
	b = append(b, '#')
	from := len(b)
	for j := range recalled {
		k := weights.Choice(w[1+j], len(left))
		b = append(b, left[k], byte('0'+weights.Choice(w[1+recalled+j], 10)))
		left = append(left[:k], left[k+1:]...)
	}
	q := from + 2*weights.Choice(w[1+2*recalled], recalled)
	return append(b, '?', b[q], b[q+1])
}

// toyKinds tells for every character which kind of line it belongs to, the newline
// included. A text may begin in the middle of a line; that piece counts as the
// kind that its first character looks like.
func toyKinds(text []byte) []ToyKind {
	out := make([]ToyKind, len(text))
	kind, first := ToySum, true
	for i, c := range text {
		if first {
			switch c {
			case 't':
				kind = Sentence
			case '#':
				kind = Recall
			case '>':
				kind = Reversal
			default:
				kind = ToySum
			}
		}
		out[i] = kind
		first = c == '\n'
	}
	return out
}
