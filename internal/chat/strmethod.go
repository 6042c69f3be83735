package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A filter is a filter, test or method: x | name(args), x is name(args),
// x.name(args).
type filter struct {
	params []string // a final "?" marks an optional one; see callArgs.bind
	noKw   bool     // the parameters cannot be named
	fn     func(m *machine, x Value, a []Value) (Value, error)
	raw    func(m *machine, x Value, a *callArgs) (Value, error) // instead of fn
}

func (f *filter) apply(m *machine, name string, x Value, a *callArgs) (Value, error) {
	if f.raw != nil {
		return f.raw(m, x, a)
	}
	if f.noKw && len(a.kw) > 0 {
		return nil, typeError("%s() takes no keyword arguments", name)
	}
	vals, err := a.bind(name, f.params...)
	if err != nil {
		return nil, err
	}
	return f.fn(m, x, vals)
}

func def(params string, fn func(m *machine, x Value, a []Value) (Value, error)) *filter {
	return &filter{params: strings.Fields(params), fn: fn}
}

// method is def for methods that CPython writes in C.
func method(params string, fn func(m *machine, x Value, a []Value) (Value, error)) *filter {
	f := def(params, fn)
	f.noKw = true
	return f
}

func raw(fn func(m *machine, x Value, a *callArgs) (Value, error)) *filter { return &filter{raw: fn} }

// mapped is a method without arguments from string to string.
func mapped(fn func(string) string) *filter {
	return def("", func(m *machine, x Value, _ []Value) (Value, error) {
		s, _ := text(x)
		if err := m.alloc(2 * len(s)); err != nil {
			return nil, err
		}
		return like(x, fn(s)), nil
	})
}

// asks is a method without arguments from string to bool.
func asks(fn func(string) bool) *filter {
	return def("", func(m *machine, x Value, _ []Value) (Value, error) {
		s, _ := text(x)
		return fn(s), m.step(len(s) / 32)
	})
}

// stringMethods are the methods of str.
var stringMethods map[string]*filter

func defineStringMethods() {
	stringMethods = map[string]*filter{
		"upper": mapped(upper), "lower": mapped(lower), "casefold": mapped(casefold), "title": mapped(title),
		"capitalize": mapped(capitalize), "swapcase": mapped(swapcase),
		"isalnum": asks(every(isAlnum)), "isalpha": asks(every(unicode.IsLetter)), "isascii": asks(isASCII),
		"isdecimal": asks(every(isDecimal)), "isdigit": asks(every(isDigit)), "isnumeric": asks(every(isNumeric)),
		"isidentifier": asks(isIdentifier), "islower": asks(isLower), "isupper": asks(isUpper), "istitle": asks(isTitle),
		"isspace": asks(every(isSpace)), "isprintable": asks(isPrintable),
		"strip": method("chars?", stripper(true, true)), "lstrip": method("chars?", stripper(true, false)), "rstrip": method("chars?", stripper(false, true)),
		"split": def("sep? maxsplit?", splitMethod), "rsplit": def("sep? maxsplit?", rsplitMethod), "splitlines": def("keepends?", splitlinesMethod),
		"partition": method("sep", partition), "rpartition": method("sep", rpartition),
		"startswith": method("prefix start? end?", affix(strings.HasPrefix)), "endswith": method("suffix start? end?", affix(strings.HasSuffix)),
		"removeprefix": method("prefix", remover(strings.TrimPrefix)), "removesuffix": method("suffix", remover(strings.TrimSuffix)),
		"find": method("sub start? end?", finder(strings.Index, false)), "rfind": method("sub start? end?", finder(strings.LastIndex, false)),
		"index": method("sub start? end?", finder(strings.Index, true)), "rindex": method("sub start? end?", finder(strings.LastIndex, true)),
		"count": method("sub start? end?", countMethod), "replace": method("old new count?", replaceMethod), "join": method("iterable", joinMethod),
		"center": method("width fillchar?", padder('^')), "ljust": method("width fillchar?", padder('<')), "rjust": method("width fillchar?", padder('>')),
		"zfill": method("width", zfill), "expandtabs": def("tabsize?", expandtabs),
		"format": raw(formatMethod), "format_map": method("mapping", formatMap),
	}
}

