package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mapped is a method without arguments from string to string.
func mapped(fn func(string) string) *functionType {
	return makeFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
		s, _ := text(x)
		if err := m.Alloc(2 * len(s)); err != nil {
			return nil, err
		}
		return like(x, m.recase(s, fn)), nil
	})
}

// asks makes a method without arguments from a predicate of strings.
func asks(fn func(string) bool) *functionType {
	return makeFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
		s, _ := text(x)
		if err := m.Scan(s); err != nil {
			return nil, err
		}
		return fn(s), nil
	})
}

// stringMethods are the methods of str.
var stringMethods map[string]*functionType

func defineStringMethods() {
	stringMethods = map[string]*functionType{
		"upper": mapped(upper), "lower": mapped(lower), "casefold": mapped(casefold), "title": mapped(title),
		"capitalize": mapped(capitalize), "swapcase": mapped(swapcase),
		"isalnum": asks(every(isAlnum)), "isalpha": asks(every(unicode.IsLetter)), "isascii": asks(isASCII),
		"isdecimal": asks(every(isDecimal)), "isdigit": asks(every(isDigit)), "isnumeric": asks(every(isNumeric)),
		"isidentifier": asks(isIdentifier), "islower": asks(isLowerString), "isupper": asks(isUpperString), "istitle": asks(isTitle),
		"isspace": asks(every(isSpace)), "isprintable": asks(isPrintable),
		"strip": newPositional("chars?", stripper(true, true)), "lstrip": newPositional("chars?", stripper(true, false)), "rstrip": newPositional("chars?", stripper(false, true)),
		"split": makeFunc("sep? maxsplit?", splitMethod), "rsplit": makeFunc("sep? maxsplit?", rsplitMethod), "splitlines": makeFunc("keepends?", splitlinesMethod),
		"partition": newPositional("sep", partition), "rpartition": newPositional("sep", rpartition),
		"startswith": newPositional("prefix start? end?", affix(strings.HasPrefix)), "endswith": newPositional("suffix start? end?", affix(strings.HasSuffix)),
		"removeprefix": newPositional("prefix", remover(behindPrefix)), "removesuffix": newPositional("suffix", remover(beforeSuffix)),
		"find": newPositional("sub start? end?", finder(strings.Index, false)), "rfind": newPositional("sub start? end?", finder(strings.LastIndex, false)),
		"index": newPositional("sub start? end?", finder(strings.Index, true)), "rindex": newPositional("sub start? end?", finder(strings.LastIndex, true)),
		"count": newPositional("sub start? end?", countMethod), "replace": newPositional("old new count?", replaceMethod), "join": newPositional("iterable", joinMethod),
		"center": newPositional("width fillchar?", pad('^')), "ljust": newPositional("width fillchar?", pad('<')), "rjust": newPositional("width fillchar?", pad('>')),
		"zfill": newPositional("width", zfill), "expandtabs": makeFunc("tabsize?", expandtabs),
		"translate": newPositional("table", translate), "maketrans": newPositional("x y? z?", makeTranslation),
		"format": newRaw(formatMethod), "format_map": newPositional("mapping", formatMap),
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

// intArg returns an integer argument, or def where it is absent.
func intArg(fn string, v Value, def int) (int, error) {
	if v == missing {
		return def, nil
	}
	if i, ok := smallInt(v); ok {
		return int(i), nil
	}
	return 0, typeError("%s(): '%s' object cannot be interpreted as an integer", fn, typeName(v))
}

func stripper(left, right bool) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		s, _ := text(x)
		chars, given, err := argText("strip", "chars", a[0])
		if err != nil {
			return nil, err
		}
		if err := m.Step(len(s)/32*(1+len(chars)/8) + len(chars)/32); err != nil {
			return nil, err
		}
		cut := m.isSpace
		if given {
			chars = m.plain(chars)
			cut = func(r rune) bool { return strings.ContainsRune(chars, m.mark(r)) }
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

// window applies the optional start and end of find, count, startswith; ok is
// false when start is behind the end of the string.
func window(m *Machine, x Value, start, end Value) (s string, offset int, ok bool, err error) {
	s, _ = text(x)
	if err := m.Read(s); err != nil {
		return "", 0, false, err
	}
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

func affix(has func(s, affix string) bool) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		s, _, ok, err := window(m, x, a[1], a[2])
		if err != nil {
			return nil, err
		}
		all := []Value{a[0]}
		if t, ok := a[0].(*Tuple); ok {
			all = t.Items
		}
		if err := m.Step((len(s)/32 + 1) * len(all)); err != nil {
			return nil, err
		}
		for _, v := range all {
			t, isText := text(v)
			if !isText {
				return nil, typeError("startswith first arg must be str or a tuple of str, not %s", typeName(v))
			}
			if ok && has(m.plain(s), m.plain(t)) {
				return true, nil
			}
		}
		return false, nil
	}
}

func remover(trim func(s, affix string) (from, to int)) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		s, _ := text(x)
		t, ok := text(a[0])
		if !ok {
			return nil, typeError("removeprefix() argument must be str, not %s", typeName(a[0]))
		}
		v, err := m.show(s)
		if err != nil {
			return nil, err
		}
		from, to := trim(v.plain, m.plain(t))
		return like(x, v.cut(from, to)), m.Read(t)
	}
}

