package chat

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// soft is the value as a string: Markup stays Markup.
func (m *machine) soft(x Value) (Value, error) {
	if _, ok := text(x); ok {
		return x, nil
	}
	s, err := m.str(x)
	return s, err
}

// textual is a filter that applies a method of str to the value's text.
func textual(method string) *filter {
	f := stringMethods[method]
	return &filter{params: f.params, fn: func(m *machine, x Value, a []Value) (Value, error) {
		s, err := m.soft(x)
		if err != nil {
			return nil, err
		}
		return f.fn(m, s, a)
	}}
}

func stringFilter(m *machine, x Value, _ []Value) (Value, error) { return m.soft(x) }

func escapeFilter(m *machine, x Value, _ []Value) (Value, error) {
	s, err := m.escape(x)
	return s, err
}

func forceEscape(m *machine, x Value, _ []Value) (Value, error) {
	s, err := m.str(x)
	if err != nil {
		return nil, err
	}
	e, err := m.escape(s)
	return e, err
}

func safeFilter(m *machine, x Value, _ []Value) (Value, error) {
	s, err := m.str(x)
	return markup(s), err
}

// titleFilter starts words after white space, "-" and opening brackets, unlike
// str.title.
func titleFilter(m *machine, x Value, _ []Value) (Value, error) {
	v, err := m.soft(x)
	if err != nil {
		return nil, err
	}
	s, _ := text(v)
	if err := m.alloc(2 * len(s)); err != nil {
		return nil, err
	}
	border := func(r rune) bool { return isSpace(r) || strings.ContainsRune("-({[<", r) }
	var b strings.Builder
	for s != "" {
		n := strings.IndexFunc(s, func(r rune) bool { return !border(r) })
		if n < 0 {
			n = len(s)
		}
		b.WriteString(s[:n])
		s = s[n:]
		if n = strings.IndexFunc(s, border); n < 0 {
			n = len(s)
		}
		if n > 0 {
			_, k := utf8.DecodeRuneInString(s)
			b.WriteString(upper(s[:k]))
			b.WriteString(lower(s[k:n]))
			s = s[n:]
		}
	}
	return b.String(), nil
}

func centerFilter(m *machine, x Value, a []Value) (Value, error) {
	s, err := m.soft(x)
	if err != nil {
		return nil, err
	}
	return padder('^')(m, s, []Value{given(a[0], int64(80)), missing})
}

func replaceFilter(m *machine, x Value, a []Value) (Value, error) {
	var t [3]string
	for i, v := range []Value{x, a[0], a[1]} {
		s, err := m.str(v)
		if err != nil {
			return nil, err
		}
		t[i] = s
	}
	n := -1
	if a[2] != missing && a[2] != nil {
		var err error
		if n, err = argInt("replace", a[2], -1); err != nil {
			return nil, err
		}
	}
	s, err := m.replace(t[0], t[1], t[2], n)
	return s, err
}

func formatFilter(m *machine, x Value, a *callArgs) (Value, error) {
	v, err := m.soft(x)
	if err != nil {
		return nil, err
	}
	s, _ := text(v)
	if len(a.kw) == 0 {
		return m.percent(v, s, &Tuple{Items: a.pos})
	}
	if len(a.pos) > 0 {
		return nil, typeError("can't handle positional and keyword arguments at the same time")
	}
	d := &Map{}
	for _, k := range a.kw {
		if err := d.Set(k.name, k.v); err != nil {
			return nil, err
		}
	}
	return m.percent(v, s, d)
}

func indentFilter(m *machine, x Value, a []Value) (Value, error) {
	s, ok := text(x)
	if !ok {
		if u, ok := x.(*undefined); ok {
			return nil, u.err()
		}
		return nil, typeError("unsupported operand type(s) for +=: '%s' and 'str'", typeName(x))
	}
	by, ok := text(given(a[0], int64(4)))
	if !ok {
		n, err := argInt("indent", a[0], 4)
		if err != nil {
			return nil, err
		}
		if n > maxWidth {
			return nil, fail(KindLimit, "indent above %d", maxWidth)
		}
		by = strings.Repeat(" ", max(n, 0))
	}
	all := lines(s+"\n", false)
	if err := m.alloc(len(s) + len(all)*(len(by)+17)); err != nil {
		return nil, err
	}
	blank := flag(a[2])
	for i, l := range all {
		if i > 0 && (l != "" || blank) {
			all[i] = by + l
		}
	}
	out := strings.Join(all, "\n")
	if flag(a[1]) {
		out = by + out
	}
	return like(x, out), nil
}

