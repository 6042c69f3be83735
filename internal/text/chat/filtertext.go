package chat

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// soft is the value as a string: Markup stays Markup.
func soft(m *Machine, x Value) (Value, error) {
	if _, ok := text(x); ok {
		return x, nil
	}
	s, err := m.Str(x)
	return s, err
}

// textual is a filter that applies a method of str to the value's text.
func textual(name string) *functionType {
	f := stringMethods[name]
	return &functionType{Params: f.Params, Fn: func(m *Machine, x Value, a []Value) (Value, error) {
		s, err := soft(m, x)
		if err != nil {
			return nil, err
		}
		return f.Fn(m, s, a)
	}}
}

func stringFilter(m *Machine, x Value, _ []Value) (Value, error) {
	return soft(m, x)
}

func escapeFilter(m *Machine, x Value, _ []Value) (Value, error) {
	s, err := m.Escape(x)
	return s, err
}

func forceEscape(m *Machine, x Value, _ []Value) (Value, error) {
	s, err := m.Str(x)
	if err != nil {
		return nil, err
	}
	e, err := m.Escape(s)
	return e, err
}

func safeFilter(m *Machine, x Value, _ []Value) (Value, error) {
	s, err := m.Str(x)
	return Markup(s), err
}

// titleFilter starts words after white space, "-" and opening brackets, unlike
// str.title.
func titleFilter(m *Machine, x Value, _ []Value) (Value, error) {
	v, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	s, _ := text(v)
	if err := m.Alloc(2 * len(s)); err != nil {
		return nil, err
	}
	return m.recase(s, titleWords), nil
}

func titleWords(s string) string {
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
	return b.String()
}

func centerFilter(m *Machine, x Value, a []Value) (Value, error) {
	s, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	return pad('^')(m, s, []Value{given(a[0], int64(80)), missing})
}

func replaceFilter(m *Machine, x Value, a []Value) (Value, error) {
	var t [3]string
	for i, v := range []Value{x, a[0], a[1]} {
		s, err := m.Str(v)
		if err != nil {
			return nil, err
		}
		t[i] = s
	}
	n := -1
	if a[2] != missing && a[2] != nil {
		var err error
		if n, err = intArg("replace", a[2], -1); err != nil {
			return nil, err
		}
	}
	s, err := replace(m, t[0], t[1], t[2], n)
	return s, err
}

func formatFilter(m *Machine, x Value, a *Args) (Value, error) {
	v, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	s, _ := text(v)
	if len(a.Named) == 0 {
		return percent(m, v, s, &Tuple{Items: a.Pos})
	}
	if len(a.Pos) > 0 {
		return nil, typeError("can't handle positional and keyword arguments at the same time")
	}
	d := &Map{}
	for _, k := range a.Named {
		if err := d.Set(k.Name, k.Value); err != nil {
			return nil, err
		}
	}
	return percent(m, v, s, d)
}

