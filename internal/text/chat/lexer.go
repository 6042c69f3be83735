package chat

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pos is a place in the source, from 1; columns count code points.
type Pos struct{ Line, Col int32 }

type tokenKind string

// Operators are tokens whose kind is their text.
const (
	tokData     tokenKind = "template data"
	tokVarBegin tokenKind = "begin of print statement"
	tokVarEnd   tokenKind = "end of print statement"
	tokTagBegin tokenKind = "begin of statement block"
	tokTagEnd   tokenKind = "end of statement block"
	tokName     tokenKind = "name"
	tokString   tokenKind = "string"
	tokNumber   tokenKind = "number"
	tokEOF      tokenKind = "end of template"
)

type token struct {
	kind tokenKind
	text string // name, data, string value, or the number's digits
	val  Value  // of a number
	pos  Pos
}

func (t token) describe() string {
	switch t.kind {
	case tokName, tokNumber:
		return t.text
	}
	return string(t.kind)
}

// A lexer turns source into tokens on demand. It follows jinja2.lexer with
// trim_blocks and lstrip_blocks on.
type lexer struct {
	name string
	src  string // newlines are \n, one final newline is removed
	off  int

	markOff int // where the position is mark
	mark    Pos

	end          tokenKind // tokVarEnd or tokTagEnd inside a tag
	balance      []byte    // closing brackets that must come first
	lineStarting bool      // the last match ended a line
	pending      []token
}

var (
	spaceClass = `[\s\v\x1c-\x1f\x{85}\p{Z}]`
	rawBegin   = regexp.MustCompile(`^\{%([-+]?)` + spaceClass + `*raw` + spaceClass + `*(?:-%\}` + spaceClass + `*|%\})`)
	rawEnd     = regexp.MustCompile(`\{%([-+]?)` + spaceClass + `*endraw` + spaceClass + `*(?:\+%\}|-%\}` + spaceClass + `*|%\}\n?)`)
	floatRE    = regexp.MustCompile(`^(?:[0-9]+_)*[0-9]+(?:(?:\.(?:[0-9]+_)*[0-9]+)?[eE][+-]?(?:[0-9]+_)*[0-9]+|\.(?:[0-9]+_)*[0-9]+)`)
	integerRE  = regexp.MustCompile(`^(?:0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[0-9a-fA-F])+|[1-9](?:_?[0-9])*|0(?:_?0)*)`)
)

func newLexer(name, source string) *lexer {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.ReplaceAll(source, "\r", "\n")
	return &lexer{name: name, src: strings.TrimSuffix(source, "\n"), mark: Pos{1, 1}, lineStarting: true}
}

// at returns the position of an offset. It counts from the last call's offset,
// or from the start if the offset precedes that.
func (l *lexer) at(off int) Pos {
	if off < l.markOff {
		l.markOff, l.mark = 0, Pos{1, 1}
	}
	seg := l.src[l.markOff:off]
	if n := strings.Count(seg, "\n"); n > 0 {
		l.mark.Line += int32(n)
		l.mark.Col = 1
		seg = seg[strings.LastIndexByte(seg, '\n')+1:]
	}
	l.mark.Col += int32(utf8.RuneCountInString(seg))
	l.markOff = off
	return l.mark
}

func (l *lexer) errorf(off int, construct, format string, args ...any) error {
	p := l.at(off)
	return &SyntaxError{Name: l.name, Line: int(p.Line), Col: int(p.Col), Construct: construct, Msg: fmt.Sprintf(format, args...)}
}

// next returns the next token, at the end of the source always tokEOF.
func (l *lexer) next() (token, error) {
	for {
		if len(l.pending) > 0 {
			t := l.pending[0]
			l.pending = l.pending[1:]
			return t, nil
		}
		if l.off >= len(l.src) {
			return token{kind: tokEOF, pos: l.at(len(l.src))}, nil
		}
		if l.end != "" {
			t, ok, err := l.inTag()
			if ok || err != nil {
				return t, err
			}
		} else if err := l.root(); err != nil {
			return token{}, err
		}
	}
}

func (l *lexer) emit(t token) { l.pending = append(l.pending, t) }

func (l *lexer) data(off int, s string) {
	if s != "" {
		l.emit(token{kind: tokData, text: s, pos: l.at(off)})
	}
}

// strip applies "-", "+" or lstrip_blocks to the text before a tag.
func (l *lexer) strip(s string, sign byte, variable bool) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(s, isSpace)
	case sign == '+' || variable:
		return s
	}
	cut := strings.LastIndexByte(s, '\n') + 1
	if (cut > 0 || l.lineStarting) && strings.TrimLeftFunc(s[cut:], isSpace) == "" {
		return s[:cut]
	}
	return s
}