func truncateFilter(m *machine, x Value, a []Value) (Value, error) {
	size, err := argInt("truncate", a[0], 255)
	if err != nil {
		return nil, err
	}
	end, ok := text(given(a[2], "..."))
	if !ok {
		return nil, typeError("object of type '%s' has no len()", typeName(a[2]))
	}
	leeway := 5
	if a[3] != nil {
		if leeway, err = argInt("truncate", a[3], 5); err != nil {
			return nil, err
		}
	}
	cut := size - utf8.RuneCountInString(end)
	if cut < 0 {
		return nil, valueError("expected length >= %d, got %d", utf8.RuneCountInString(end), size)
	}
	if leeway < 0 {
		return nil, valueError("expected leeway >= 0, got %d", leeway)
	}
	n, ok := length(x)
	if !ok {
		return nil, typeError("object of type '%s' has no len()", typeName(x))
	}
	if n <= size+leeway {
		return x, nil
	}
	s, ok := text(x)
	if !ok {
		return nil, typeError("'%s' cannot be truncated", typeName(x))
	}
	s = s[:runeOffset(s, cut)]
	if !flag(a[1]) {
		if i := strings.LastIndexByte(s, ' '); i >= 0 {
			s = s[:i]
		}
	}
	return like(x, s+end), m.alloc(len(s))
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(numerals, r)
}

func wordCount(m *machine, x Value, _ []Value) (Value, error) {
	v, err := m.soft(x)
	if err != nil {
		return nil, err
	}
	s, _ := text(v)
	n, inside := int64(0), false
	for _, r := range s {
		w := isWord(r)
		if w && !inside {
			n++
		}
		inside = w
	}
	return n, m.step(len(s) / 32)
}

// quote percent-encodes all but unreserved characters and those in safe.
func quote(s, safe string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-~"+safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func urlEncode(m *machine, x Value, _ []Value) (Value, error) {
	if _, ok := text(x); !ok {
		switch x.(type) {
		case nil, bool, int64, float64:
		default:
			return m.queryString(x)
		}
	}
	s, err := m.str(x)
	if err != nil {
		return nil, err
	}
	return quote(s, "/"), m.alloc(3 * len(s))
}

func (m *machine) queryString(x Value) (Value, error) {
	if d, ok := x.(*Map); ok {
		x = &view{d, "items"}
	}
	var parts []string
	err := m.each(x, func(p Value) (bool, error) {
		kv, err := m.collect(p)
		if err != nil {
			return false, err
		}
		if len(kv) != 2 {
			return false, valueError("not enough values to unpack (expected 2, got %d)", len(kv))
		}
		var t [2]string
		for i, v := range kv {
			s, err := m.str(v)
			if err != nil {
				return false, err
			}
			if err := m.alloc(3 * len(s)); err != nil {
				return false, err
			}
			t[i] = strings.ReplaceAll(quote(s, ""), "%20", "+")
		}
		parts = append(parts, t[0]+"="+t[1])
		return true, m.alloc(16)
	})
	return strings.Join(parts, "&"), err
}

var (
	commentRE = regexp.MustCompile(`(?s)<!--.*?-->`)
	tagRE     = regexp.MustCompile(`(?s)<.*?>`)
)

func stripTags(m *machine, x Value, _ []Value) (Value, error) {
	s, err := m.str(x)
	if err != nil {
		return nil, err
	}
	if err := m.alloc(4 * len(s)); err != nil {
		return nil, err
	}
	s = tagRE.ReplaceAllString(commentRE.ReplaceAllString(s, ""), "")
	s = strings.Join(strings.FieldsFunc(s, isSpace), " ")
	return unescapeHTML(s), nil
}

func xmlAttr(m *machine, x Value, a []Value) (Value, error) {
	d, ok := x.(*Map)
	if !ok {
		if u, ok := x.(*undefined); ok {
			return nil, u.err()
		}
		return nil, typeError("'%s' object has no attribute 'items'", typeName(x))
	}
	var parts []string
	for k, v := range d.All() {
		if _, ok := v.(*undefined); ok || v == nil {
			continue
		}
		name, ok := text(k)
		if !ok {
			return nil, typeError("expected string, got '%s'", typeName(k))
		}
		if strings.ContainsAny(name, " \t\n\r\f\v/>=") {
			return nil, valueError("Invalid character in attribute name: %s", repr(name))
		}
		key, err := m.escape(k)
		if err != nil {
			return nil, err
		}
		val, err := m.escape(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, string(key)+`="`+string(val)+`"`)
	}
	s := strings.Join(parts, " ")
	if s != "" && (a[0] == missing || truth(a[0])) {
		s = " " + s
	}
	return s, m.alloc(len(s))
}
