package token

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Stream decodes ids one at a time. It never retracts emitted text and never
// emits an incomplete character: text that ends in U+FFFD is held back, because
// the next token may complete the character. It must be used by one goroutine.
type Stream struct {
	t    *Tokenizer
	skip bool

	// Byte-level vocabularies: the bytes not yet emitted.
	bytes   bool
	pending []byte

	// Other vocabularies decode a window: the ids emitted last, for context, and
	// the ids since.
	ids    []int32
	prefix string // text of ids[:said]
	said   int
}

// heldTokens bounds the window: after that many tokens without a complete
// character the stream emits anyway.
const heldTokens = 256

// NewStream returns a decoder for the ids of one text.
func (t *Tokenizer) NewStream(skipSpecial bool) *Stream {
	_, bytes := t.decoder.(byteDecoder)
	return &Stream{t: t, skip: skipSpecial, bytes: bytes}
}

// Next adds an id and returns the text that has become certain, often "".
func (s *Stream) Next(id int32) string {
	token, ok := s.t.lex.Token(id)
	if !ok || s.skip && s.t.special[id] {
		return ""
	}
	if s.bytes {
		s.pending = appendBytes(s.pending, token)
		if endsUnsound(s.pending) {
			return ""
		}
		return s.take()
	}
	if s.prefix == "" && len(s.ids) > 0 {
		if text := s.decode(s.ids); !strings.HasSuffix(text, "\uFFFD") {
			s.prefix, s.said = text, len(s.ids)
		}
	}
	s.ids = append(s.ids, id)
	text := s.decode(s.ids)
	held := strings.HasSuffix(text, "\uFFFD") && len(s.ids)-s.said < heldTokens
	if held || len(text) <= len(s.prefix) {
		return ""
	}
	text = s.fresh(text)
	s.ids = slices.Delete(s.ids, 0, s.said)
	s.prefix, s.said = s.decode(s.ids), len(s.ids)
	return text
}

// Flush returns the text still held; the bytes of an incomplete character become
// U+FFFD.
func (s *Stream) Flush() string {
	if s.bytes {
		return s.take()
	}
	if len(s.ids) == s.said {
		return ""
	}
	text := s.fresh(s.decode(s.ids))
	s.ids, s.prefix, s.said = nil, "", 0
	return text
}

func (s *Stream) decode(ids []int32) string { return s.t.Decode(ids, s.skip) }

// fresh returns the part of text not yet emitted. If later bytes made earlier
// ones invalid, text no longer starts with what was emitted; then it returns the
// text of the new tokens alone.
func (s *Stream) fresh(text string) string {
	if rest, ok := strings.CutPrefix(text, s.prefix); ok {
		return rest
	}
	return s.decode(s.ids[s.said:])
}

func (s *Stream) take() string {
	text := toValidUTF8(s.pending)
	s.pending = s.pending[:0]
	return text
}

// endsUnsound reports whether b decodes to text that ends in U+FFFD, by looking
// only at its last bytes.
func endsUnsound(b []byte) bool {
	i := len(b) - 1
	for i > 0 && i > len(b)-utf8.UTFMax && !utf8.RuneStart(b[i]) {
		i--
	}
	if i < 0 {
		return false
	}
	r, n := utf8.DecodeRune(b[i:])
	return r == utf8.RuneError || i+n != len(b)
}
