package token

// Decoders turn tokens back into text.

import (
	"strings"
	"unicode/utf8"
)

// A decoder rewrites a list of tokens, whose concatenation is the text.
type decoder interface {
	decode(tokens []string) []string
}

type (
	decoders []decoder // "Sequence"

	// byteDecoder is "ByteLevel".
	byteDecoder struct{}

	// byteFallback is "ByteFallback": runs of tokens like <0xE6> become text.
	byteFallback struct{}

	// fuse is "Fuse".
	fuse struct{}

	// replaceDecoder is "Replace".
	replaceDecoder struct{ replacement }

	// trimDecoder is "Strip": it removes content at the start and the end, up to
	// start and stop times.
	trimDecoder struct {
		content     rune
		start, stop int
	}

	// metaspaceDecoder is "Metaspace".
	metaspaceDecoder struct {
		mark    string
		prepend string
	}

	// pieceDecoder is "WordPiece".
	pieceDecoder struct {
		prefix  string
		cleanup bool
	}

	// suffixDecoder is "BPEDecoder".
	suffixDecoder struct{ suffix string }
)

// Decode returns the text of ids. Ids outside the vocabulary are ignored. With
// skipSpecial, special tokens are left out.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	if _, ok := t.decoder.(byteDecoder); ok {
		var b []byte
		for _, id := range ids {
			if s, ok := t.lex.Token(id); ok && !(skipSpecial && t.special[id]) {
				b = appendBytes(b, s)
			}
		}
		return toValidUTF8(b)
	}
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		if s, ok := t.lex.Token(id); ok && !(skipSpecial && t.special[id]) {
			tokens = append(tokens, s)
		}
	}
	if t.decoder == nil {
		return strings.Join(tokens, " ")
	}
	return strings.Join(t.decoder.decode(tokens), "")
}

// appendBytes appends the bytes that a byte-level token represents, or the token
// itself if it contains a character that represents none.
func appendBytes(b []byte, token string) []byte {
	n := len(b)
	for _, r := range token {
		if r >= rune(len(charByte)) || charByte[r] < 0 {
			return append(b[:n], token...)
		}
		b = append(b, byte(charByte[r]))
	}
	return b
}

func (ds decoders) decode(tokens []string) []string {
	for _, d := range ds {
		tokens = d.decode(tokens)
	}
	return tokens
}

func (byteDecoder) decode(tokens []string) []string {
	var b []byte
	for _, s := range tokens {
		b = appendBytes(b, s)
	}
	return []string{toValidUTF8(b)}
}

// decode turns a run of byte tokens into text if all of it is UTF-8; otherwise
// each byte of the run becomes U+FFFD.
func (byteFallback) decode(tokens []string) []string {
	out := make([]string, 0, len(tokens))
	var run []byte
	flush := func() {
		switch {
		case len(run) == 0:
		case utf8.Valid(run):
			out = append(out, string(run))
		default:
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, s := range tokens {
		if b, ok := byteToken(s); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, s)
	}
	flush()
	return out
}

// byteToken parses tokens like <0xE6>.
func byteToken(s string) (byte, bool) {
	if len(s) != 6 || s[:3] != "<0x" || s[5] != '>' {
		return 0, false
	}
	hi, ok := hexDigit(s[3])
	lo, ok2 := hexDigit(s[4])
	if s[3] == '+' { // the reference's number parser accepts a sign
		hi, ok = 0, true
	}
	return hi<<4 | lo, ok && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func (fuse) decode(tokens []string) []string { return []string{strings.Join(tokens, "")} }

func (d replaceDecoder) decode(tokens []string) []string {
	out := make([]string, len(tokens))
	for i, s := range tokens {
		out[i] = d.Normalize(Piece{S: s}).S
	}
	return out
}

func (d trimDecoder) decode(tokens []string) []string {
	out := make([]string, len(tokens))
	mark := string(d.content)
	for i, s := range tokens {
		for n := 0; n < d.start && strings.HasPrefix(s, mark); n++ {
			s = s[len(mark):]
		}
		for n := 0; n < d.stop && strings.HasSuffix(s, mark); n++ {
			s = s[:len(s)-len(mark)]
		}
		out[i] = s
	}
	return out
}

func (d metaspaceDecoder) decode(tokens []string) []string {
	out := make([]string, len(tokens))
	for i, s := range tokens {
		space := " "
		if i == 0 && d.prepend != "never" {
			space = ""
		}
		out[i] = strings.ReplaceAll(s, d.mark, space)
	}
	return out
}

func (d pieceDecoder) decode(tokens []string) []string {
	out := make([]string, len(tokens))
	for i, s := range tokens {
		if i > 0 {
			if rest, ok := strings.CutPrefix(s, d.prefix); ok {
				s = rest
			} else {
				s = " " + s
			}
		}
		if d.cleanup {
			s = tidy.text(s)
		}
		out[i] = s
	}
	return out
}

// tidy removes the spaces that WordPiece puts before punctuation and English
// contractions. The replacements are applied one after another.
var tidy = rewrites{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
	{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

type rewrites [][2]string

func (rs rewrites) text(s string) string {
	for _, r := range rs {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

func (d suffixDecoder) decode(tokens []string) []string {
	out := make([]string, len(tokens))
	for i, s := range tokens {
		space := " "
		if i == len(tokens)-1 {
			space = ""
		}
		out[i] = strings.ReplaceAll(s, d.suffix, space)
	}
	return out
}
