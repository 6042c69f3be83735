package token

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Control tokens are the added tokens that are special: the marks of turns, the end of a
// text. In a prompt that is made of a conversation only those count that the template
// wrote; in a message they are text.

// Control returns the contents of the control tokens.
func (t *Tokenizer) Control() (contents []string) {
	for i := range t.added {
		if t.added[i].Special {
			contents = append(contents, t.added[i].Content)
		}
	}
	return contents
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
	if !utf8.ValidString(text) {
		text, said = lossy(text, said)
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

// lossy is [toValidUTF8] for a text of which some bytes are known; it returns where those are then.
func lossy(text string, said []int) (string, []int) {
	var b strings.Builder
	moved, done := said[:0:0], 0
	for _, at := range said {
		b.WriteString(toValidUTF8([]byte(text[done:at])))
		moved, done = append(moved, b.Len()), at
	}
	b.WriteString(toValidUTF8([]byte(text[done:])))
	return b.String(), moved
}
