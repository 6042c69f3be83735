package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordWrap is textwrap.wrap on every line of the text.
func wordWrap(m *Machine, x Value, a []Value) (Value, error) {
	s, ok := text(x)
	if !ok {
		if u, ok := x.(*undefined); ok {
			return nil, u.Err()
		}
		return nil, typeError("'%s' object has no attribute 'splitlines'", typeName(x))
	}
	width, err := intArg("wordwrap", a[0], 79)
	if err != nil {
		return nil, err
	}
	if width <= 0 {
		return nil, valueError("invalid width %d (must be > 0)", width)
	}
	sep := "\n"
	if a[2] != missing && a[2] != nil {
		if sep, ok = text(a[2]); !ok {
			return nil, typeError("wrapstring must be str, not %s", typeName(a[2]))
		}
	}
	w := wrapper{width: width, breakLong: a[1] == missing || truth(a[1]), hyphens: a[3] == missing || truth(a[3])}
	lines, out := texts{m: m}, texts{m: m}
	plain := m.plain(s)
	if err := lines.lines(plain, false); err != nil {
		return nil, err
	}
	// Words are looked at as runes, and lines are copied.
	if err := m.AllocEach(int64(len(s)), 8); err != nil {
		return nil, err
	}
	for _, l := range lines.list {
		wrapped := texts{m: m}
		if err := w.wrap(l, &wrapped); err != nil {
			return nil, err
		}
		if err := out.add(strings.Join(wrapped.list, "\n")); err != nil {
			return nil, err
		}
	}
	joined := strings.Join(out.list, "\n")
	if len(plain) != len(s) {
		joined = m.redye(s, joined, func(r rune) bool { return strings.ContainsRune(asciiSpace, r) || isBreak(r) })
	}
	s, err = replace(m, joined, "\n", sep, -1)
	return s, err
}

type wrapper struct {
	width              int
	breakLong, hyphens bool
}

const asciiSpace = "\t\n\x0b\x0c\r "

// A chunk is a piece of text that is not broken unless it is too long; n is its
// number of code points.
type chunk struct {
	s string
	n int
}

func (c chunk) space() bool { return strings.Trim(c.s, asciiSpace) == "" }

// wrap fills lines of at most width code points, as textwrap.TextWrapper does
// with expand_tabs and replace_whitespace off.
func (w wrapper) wrap(s string, out *texts) error {
	chunks, err := w.chunks(out.m, s)
	if err != nil {
		return err
	}
	for len(chunks) > 0 {
		if chunks[0].space() && len(out.list) > 0 {
			chunks = chunks[1:]
		}
		var line []chunk
		n := 0
		for len(chunks) > 0 && n+chunks[0].n <= w.width {
			line, n = append(line, chunks[0]), n+chunks[0].n
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && chunks[0].n > w.width {
			switch c := &chunks[0]; {
			case w.breakLong:
				head := w.head(*c, w.width-n) // if empty, it keeps the space before it, as in Python
				line = append(line, head)
				c.s, c.n = c.s[len(head.s):], c.n-head.n
			case len(line) == 0:
				line = append(line, *c)
				chunks = chunks[1:]
			}
		}
		if len(line) > 0 && line[len(line)-1].space() {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			var b strings.Builder
			for _, c := range line {
				b.WriteString(c.s)
			}
			if err := out.add(b.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// head returns the longest beginning of a chunk that fits room code points. It
// ends behind a hyphen if there is one.
func (w wrapper) head(c chunk, room int) chunk {
	end := runeOffset(c.s, room)
	if w.hyphens && c.n > room {
		if h := strings.LastIndexByte(c.s[:end], '-'); h > 0 && strings.Trim(c.s[:h], "-") != "" {
			end = h + 1
		}
	}
	return chunk{c.s[:end], utf8.RuneCountInString(c.s[:end])}
}

// chunks splits text into words and white space; words may end behind hyphens.
func (w wrapper) chunks(m *Machine, s string) (out []chunk, err error) {
	add := func(s string) {
		if e := m.Alloc(partBytes); e != nil {
			err = e
			return
		}
		out = append(out, chunk{s, utf8.RuneCountInString(s)})
	}
	for s != "" && err == nil {
		n := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(asciiSpace, r) })
		if n != 0 {
			if n < 0 {
				n = len(s)
			}
			add(s[:n])
			s = s[n:]
			continue
		}
		if n = strings.IndexAny(s, asciiSpace); n < 0 {
			n = len(s)
		}
		if w.hyphens {
			for _, part := range hyphenated(s[:n]) {
				add(part)
			}
		} else {
			add(s[:n])
		}
		s = s[n:]
	}
	return out, err
}

// hyphenated splits a word behind hyphens between letters, and around dashes,
// by the rules of textwrap's wordsep_re.
func hyphenated(word string) []string {
	var out []string
	runes := []rune(word)
	letter := func(i int) bool { return i >= 0 && i < len(runes) && isWord(runes[i]) && !unicode.IsNumber(runes[i]) }
	punct := func(i int) bool {
		return i >= 0 && (isWord(runes[i]) || strings.ContainsRune("!\"'&.,?", runes[i]))
	}
	start := 0
	for i := 0; i < len(runes); i++ {
		if runes[i] != '-' {
			continue
		}
		end := i
		for end < len(runes) && runes[end] == '-' {
			end++
		}
		switch {
		case end-i >= 2 && punct(i-1) && end < len(runes) && isWord(runes[end]): // a dash
			if i > start {
				out = append(out, string(runes[start:i]))
			}
			out = append(out, string(runes[i:end]))
			start = end
		case end-i == 1 && (letter(i-1) && letter(i-2) || letter(i-1) && i-2 >= 0 && runes[i-2] == '-') && letter(i+1) && (letter(i+2) || i+2 < len(runes) && runes[i+2] == '-' && letter(i+3)):
			out = append(out, string(runes[start:end]))
			start = end
		}
		i = end - 1
	}
	if start < len(runes) {
		out = append(out, string(runes[start:]))
	}
	return out
}