func indentFilter(m *Machine, x Value, a []Value) (Value, error) {
	s, ok := text(x)
	if !ok {
		if u, ok := x.(*undefined); ok {
			return nil, u.Err()
		}
		return nil, typeError("unsupported operand type(s) for +=: '%s' and 'str'", typeName(x))
	}
	by, ok := text(given(a[0], int64(4)))
	if !ok {
		n, err := intArg("indent", a[0], 4)
		if err != nil {
			return nil, err
		}
		if n > maxWidth {
			return nil, fail(kindLimit, "indent above %d", maxWidth)
		}
		by = strings.Repeat(" ", max(n, 0))
	}
	t := texts{m: m}
	if err := t.lines(s+"\n", false); err != nil {
		return nil, err
	}
	all := t.list
	if err := m.AllocEach(int64(len(all)), len(by)+17); err != nil {
		return nil, err
	}
	if err := m.Alloc(2 * len(s)); err != nil { // each line with its indent, and the result
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

func truncateFilter(m *Machine, x Value, a []Value) (Value, error) {
	size, err := intArg("truncate", a[0], 255)
	if err != nil {
		return nil, err
	}
	end, ok := text(given(a[2], "..."))
	if !ok {
		return nil, typeError("object of type '%s' has no len()", typeName(a[2]))
	}
	leeway := 5
	if a[3] != nil {
		if leeway, err = intArg("truncate", a[3], 5); err != nil {
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
	s, isText := text(x)
	if err := m.Read(s); err != nil {
		return nil, err
	}
	n, ok := length(x)
	if !ok {
		return nil, typeError("object of type '%s' has no len()", typeName(x))
	}
	if n <= size+leeway {
		return x, nil
	}
	if !isText {
		return nil, typeError("'%s' cannot be truncated", typeName(x))
	}
	s = s[:runeOffset(s, cut)]
	if !flag(a[1]) {
		if i := strings.LastIndexFunc(s, func(r rune) bool { return m.mark(r) == ' ' }); i >= 0 {
			s = s[:i]
		}
	}
	return like(x, s+end), m.Alloc(len(s) + len(end))
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(numerals, r)
}

func wordCount(m *Machine, x Value, _ []Value) (Value, error) {
	v, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	s, _ := text(v)
	n, inside := int64(0), false
	for _, r := range m.plain(s) {
		w := isWord(r)
		if w && !inside {
			n++
		}
		inside = w
	}
	return n, m.Step(len(s) / 32)
}

// quote percent-encodes all but unreserved characters and those in safe.
func quote(m *Machine, s, safe string) (string, error) {
	const hex = "0123456789ABCDEF"
	s = m.plain(s)
	plain := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-~"+safe, c) >= 0
	}
	if err := m.Step(len(s) / 8); err != nil {
		return "", err
	}
	n := len(s)
	for i := range len(s) {
		if !plain(s[i]) {
			n += 2
		}
	}
	if err := m.Alloc(n); err != nil {
		return "", err
	}
	b := make([]byte, 0, n)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b), m.Alloc(n)
}

func urlEncode(m *Machine, x Value, _ []Value) (Value, error) {
	if _, ok := text(x); !ok {
		switch x.(type) {
		case nil, bool, int64, *big.Int, float64:
		default:
			return queryString(m, x)
		}
	}
	s, err := m.Str(x)
	if err != nil {
		return nil, err
	}
	return quote(m, s, "/")
}

func queryString(m *Machine, x Value) (Value, error) {
	if d, ok := x.(*Map); ok {
		x = &view{M: d, Kind: "items"}
	}
	var parts []string
	err := m.Each(x, func(p Value) (bool, error) {
		kv, err := m.Collect(p)
		if err != nil {
			return false, err
		}
		if len(kv) != 2 {
			return false, valueError("not enough values to unpack (expected 2, got %d)", len(kv))
		}
		var t [2]string
		for i, v := range kv {
			s, err := m.Str(v)
			if err != nil {
				return false, err
			}
			if s, err = quote(m, s, ""); err != nil {
				return false, err
			}
			t[i] = strings.ReplaceAll(s, "%20", "+")
		}
		parts = append(parts, t[0]+"="+t[1])
		return true, m.Alloc(16)
	})
	return strings.Join(parts, "&"), err
}

func xmlAttr(m *Machine, x Value, a []Value) (Value, error) {
	d, ok := x.(*Map)
	if !ok {
		if u, ok := x.(*undefined); ok {
			return nil, u.Err()
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
		if name = m.plain(name); strings.ContainsAny(name, " \t\n\r\f\v/>=") {
			return nil, valueError("Invalid character in attribute name: %s", repr(name))
		}
		key, err := m.Escape(k)
		if err != nil {
			return nil, err
		}
		val, err := m.Escape(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, string(key)+`="`+string(val)+`"`)
	}
	s := strings.Join(parts, " ")
	if s != "" && (a[0] == missing || truth(a[0])) {
		s = " " + s
	}
	return s, m.Alloc(len(s))
}