// argText returns a string argument; absent and None give ok false.
func argText(fn, name string, v Value) (s string, ok bool, err error) {
	if v == missing || v == nil {
		return "", false, nil
	}
	if s, ok = text(v); !ok {
		return "", false, typeError("%s() argument '%s' must be str, not %s", fn, name, typeName(v))
	}
	return s, true, nil
}

// argInt returns an integer argument, or def where it is absent.
func argInt(fn string, v Value, def int) (int, error) {
	if v == missing {
		return def, nil
	}
	if i, ok := smallInt(v); ok {
		return int(i), nil
	}
	return 0, typeError("%s(): '%s' object cannot be interpreted as an integer", fn, typeName(v))
}

func stripper(left, right bool) func(*machine, Value, []Value) (Value, error) {
	return func(m *machine, x Value, a []Value) (Value, error) {
		s, _ := text(x)
		chars, given, err := argText("strip", "chars", a[0])
		if err != nil {
			return nil, err
		}
		if err := m.step(len(s)/32*(1+len(chars)/8) + len(chars)/32); err != nil {
			return nil, err
		}
		cut := isSpace
		if given {
			cut = func(r rune) bool { return strings.ContainsRune(chars, r) }
		}
		if left {
			s = strings.TrimLeftFunc(s, cut)
		}
		if right {
			s = strings.TrimRightFunc(s, cut)
		}
		return like(x, s), nil
	}
}

// list makes a list of strings of the kind of model.
func (m *machine) list(model Value, parts []string) (Value, error) {
	if err := m.alloc(32 * len(parts)); err != nil {
		return nil, err
	}
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = like(model, p)
	}
	return &List{Items: items}, nil
}

func splitArgs(m *machine, x Value, a []Value) (s, sep string, given bool, limit int, err error) {
	s, _ = text(x)
	if sep, given, err = argText("split", "sep", a[0]); err != nil {
		return
	}
	if given && sep == "" {
		err = valueError("empty separator")
		return
	}
	if limit, err = argInt("split", a[1], -1); err != nil {
		return
	}
	if limit < 0 {
		limit = len(s) + 1
	}
	err = m.alloc(len(s)) // the parts' headers: at most one each 16 bytes of budget twice over
	return
}

func splitMethod(m *machine, x Value, a []Value) (Value, error) {
	s, sep, given, limit, err := splitArgs(m, x, a)
	if err != nil {
		return nil, err
	}
	var parts []string
	if given {
		for range limit {
			i := strings.Index(s, sep)
			if i < 0 {
				break
			}
			parts = append(parts, s[:i])
			s = s[i+len(sep):]
		}
		return m.list(x, append(parts, s))
	}
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; s = strings.TrimLeftFunc(s, isSpace) {
		i := strings.IndexFunc(s, isSpace)
		if len(parts) == limit || i < 0 {
			parts = append(parts, s)
			break
		}
		parts = append(parts, s[:i])
		s = s[i:]
	}
	return m.list(x, parts)
}

func rsplitMethod(m *machine, x Value, a []Value) (Value, error) {
	s, sep, given, limit, err := splitArgs(m, x, a)
	if err != nil {
		return nil, err
	}
	var parts []string // from the right
	if given {
		for range limit {
			i := strings.LastIndex(s, sep)
			if i < 0 {
				break
			}
			parts = append(parts, s[i+len(sep):])
			s = s[:i]
		}
		parts = append(parts, s)
	} else {
		for s = strings.TrimRightFunc(s, isSpace); s != ""; s = strings.TrimRightFunc(s, isSpace) {
			i := strings.LastIndexFunc(s, isSpace)
			if len(parts) == limit || i < 0 {
				parts = append(parts, s)
				break
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			parts = append(parts, s[i+n:])
			s = s[:i]
		}
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return m.list(x, parts)
}

// lines splits where str.splitlines does.
func lines(s string, keep bool) []string {
	var out []string
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(out, s)
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		end := i
		if keep {
			end += n
		}
		out = append(out, s[:end])
		s = s[i+n:]
	}
	return out
}

func splitlinesMethod(m *machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	if err := m.alloc(len(s)); err != nil {
		return nil, err
	}
	return m.list(x, lines(s, a[0] != missing && truth(a[0])))
}

func sepArg(a []Value) (string, error) {
	sep, ok, err := argText("partition", "sep", a[0])
	if err == nil && !ok {
		err = typeError("must be str, not %s", typeName(a[0]))
	}
	if err == nil && sep == "" {
		err = valueError("empty separator")
	}
	return sep, err
}

func partition(m *machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	sep, err := sepArg(a)
	if err != nil {
		return nil, err
	}
	before, after, ok := strings.Cut(s, sep)
	if !ok {
		sep = ""
	}
	return &Tuple{Items: []Value{like(x, before), like(x, sep), like(x, after)}}, m.alloc(len(s))
}

func rpartition(m *machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	sep, err := sepArg(a)
	if err != nil {
		return nil, err
	}
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return &Tuple{Items: []Value{like(x, ""), like(x, ""), like(x, s)}}, m.alloc(len(s))
	}
	return &Tuple{Items: []Value{like(x, s[:i]), like(x, sep), like(x, s[i+len(sep):])}}, m.alloc(len(s))
}

