package toy

import (
	"fmt"
	"math"
	"strings"

	"atenia/quila/internal/random"
)

// Seeds and lengths of the two parts that models are compared on.
const (
	TrainSeed       = 1
	TrainChars      = 1_200_000
	ValidationSeed  = 2
	ValidationChars = 60_000
)

// A Kind is one of the four forms of a line.
type Kind uint8

// The kinds, in the order of the generator's first choice.
const (
	Sum Kind = iota
	Sentence
	Recall
	Reversal

	KindCount
)

func (k Kind) String() string {
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
	Sum:      2 + 2*math.Log2(addends),
	Sentence: 2 + 3 + 3 + 2 + 3,
	Recall:   2 + math.Log2(8*7*6*1000*recalled),
	Reversal: 2 + reversed*math.Log2(float64(len(letters))),
}

// A Corpus is a text with its entropy.
type Corpus struct {
	Text    []byte
	Lines   int
	Entropy float64 // bits a character
}

// Make makes whole lines until there are at least that many characters.
func Make(seed uint64, chars int) Corpus {
	const longest = 32
	c := Corpus{Text: make([]byte, 0, chars+longest)}
	var bits float64
	for len(c.Text) < chars {
		var k Kind
		c.Text, k = appendLine(c.Text, seed, uint64(c.Lines))
		bits += information[k]
		c.Lines++
	}
	if len(c.Text) > 0 {
		c.Entropy = bits / float64(len(c.Text))
	}
	return c
}

// Train is the text to learn from.
func Train() Corpus { return Make(TrainSeed, TrainChars) }

// Validation is the text to judge by.
func Validation() Corpus { return Make(ValidationSeed, ValidationChars) }

// appendLine adds line i of a seed.
func appendLine(b []byte, seed, i uint64) ([]byte, Kind) {
	w := random.Stream{Seed: seed, Tick: i, Site: random.Corpus}.Words(8)
	kind := Kind(random.Choice(w[0], int(KindCount)))
	switch kind {
	case Sum:
		x, y := random.Choice(w[1], addends), random.Choice(w[2], addends)
		b = fmt.Appendf(b, "%d+%d=%d", x, y, x+y)
	case Sentence:
		b = fmt.Appendf(b, "the %s %s %s the %s.", adjectives[random.Choice(w[1], len(adjectives))], nouns[random.Choice(w[2], len(nouns))],
			verbs[random.Choice(w[3], len(verbs))], nouns[random.Choice(w[4], len(nouns))])
	case Recall:
		b = recall(b, w)
	case Reversal:
		b = append(b, '>')
		from := len(b)
		for j := range reversed {
			b = append(b, letters[random.Choice(w[1+j], len(letters))])
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
		k := random.Choice(w[1+j], len(left))
		b = append(b, left[k], byte('0'+random.Choice(w[1+recalled+j], 10)))
		left = append(left[:k], left[k+1:]...)
	}
	q := from + 2*random.Choice(w[1+2*recalled], recalled)
	return append(b, '?', b[q], b[q+1])
}

// Kinds tells for every character which kind of line it belongs to, the newline
// included. A text may begin in the middle of a line; that piece counts as the
// kind that its first character looks like.
func Kinds(text []byte) []Kind {
	out := make([]Kind, len(text))
	kind, first := Sum, true
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
				kind = Sum
			}
		}
		out[i] = kind
		first = c == '\n'
	}
	return out
}
