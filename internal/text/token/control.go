package token

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Control tokens are the added tokens that are special: the marks of turns, the end of a
// text. In a prompt that is made of a conversation only those count that the template
// wrote; in a message they are text.

// Marks returns characters of which each control token has one: as few as do. Tokens of
// letters, digits and white space alone do not count, since their characters are
// everywhere: such a token is found wherever it is written.
func (t *Tokenizer) Marks() string {
	t.signs.Do(func() {
		var left []string
		for i := range t.added {
			if t.added[i].Special {
				left = append(left, t.added[i].Content)
			}
		}
		for {
			counts := map[rune]int{}
			for _, s := range left {
				for i, r := range s {
					if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.White_Space) && r != utf8.RuneError && strings.IndexRune(s, r) == i {
						counts[r]++
					}
				}
			}
			best, most := rune(0), 0
			for r, n := range counts {
				if n > most || n == most && r < best {
					best, most = r, n
				}
			}
			if most == 0 {
				return
			}
			t.marks += string(best)
			left = slices.DeleteFunc(left, func(s string) bool { return strings.ContainsRune(s, best) })
		}
	})
	return t.marks
}

// control decides whether a control token that is written at bytes a to b of p counts.
type control func(p Piece, a, b int, token *AddedToken) bool

// never is the rule for a text without control tokens.
func never(_ Piece, _, _ int, token *AddedToken) bool { return !token.Special }

// unsaid is the rule for a rendered conversation: a control token counts if none of its
// characters is among those that the conversation said, bytes of text in order; nil if
// the text is no conversation.
func unsaid(text string, said []int) control {
	if said == nil {
		return nil
	}
	return func(p Piece, a, b int, token *AddedToken) bool {
		if !token.Special {
			return true
		}
		o := Span{int32(p.start + a), int32(p.start + b)}
		if p.At != nil {
			o = p.origin(a, b)
		}
		i, _ := slices.BinarySearch(said, int(o.A))
		// What a normalizer made a control token of is not one that the template wrote.
		return (i == len(said) || said[i] >= int(o.B)) && strings.Contains(text[o.A:min(int(o.B), len(text))], token.Content)
	}
}

// forged returns places inside the control tokens that the model made of p, such as a
// SentencePiece vocabulary does, which has them among its pieces. What follows an unknown
// character may be one token with it.
func (t *Tokenizer) forged(p Piece, toks []tok) (cuts []int) {
	for _, k := range toks {
		if !t.IsSpecial(k.ID) {
			continue
		}
		s := t.lex.Tokens[k.ID]
		_, n := utf8.DecodeRuneInString(s)
		for at, end := int(k.A), int(k.B); n < len(s); {
			i := strings.Index(p.S[at:end], s)
			if i < 0 {
				break
			}
			at += i + n
			cuts = append(cuts, at)
		}
	}
	return cuts
}