func behindPrefix(s, affix string) (from, to int) {
	return len(s) - len(strings.TrimPrefix(s, affix)), len(s)
}

func beforeSuffix(s, affix string) (from, to int) {
	return 0, len(strings.TrimSuffix(s, affix))
}

func finder(index func(s, sub string) int, must bool) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		sub, isText := text(a[0])
		if !isText {
			return nil, typeError("must be str, not %s", typeName(a[0]))
		}
		s, offset, ok, err := window(m, x, a[1], a[2])
		if err != nil {
			return nil, err
		}
		i := -1
		if s = m.plain(s); ok {
			i = index(s, m.plain(sub))
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

func countMethod(m *Machine, x Value, a []Value) (Value, error) {
	sub, isText := text(a[0])
	if !isText {
		return nil, typeError("must be str, not %s", typeName(a[0]))
	}
	s, _, ok, err := window(m, x, a[1], a[2])
	if err != nil || !ok {
		return int64(0), err
	}
	return int64(strings.Count(m.plain(s), m.plain(sub))), nil
}

func replaceMethod(m *Machine, x Value, a []Value) (Value, error) {
	old, ok1 := text(a[0])
	with, ok2 := text(a[1])
	if !ok1 || !ok2 {
		return nil, typeError("replace() arguments must be str")
	}
	n, err := intArg("replace", a[2], -1)
	if err != nil {
		return nil, err
	}
	if _, ok := x.(Markup); ok {
		e, err := m.Escape(a[1])
		if err != nil {
			return nil, err
		}
		with = string(e)
	}
	s, _ := text(x)
	s, err = replace(m, s, old, with, n)
	return like(x, s), err
}

// replace replaces the first n occurrences, all if n is negative.
func replace(m *Machine, s, old, with string, n int) (string, error) {
	if err := m.Alloc(len(s)); err != nil {
		return "", err
	}
	v, err := m.show(s)
	if err != nil {
		return "", err
	}
	old = m.plain(old)
	k := strings.Count(v.plain, old)
	if n >= 0 {
		k = min(k, n)
	}
	if err := m.AllocEach(int64(k), len(with)); err != nil {
		return "", err
	}
	if v.at == nil {
		return strings.Replace(s, old, with, k), nil
	}
	var b strings.Builder
	at := 0 // behind the last that was replaced
	for i := range k {
		next := at + strings.Index(v.plain[at:], old)
		if old == "" && i > 0 { // in front of each character, and at the end
			_, width := utf8.DecodeRuneInString(v.plain[at:])
			next = at + width
		}
		b.WriteString(v.cut(at, next))
		b.WriteString(with)
		at = next + len(old)
	}
	b.WriteString(v.cut(at, len(v.plain)))
	return b.String(), nil
}

func joinMethod(m *Machine, x Value, a []Value) (Value, error) {
	sep, _ := text(x)
	_, safe := x.(Markup)
	var b strings.Builder
	i := 0
	err := m.Each(a[0], func(v Value) (bool, error) {
		s, ok := text(v)
		if safe {
			e, err := m.Escape(v)
			if err != nil {
				return false, err
			}
			s, ok = string(e), true
		}
		if !ok {
			return false, typeError("sequence item %d: expected str instance, %s found", i, typeName(v))
		}
		if err := m.Alloc(len(s) + len(sep)); err != nil {
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

// padText fills s to width code points; CPython puts the odd one of center on the
// left when width is odd.
func padText(m *Machine, s string, width int, align rune, fill string) (string, error) {
	n := width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s, m.Read(s)
	}
	if err := m.Alloc(len(s)); err != nil {
		return "", err
	}
	if err := m.AllocEach(int64(n), len(fill)); err != nil {
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

// pad makes the methods center, ljust and rjust.
func pad(align rune) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		s, _ := text(x)
		width, err := intArg("center", a[0], 0)
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
		s, err = padText(m, s, width, align, fill)
		return like(x, s), err
	}
}

func zfill(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	width, err := intArg("zfill", a[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if r, n := utf8.DecodeRuneInString(s); m.mark(r) == '-' || m.mark(r) == '+' {
		sign, s = s[:n], s[n:]
	}
	s, err = padText(m, s, width-utf8.RuneCountInString(sign), '>', "0")
	return like(x, sign+s), err
}

func expandtabs(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	size, err := intArg("expandtabs", a[0], 8)
	if err != nil {
		return nil, err
	}
	if size > 1000 {
		return nil, fail(kindLimit, "tab size above 1000")
	}
	if err := m.Alloc(len(s) + 3*strings.Count(m.plain(s), "\t")*max(size, 0)); err != nil { // the text grows by doubling
		return nil, err
	}
	var b strings.Builder
	b.Grow(len(s))
	col := 0
	for _, r := range s {
		switch m.mark(r) {
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