// window applies the optional start and end of find, count, startswith; ok is
// false when start is behind the end of the string.
func window(x Value, start, end Value) (s string, offset int, ok bool, err error) {
	s, _ = text(x)
	if start == missing && end == missing {
		return s, 0, true, nil
	}
	for _, b := range []*Value{&start, &end} {
		if *b == missing {
			*b = nil
		}
	}
	n := utf8.RuneCountInString(s)
	if i, isInt := smallInt(start); isInt && i > int64(n) {
		return "", 0, false, nil
	}
	from, _, _, count, err := sliceBounds(n, [3]Value{start, end, nil})
	if err != nil {
		return "", 0, false, err
	}
	if e, isInt := smallInt(end); isInt && count == 0 { // start > end: nothing is found, not even ""
		if e < 0 {
			e += int64(n)
		}
		if int64(from) > max(e, 0) {
			return "", 0, false, nil
		}
	}
	return sliceString(s, from, 1, count), from, true, nil
}

func affix(has func(s, affix string) bool) func(*machine, Value, []Value) (Value, error) {
	return func(m *machine, x Value, a []Value) (Value, error) {
		s, _, ok, err := window(x, a[1], a[2])
		if err != nil {
			return nil, err
		}
		all := []Value{a[0]}
		if t, ok := a[0].(*Tuple); ok {
			all = t.Items
		}
		if err := m.step(len(s)/32 + len(all)); err != nil {
			return nil, err
		}
		for _, v := range all {
			t, isText := text(v)
			if !isText {
				return nil, typeError("startswith first arg must be str or a tuple of str, not %s", typeName(v))
			}
			if ok && has(s, t) {
				return true, nil
			}
		}
		return false, nil
	}
}

func remover(trim func(s, affix string) string) func(*machine, Value, []Value) (Value, error) {
	return func(m *machine, x Value, a []Value) (Value, error) {
		s, _ := text(x)
		t, ok := text(a[0])
		if !ok {
			return nil, typeError("removeprefix() argument must be str, not %s", typeName(a[0]))
		}
		return like(x, trim(s, t)), nil
	}
}

func finder(index func(s, sub string) int, must bool) func(*machine, Value, []Value) (Value, error) {
	return func(m *machine, x Value, a []Value) (Value, error) {
		sub, isText := text(a[0])
		if !isText {
			return nil, typeError("must be str, not %s", typeName(a[0]))
		}
		s, offset, ok, err := window(x, a[1], a[2])
		if err != nil {
			return nil, err
		}
		if err := m.step(len(s) / 32); err != nil {
			return nil, err
		}
		i := -1
		if ok {
			i = index(s, sub)
		}
		if i >= 0 {
			return int64(offset + utf8.RuneCountInString(s[:i])), nil
		}
		if must {
			return nil, valueError("substring not found")
		}
		return int64(-1), nil
	}
}

