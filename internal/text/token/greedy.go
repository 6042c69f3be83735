package token

// The tokenizer of RWKV: at each position the longest token of the vocabulary,
// whatever its text.

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// greedy takes the longest token first. Its lexicon is in the form of bytes as
// characters.
type greedy struct {
	lex  *lexicon
	trie *trie // of bytes
	Unk  int32 // or None: bytes that no token begins with are left out
}

// newGreedy returns the model of the tokens for which use is true.
func newGreedy(lex *lexicon, unk int32, use func(id int32) bool) *greedy {
	var keys []string
	var ids []int32
	for id, s := range lex.Tokens {
		if b, ok := bytesOf(s); ok && lex.Known[id] && use(int32(id)) {
			keys, ids = append(keys, string(b)), append(ids, int32(id))
		}
	}
	return &greedy{lex: lex, trie: newTrie(keys, ids), Unk: unk}
}

// Tokenize implements [tokenModel].
func (m *greedy) Tokenize(p Piece, sc *Scratch) {
	for i := 0; i < len(p.S); {
		end, id := m.trie.Longest(p.S, i, 0)
		if end < 0 {
			end, id = i+1, m.Unk
		}
		if id != none {
			sc.Toks = append(sc.Toks, tok{id, int32(i), int32(end)})
		}
		i = end
	}
}

// fromRWKV reads tokens whose bytes are written as escapes, those with a role as
// text.
func (t *Tokenizer) fromRWKV(v Vocab) error {
	lex := newLexicon(len(v.Tokens))
	plain := func(id int32) bool { return int(id) >= len(v.Types) || v.Types[id] == TypeNormal }
	for id, s := range v.Tokens {
		if plain(int32(id)) {
			b, err := unescape(s)
			if err != nil {
				return &FormatError{Path: fmt.Sprintf("tokenizer.ggml.tokens[%d]", id), Want: `bytes, with escapes like \xe2`, Got: clip(s)}
			}
			s = byteForm(b)
		}
		lex.Add(s, int32(id))
	}
	t.lex = lex
	t.model = newGreedy(lex, v.id("unk"), plain)
	t.decoder = byteDecoder{}
	return nil
}

// unescape reads \t, \n, \r, \xHH and other characters after a backslash.
func unescape(s string) ([]byte, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i++; i == len(s) {
			return nil, strconv.ErrSyntax
		}
		switch c := s[i]; c {
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 'x':
			if i+2 >= len(s) {
				return nil, strconv.ErrSyntax
			}
			b, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return nil, err
			}
			out = append(out, byte(b))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return out, nil
}

// escapeBytes is the inverse of unescape.
func escapeBytes(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		switch {
		case c == '\t':
			s.WriteString(`\t`)
		case c == '\n':
			s.WriteString(`\n`)
		case c == '\r':
			s.WriteString(`\r`)
		case c == '\\' || c == '\'':
			s.Write([]byte{'\\', c})
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&s, `\x%02x`, c)
		default:
			s.WriteByte(c)
		}
	}
	return s.String()
}

// LoadRWKV reads the list of tokens that RWKV publishes (rwkv_vocab_*.txt): on
// each line the id, a string or bytes as Python writes them, and their number of
// bytes. Token 0, which the list leaves out, is <s> if the companion has no name for it. Errors are [*FormatError]; a
// path is the number of a line.
func LoadRWKV(data []byte, c Companion) (*Tokenizer, error) {
	limit := idLimit(bytes.Count(data, []byte("\n")) + 1)
	lex, offset := newLexicon(0), int64(0)
	zero := "<s>"
	for _, a := range c.Added {
		if a.ID == 0 && a.Content != "" {
			zero = a.Content
		}
	}
	lex.Add(zero, 0)
	for i := 1; len(data) > 0; i++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		at := offset
		offset, data = offset+int64(len(line))+1, rest
		if line = bytes.TrimRight(line, "\r"); len(line) == 0 {
			continue
		}
		wrong := func(want string, got any) error {
			return &FormatError{Path: fmt.Sprintf("line %d", i), Offset: at, Want: want, Got: clip(got)}
		}
		first, last := bytes.IndexByte(line, ' '), bytes.LastIndexByte(line, ' ')
		if first < 0 || first == last {
			return nil, wrong("an id, a string and its length", string(line))
		}
		id, err := strconv.Atoi(string(line[:first]))
		if err != nil || id < 1 || id >= limit {
			return nil, wrong(fmt.Sprintf("an id from 1 to %d", limit-1), string(line[:first]))
		}
		b, err := pythonLiteral(string(line[first+1 : last]))
		if err != nil {
			return nil, wrong("a string as Python writes it", string(line[first+1:last]))
		}
		if n, err := strconv.Atoi(string(line[last+1:])); err != nil || n != len(b) || n == 0 || n > maxRankedToken {
			return nil, wrong(fmt.Sprintf("%d bytes, at most %d", len(b), maxRankedToken), string(line[last+1:]))
		}
		text := byteForm(b)
		if _, twice := lex.IDs[text]; twice || id < len(lex.Tokens) && lex.Known[id] {
			return nil, wrong("each token and each id once", id)
		}
		lex.Add(text, int32(id))
	}
	t := &Tokenizer{lex: lex, decoder: byteDecoder{}}
	t.model = newGreedy(lex, none, func(id int32) bool { return id != 0 })
	t.added = []AddedToken{{ID: 0, Content: zero, Special: true}}
	return t, t.accompany(c, limit)
}

// pythonLiteral returns the bytes of a string or bytes literal.
func pythonLiteral(s string) ([]byte, error) {
	s, isBytes := strings.CutPrefix(s, "b")
	if len(s) < 2 || s[0] != '\'' && s[0] != '"' || s[len(s)-1] != s[0] {
		return nil, strconv.ErrSyntax
	}
	quote := s[0]
	s = s[1 : len(s)-1]
	var out []byte
	for len(s) > 0 {
		if s[0] == quote || isBytes && s[0] >= utf8.RuneSelf {
			return nil, strconv.ErrSyntax
		}
		if s[0] != '\\' {
			out, s = append(out, s[0]), s[1:]
			continue
		}
		if len(s) < 2 {
			return nil, strconv.ErrSyntax
		}
		digits := 0
		switch s[1] {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case '\\', '\'', '"':
			out = append(out, s[1])
		default:
			return nil, strconv.ErrSyntax
		}
		if s = s[2:]; digits == 0 {
			continue
		}
		if len(s) < digits || isBytes && digits > 2 {
			return nil, strconv.ErrSyntax
		}
		v, err := strconv.ParseUint(s[:digits], 16, 32)
		if err != nil || v > utf8.MaxRune {
			return nil, strconv.ErrSyntax
		}
		if s = s[digits:]; isBytes {
			out = append(out, byte(v))
		} else {
			out = utf8.AppendRune(out, rune(v))
		}
	}
	return out, nil
}
