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
	list, trims, err := t.alone()
	if err != nil {
		return nil, false, err
	}
	tokens = make([][]byte, len(t.lex.Tokens))
	for id := range tokens {
		tokens[id] = t.written(list, int32(id))
	}
	return tokens, trims, nil
}

// Bytes returns the bytes that one token writes after others. It reports false for special
// tokens, for ids without a token, and if what tokens write depends on their neighbours.
func (t *Tokenizer) Bytes(id int32) ([]byte, bool) {
	list, _, err := t.alone()
	if err != nil || id < 0 || int(id) >= len(t.lex.Tokens) {
		return nil, false
	}
	b := t.written(list, id)
	return b, b != nil
}

func (t *Tokenizer) written(list decoders, id int32) []byte {
	s, ok := t.lex.Token(id)
	if !ok || s == "" || t.special[id] {
		return nil
	}
	return writtenBy(list, s)
}

// alone returns the decoders if they decode each token alone, and whether a space at the
// very start of a text is left out.
func (t *Tokenizer) alone() (list decoders, trims bool, err error) {
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
	return list, trims, nil
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
