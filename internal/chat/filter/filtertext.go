package filter

import (
	"fmt"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"atenia/internal/chat/method"
	"atenia/internal/chat/object"
)

// soft is the value as a string: Markup stays Markup.
func soft(m *object.Machine, x object.Value) (object.Value, error) {
	if _, ok := object.Text(x); ok {
		return x, nil
	}
	s, err := m.Str(x)
	return s, err
}

// textual is a filter that applies a method of str to the value's text.
func textual(name string) *object.Func {
	f := method.Strings[name]
	return &object.Func{Params: f.Params, Fn: func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
		s, err := soft(m, x)
		if err != nil {
			return nil, err
		}
		return f.Fn(m, s, a)
	}}
}

func stringFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	return soft(m, x)
}

func escapeFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	s, err := m.Escape(x)
	return s, err
}

func forceEscape(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	s, err := m.Str(x)
	if err != nil {
		return nil, err
	}
	e, err := m.Escape(s)
	return e, err
}

func safeFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	s, err := m.Str(x)
	return object.Markup(s), err
}

// titleFilter starts words after white space, "-" and opening brackets, unlike
// str.title.
func titleFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	v, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	s, _ := object.Text(v)
	if err := m.Alloc(2 * len(s)); err != nil {
		return nil, err
	}
	border := func(r rune) bool { return object.IsSpace(r) || strings.ContainsRune("-({[<", r) }
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
			b.WriteString(object.Upper(s[:k]))
			b.WriteString(object.Lower(s[k:n]))
			s = s[n:]
		}
	}
	return b.String(), nil
}

func centerFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	s, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	return method.Pad('^')(m, s, []object.Value{given(a[0], int64(80)), object.Missing})
}

func replaceFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	var t [3]string
	for i, v := range []object.Value{x, a[0], a[1]} {
		s, err := m.Str(v)
		if err != nil {
			return nil, err
		}
		t[i] = s
	}
	n := -1
	if a[2] != object.Missing && a[2] != nil {
		var err error
		if n, err = method.IntArg("replace", a[2], -1); err != nil {
			return nil, err
		}
	}
	s, err := method.Replace(m, t[0], t[1], t[2], n)
	return s, err
}

func formatFilter(m *object.Machine, x object.Value, a *object.Args) (object.Value, error) {
	v, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	s, _ := object.Text(v)
	if len(a.Named) == 0 {
		return method.Percent(m, v, s, &object.Tuple{Items: a.Pos})
	}
	if len(a.Pos) > 0 {
		return nil, object.TypeError("can't handle positional and keyword arguments at the same time")
	}
	d := &object.Map{}
	for _, k := range a.Named {
		if err := d.Set(k.Name, k.Value); err != nil {
			return nil, err
		}
	}
	return method.Percent(m, v, s, d)
}

func indentFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	s, ok := object.Text(x)
	if !ok {
		if u, ok := x.(*object.Undefined); ok {
			return nil, u.Err()
		}
		return nil, object.TypeError("unsupported operand type(s) for +=: '%s' and 'str'", object.TypeName(x))
	}
	by, ok := object.Text(given(a[0], int64(4)))
	if !ok {
		n, err := method.IntArg("indent", a[0], 4)
		if err != nil {
			return nil, err
		}
		if n > method.MaxWidth {
			return nil, object.Fail(object.KindLimit, "indent above %d", method.MaxWidth)
		}
		by = strings.Repeat(" ", max(n, 0))
	}
	all := method.Lines(s+"\n", false)
	if err := m.Alloc(len(s) + len(all)*(len(by)+17)); err != nil {
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
	return object.Like(x, out), nil
}

func truncateFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	size, err := method.IntArg("truncate", a[0], 255)
	if err != nil {
		return nil, err
	}
	end, ok := object.Text(given(a[2], "..."))
	if !ok {
		return nil, object.TypeError("object of type '%s' has no len()", object.TypeName(a[2]))
	}
	leeway := 5
	if a[3] != nil {
		if leeway, err = method.IntArg("truncate", a[3], 5); err != nil {
			return nil, err
		}
	}
	cut := size - utf8.RuneCountInString(end)
	if cut < 0 {
		return nil, object.ValueError("expected length >= %d, got %d", utf8.RuneCountInString(end), size)
	}
	if leeway < 0 {
		return nil, object.ValueError("expected leeway >= 0, got %d", leeway)
	}
	s, isText := object.Text(x)
	if err := m.Read(s); err != nil {
		return nil, err
	}
	n, ok := object.Length(x)
	if !ok {
		return nil, object.TypeError("object of type '%s' has no len()", object.TypeName(x))
	}
	if n <= size+leeway {
		return x, nil
	}
	if !isText {
		return nil, object.TypeError("'%s' cannot be truncated", object.TypeName(x))
	}
	s = s[:method.RuneOffset(s, cut)]
	if !flag(a[1]) {
		if i := strings.LastIndexByte(s, ' '); i >= 0 {
			s = s[:i]
		}
	}
	return object.Like(x, s+end), m.Alloc(len(s) + len(end))
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(object.Numerals, r)
}

func wordCount(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	v, err := soft(m, x)
	if err != nil {
		return nil, err
	}
	s, _ := object.Text(v)
	n, inside := int64(0), false
	for _, r := range s {
		w := isWord(r)
		if w && !inside {
			n++
		}
		inside = w
	}
	return n, m.Step(len(s) / 32)
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

func urlEncode(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	if _, ok := object.Text(x); !ok {
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
	return quote(s, "/"), m.Alloc(3 * len(s))
}

func queryString(m *object.Machine, x object.Value) (object.Value, error) {
	if d, ok := x.(*object.Map); ok {
		x = &object.View{M: d, Kind: "items"}
	}
	var parts []string
	err := m.Each(x, func(p object.Value) (bool, error) {
		kv, err := m.Collect(p)
		if err != nil {
			return false, err
		}
		if len(kv) != 2 {
			return false, object.ValueError("not enough values to unpack (expected 2, got %d)", len(kv))
		}
		var t [2]string
		for i, v := range kv {
			s, err := m.Str(v)
			if err != nil {
				return false, err
			}
			if err := m.Alloc(3 * len(s)); err != nil {
				return false, err
			}
			t[i] = strings.ReplaceAll(quote(s, ""), "%20", "+")
		}
		parts = append(parts, t[0]+"="+t[1])
		return true, m.Alloc(16)
	})
	return strings.Join(parts, "&"), err
}

func xmlAttr(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	d, ok := x.(*object.Map)
	if !ok {
		if u, ok := x.(*object.Undefined); ok {
			return nil, u.Err()
		}
		return nil, object.TypeError("'%s' object has no attribute 'items'", object.TypeName(x))
	}
	var parts []string
	for k, v := range d.All() {
		if _, ok := v.(*object.Undefined); ok || v == nil {
			continue
		}
		name, ok := object.Text(k)
		if !ok {
			return nil, object.TypeError("expected string, got '%s'", object.TypeName(k))
		}
		if strings.ContainsAny(name, " \t\n\r\f\v/>=") {
			return nil, object.ValueError("Invalid character in attribute name: %s", object.Repr(name))
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
	if s != "" && (a[0] == object.Missing || object.Truth(a[0])) {
		s = " " + s
	}
	return s, m.Alloc(len(s))
}