// root reads text up to the next tag and what opens the tag.
func (l *lexer) root() error {
	start, rest := l.off, l.src[l.off:]
	i := 0
	for {
		j := strings.IndexByte(rest[i:], '{')
		if j < 0 || i+j+1 >= len(rest) {
			l.data(start, rest)
			l.off = len(l.src)
			return nil
		}
		i += j
		if c := rest[i+1]; c == '{' || c == '%' || c == '#' {
			break
		}
		i++
	}
	open := rest[i+1]
	if open == '%' {
		if m := rawBegin.FindStringSubmatch(rest[i:]); m != nil {
			return l.raw(start, i, m)
		}
	}
	var sign byte
	if i+2 < len(rest) && (rest[i+2] == '-' || rest[i+2] == '+') {
		sign = rest[i+2]
	}
	l.data(start, l.strip(rest[:i], sign, open == '{'))
	l.off = start + i + 2
	if sign != 0 {
		l.off++
	}
	l.lineStarting = false
	switch open {
	case '{':
		l.end = tokVarEnd
		l.emit(token{kind: tokVarBegin, pos: l.at(start + i)})
	case '%':
		l.end = tokTagEnd
		l.emit(token{kind: tokTagBegin, pos: l.at(start + i)})
	default:
		j := strings.Index(l.src[l.off:], "#}")
		if j < 0 {
			if l.off == len(l.src) { // as in Jinja: nothing is missed
				return nil
			}
			return l.errorf(start+i, "comment", "missing end of comment tag")
		}
		var c byte
		if j > 0 {
			c = l.src[l.off+j-1]
		}
		l.close(l.off+j+2, c)
	}
	return nil
}

// close moves behind the end of a tag at off: "-" eats white space, "+" nothing,
// else one newline goes (trim_blocks).
func (l *lexer) close(off int, sign byte) {
	rest := l.src[off:]
	switch {
	case sign == '-':
		off = len(l.src) - len(strings.TrimLeftFunc(rest, isSpace))
	case sign != '+' && strings.HasPrefix(rest, "\n"):
		off++
	}
	l.off = off
	l.lineStarting = l.src[off-1] == '\n'
}

