package token

// Added tokens are found before the model sees the text, some in the original,
// some in the normalized text, each with its own rules about adjacent
// characters.

import (
	"slices"
	"unicode/utf8"
)

// An AddedToken is an entry of added_tokens: a text that is found before the model
// sees it.
type AddedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// A finder finds added tokens: the earliest match wins, the longest among those
// at one position.
type finder struct {
	tokens []AddedToken
	trie   *Trie
}

// newFinder returns a finder of texts[i] as tokens[i]. Of equal texts the first
// wins, special tokens before others.
func newFinder(tokens []AddedToken, texts []string) *finder {
	f := &finder{}
	var keys []string
	var values []int32
	for _, special := range []bool{true, false} {
		for i, t := range tokens {
			if t.Special == special {
				f.tokens, keys = append(f.tokens, t), append(keys, texts[i])
				values = append(values, int32(len(values)))
			}
		}
	}
	slices.Reverse(keys) // a trie keeps the last of equal keys
	slices.Reverse(values)
	f.trie = NewTrie(keys, values)
	return f
}

// split calls token for each added token and text for the pieces between them,
// in order.
func (f *finder) split(p Piece, text func(Piece), token func(Piece, int32)) {
	if len(f.tokens) == 0 {
		text(p)
		return
	}
	s, done := p.S, 0
	for i := 0; i < len(s); {
		if f.trie.Roots[s[i]] < 0 {
			i++
			continue
		}
		end, value := f.trie.Longest(s, i, 0)
		if end < 0 {
			i++
			continue
		}
		t := &f.tokens[value]
		a, b := i, end
		i = end
		if t.SingleWord && (wordBefore(s, a) || wordAfter(s, b)) {
			continue
		}
		if t.LStrip {
			for a > done {
				r, n := utf8.DecodeLastRuneInString(s[:a])
				if !IsSpace(r) {
					break
				}
				a -= n
			}
			a = max(a, done)
		}
		if t.RStrip {
			b = RunOf(s, b, ClassSpace, false)
		}
		if done < a {
			text(p.Slice(done, a))
		}
		token(p.Slice(a, b), t.ID)
		done = b
	}
	if done < len(s) {
		text(p.Slice(done, len(s)))
	}
}

func wordBefore(s string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	return n > 0 && ClassOf(r)&ClassWord != 0
}

func wordAfter(s string, i int) bool {
	r, n := utf8.DecodeRuneInString(s[i:])
	return n > 0 && ClassOf(r)&ClassWord != 0
}