func countMethod(m *machine, x Value, a []Value) (Value, error) {
	sub, isText := text(a[0])
	if !isText {
		return nil, typeError("must be str, not %s", typeName(a[0]))
	}
	s, _, ok, err := window(x, a[1], a[2])
	if err != nil || !ok {
		return int64(0), err
	}
	return int64(strings.Count(s, sub)), m.step(len(s) / 32)
}

func replaceMethod(m *machine, x Value, a []Value) (Value, error) {
	old, ok1 := text(a[0])
	with, ok2 := text(a[1])
	if !ok1 || !ok2 {
		return nil, typeError("replace() arguments must be str")
	}
	n, err := argInt("replace", a[2], -1)
	if err != nil {
		return nil, err
	}
	if _, ok := x.(markup); ok {
		e, err := m.escape(a[1])
		if err != nil {
			return nil, err
		}
		with = string(e)
	}
	s, _ := text(x)
	s, err = m.replace(s, old, with, n)
	return like(x, s), err
}

func (m *machine) replace(s, old, with string, n int) (string, error) {
	if err := m.step(len(s) / 32); err != nil {
		return "", err
	}
	k := strings.Count(s, old)
	if n >= 0 {
		k = min(k, n)
	}
	if int64(k)*int64(len(with)) > m.lim.Bytes {
		return "", fail(KindLimit, "more than %d bytes of intermediate values", m.lim.Bytes)
	}
	if err := m.alloc(len(s) + k*len(with)); err != nil {
		return "", err
	}
	return strings.Replace(s, old, with, n), nil
}

func joinMethod(m *machine, x Value, a []Value) (Value, error) {
	sep, _ := text(x)
	_, safe := x.(markup)
	var b strings.Builder
	i := 0
	err := m.each(a[0], func(v Value) (bool, error) {
		s, ok := text(v)
		if safe {
			e, err := m.escape(v)
			if err != nil {
				return false, err
			}
			s, ok = string(e), true
		}
		if !ok {
			return false, typeError("sequence item %d: expected str instance, %s found", i, typeName(v))
		}
		if err := m.alloc(len(s) + len(sep)); err != nil {
			return false, err
		}
		if i++; i > 1 {
			b.WriteString(sep)
		}
		b.WriteString(s)
		return true, nil
	})
	return like(x, b.String()), err
}

// pad fills s to width code points; CPython puts the odd one of center on the
// left when width is odd.
func (m *machine) pad(s string, width int, align rune, fill string) (string, error) {
	n := width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s, nil
	}
	if int64(n) > m.lim.Bytes {
		return "", fail(KindLimit, "more than %d bytes of intermediate values", m.lim.Bytes)
	}
	if err := m.alloc(n*len(fill) + len(s)); err != nil {
		return "", err
	}
	left := 0
	switch align {
	case '>':
		left = n
	case '^':
		left = n/2 + n&width&1
	}
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, n-left), nil
}

func padder(align rune) func(*machine, Value, []Value) (Value, error) {
	return func(m *machine, x Value, a []Value) (Value, error) {
		s, _ := text(x)
		width, err := argInt("center", a[0], 0)
		if err != nil {
			return nil, err
		}
		fill := " "
		if a[1] != missing {
			fill, _ = text(a[1])
			if utf8.RuneCountInString(fill) != 1 {
				return nil, typeError("the fill character must be exactly one character long")
			}
		}
		s, err = m.pad(s, width, align, fill)
		return like(x, s), err
	}
}

func zfill(m *machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	width, err := argInt("zfill", a[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	s, err = m.pad(s, width-len(sign), '>', "0")
	return like(x, sign+s), err
}

func expandtabs(m *machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	size, err := argInt("expandtabs", a[0], 8)
	if err != nil {
		return nil, err
	}
	if size > 1000 {
		return nil, fail(KindLimit, "tab size above 1000")
	}
	if err := m.alloc(len(s) + strings.Count(s, "\t")*max(size, 0)); err != nil {
		return nil, err
	}
	var b strings.Builder
	col := 0
	for _, r := range s {
		switch r {
		case '\t':
			if size > 0 {
				n := size - col%size
				col += n
				b.WriteString(strings.Repeat(" ", n))
			}
			continue
		case '\n', '\r':
			col = -1
		}
		col++
		b.WriteRune(r)
	}
	return like(x, b.String()), nil
}
