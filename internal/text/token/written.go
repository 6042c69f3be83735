package token

import (
	"errors"
	"strings"
)

// errWritten says that tokens have no text of their own.
var errWritten = errors.New("the text of this tokenizer's tokens depends on their neighbours, so answers cannot follow a grammar")

// Written returns the bytes that each token writes after others, nil for special
// tokens, which are left out of the text. trims says that a space at the very start
// of a text is left out too. It is an error if the text of tokens is not the
// concatenation of these bytes.
func (t *Tokenizer) Written() (tokens [][]byte, trims bool, err error) {
	list, ok := t.decoder.(decoders)
	if !ok {
		list = decoders{t.decoder}
	}
	fused := false
	for _, d := range list {
		switch d := d.(type) {
		case byteDecoder, byteFallback, replaceDecoder:
			if fused {
				return nil, false, errWritten
			}
		case fuse:
			fused = true
		case trimDecoder:
			if !fused || d.content != ' ' || d.start != 1 || d.stop != 0 {
				return nil, false, errWritten
			}
			trims = true
		default:
			return nil, false, errWritten
		}
	}
	tokens = make([][]byte, len(t.lex.Tokens))
	for id := range tokens {
		s, ok := t.lex.Token(int32(id))
		if !ok || s == "" || t.special[id] {
			continue
		}
		tokens[id] = writtenBy(list, s)
	}
	return tokens, trims, nil
}

// writtenBy applies decoders to one token.
func writtenBy(list decoders, s string) []byte {
	for _, d := range list {
		switch d := d.(type) {
		case byteDecoder:
			return appendBytes(nil, s)
		case byteFallback:
			if b, ok := byteToken(s); ok {
				return []byte{b}
			}
		case replaceDecoder:
			s = strings.Join(d.decode([]string{s}), "")
		}
	}
	return []byte(s)
}