func sign(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

func (l *lexer) raw(start, i int, m []string) error {
	l.data(start, l.strip(l.src[start:start+i], sign(m[1]), false))
	l.off = start + i + len(m[0])
	l.lineStarting = l.src[l.off-1] == '\n'
	body := l.src[l.off:]
	e := rawEnd.FindStringSubmatchIndex(body)
	if e == nil {
		if body == "" { // as in Jinja: nothing is missed
			return nil
		}
		return l.errorf(start+i, "raw", "missing end of raw directive")
	}
	l.data(l.off, l.strip(body[:e[0]], sign(body[e[2]:e[3]]), false))
	l.off += e[1]
	l.lineStarting = l.src[l.off-1] == '\n'
	return nil
}

// inTag reads one token inside {{ }} or {% %}; ok is false for white space.
func (l *lexer) inTag() (t token, ok bool, err error) {
	rest, off := l.src[l.off:], l.off
	if len(l.balance) == 0 {
		if t, ok := l.tagEnd(rest); ok {
			return t, true, nil
		}
	}
	if n := len(rest) - len(strings.TrimLeftFunc(rest, isSpace)); n > 0 {
		l.off += n
		return t, false, nil
	}
	c := rest[0]
	switch {
	case c >= '0' && c <= '9':
		t, err = l.number(rest)
		return t, true, err
	case c == '\'' || c == '"':
		t, err = l.str(rest)
		return t, true, err
	}
	if n := nameLen(rest); n > 0 {
		l.off += n
		name := rest[:n]
		if r, _ := utf8.DecodeRuneInString(name); r != '_' && !unicode.IsLetter(r) && !unicode.Is(unicode.Nl, r) {
			return t, false, l.errorf(off, name, "invalid character in identifier %q", name)
		}
		return token{kind: tokName, text: name, pos: l.at(off)}, true, nil
	}
	op := rest[:1]
	if len(rest) > 1 {
		switch rest[:2] {
		case "//", "**", "==", "!=", ">=", "<=":
			op = rest[:2]
		}
	}
	if len(op) == 1 && !strings.Contains("+-/*%~[](){}<>=.:|,;", op) {
		r, _ := utf8.DecodeRuneInString(rest)
		return t, false, l.errorf(off, string(r), "unexpected character %q", r)
	}
	switch op {
	case "(":
		l.balance = append(l.balance, ')')
	case "[":
		l.balance = append(l.balance, ']')
	case "{":
		l.balance = append(l.balance, '}')
	case ")", "]", "}":
		n := len(l.balance)
		if n == 0 {
			return t, false, l.errorf(off, op, "unexpected %q", op)
		}
		if want := l.balance[n-1]; want != op[0] {
			return t, false, l.errorf(off, op, "unexpected %q, expected %q", op, string(want))
		}
		l.balance = l.balance[:n-1]
	}
	l.off += len(op)
	return token{kind: tokenKind(op), pos: l.at(off)}, true, nil
}

func (l *lexer) tagEnd(rest string) (token, bool) {
	closing, s := "}}", byte(0)
	if l.end == tokTagEnd {
		closing = "%}"
	}
	if rest[0] == '-' || rest[0] == '+' && l.end == tokTagEnd {
		s = rest[0]
		rest = rest[1:]
	}
	if !strings.HasPrefix(rest, closing) {
		return token{}, false
	}
	t := token{kind: l.end, pos: l.at(l.off)}
	off := len(l.src) - len(rest) + 2
	if l.end == tokVarEnd && s == 0 {
		s = '+' // a newline after }} stays
	}
	l.end = ""
	l.close(off, s)
	return t, true
}

func (l *lexer) number(rest string) (token, error) {
	t := token{kind: tokNumber, pos: l.at(l.off)}
	if l.src[l.off-1] != '.' {
		if s := floatRE.FindString(rest); s != "" {
			l.off += len(s)
			f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
			if err != nil && !strings.Contains(err.Error(), "range") {
				return t, l.errorf(l.off-len(s), s, "bad number %q", s)
			}
			t.text, t.val = s, f
			return t, nil
		}
	}
	s := integerRE.FindString(rest)
	off := l.off
	l.off += len(s)
	if len(s) > maxDigits {
		return t, l.errorf(off, "number", "number of %d digits, at most %d", len(s), maxDigits)
	}
	b, ok := new(big.Int).SetString(strings.ReplaceAll(s, "_", ""), 0)
	if !ok {
		return t, l.errorf(off, s, "bad number %q", s)
	}
	v, err := fromBig(b)
	if err != nil {
		return t, l.errorf(off, "number", "%v", err)
	}
	t.text, t.val = s, v
	return t, nil
}

func (l *lexer) str(rest string) (token, error) {
	off := l.off
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			s, msg := unescape(rest[1:i])
			if msg != "" {
				return token{}, l.errorf(off, "string", "%s", msg)
			}
			l.off += i + 1
			return token{kind: tokString, text: s, pos: l.at(off)}, nil
		}
	}
	return token{}, l.errorf(off, rest[:1], "string without an end")
}

var simpleEscapes = map[byte]string{'\n': "", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

// unescape decodes the escapes of a Python string; msg describes an invalid
// one.
func unescape(s string) (out, msg string) {
	if !strings.Contains(s, `\`) {
		return s, ""
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		i++ // the lexer made sure that something follows
		c := s[i]
		if e, ok := simpleEscapes[c]; ok {
			b.WriteString(e)
			i++
			continue
		}
		digits, base := 0, 16
		switch {
		case c == 'x':
			digits = 2
		case c == 'u':
			digits = 4
		case c == 'U':
			digits = 8
		case c == 'N':
			return "", `\N{…} escapes are not supported`
		case c >= '0' && c <= '7':
			base = 8
			for digits < 3 && i+digits < len(s) && s[i+digits] >= '0' && s[i+digits] <= '7' {
				digits++
			}
			i--
		case c >= utf8.RuneSelf: // Python escapes the character first and then sees \\x, \\u or \\U
			r, n := utf8.DecodeRuneInString(s[i:])
			b.WriteString(escape(r))
			i += n
			continue
		default:
			b.WriteByte('\\')
			continue
		}
		i++
		if i+digits > len(s) {
			return "", fmt.Sprintf(`truncated \%c escape`, c)
		}
		v, err := strconv.ParseUint(s[i:i+digits], base, 32)
		if err != nil {
			return "", fmt.Sprintf(`truncated \%c escape`, c)
		}
		if v > unicode.MaxRune {
			return "", "illegal Unicode character"
		}
		b.WriteRune(rune(v))
		i += digits
	}
	return b.String(), ""
}
