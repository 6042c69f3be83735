package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mapped is a method without arguments from string to string.
func mapped(fn func(string) string) *Func {
	return NewFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
		s, _ := Text(x)
		if err := m.Alloc(2 * len(s)); err != nil {
			return nil, err
		}
		return Like(x, m.recase(s, fn)), nil
	})
}

// asks makes a method without arguments from a predicate of strings.
func asks(fn func(string) bool) *Func {
	return NewFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
		s, _ := Text(x)
		if err := m.Scan(s); err != nil {
			return nil, err
		}
		return fn(s), nil
	})
}

// StringMethods are the methods of str.
var StringMethods map[string]*Func

func defineStringMethods() {
	StringMethods = map[string]*Func{
		"upper": mapped(Upper), "lower": mapped(Lower), "casefold": mapped(Casefold), "title": mapped(Title),
		"capitalize": mapped(Capitalize), "swapcase": mapped(Swapcase),
		"isalnum": asks(Every(IsAlnum)), "isalpha": asks(Every(unicode.IsLetter)), "isascii": asks(IsASCII),
		"isdecimal": asks(Every(IsDecimal)), "isdigit": asks(Every(IsDigit)), "isnumeric": asks(Every(IsNumeric)),
		"isidentifier": asks(IsIdentifier), "islower": asks(IsLower), "isupper": asks(IsUpper), "istitle": asks(IsTitle),
		"isspace": asks(Every(IsSpace)), "isprintable": asks(IsPrintable),
		"strip": NewPositional("chars?", stripper(true, true)), "lstrip": NewPositional("chars?", stripper(true, false)), "rstrip": NewPositional("chars?", stripper(false, true)),
		"split": NewFunc("sep? maxsplit?", splitMethod), "rsplit": NewFunc("sep? maxsplit?", rsplitMethod), "splitlines": NewFunc("keepends?", splitlinesMethod),
		"partition": NewPositional("sep", partition), "rpartition": NewPositional("sep", rpartition),
		"startswith": NewPositional("prefix start? end?", affix(strings.HasPrefix)), "endswith": NewPositional("suffix start? end?", affix(strings.HasSuffix)),
		"removeprefix": NewPositional("prefix", remover(behindPrefix)), "removesuffix": NewPositional("suffix", remover(beforeSuffix)),
		"find": NewPositional("sub start? end?", finder(strings.Index, false)), "rfind": NewPositional("sub start? end?", finder(strings.LastIndex, false)),
		"index": NewPositional("sub start? end?", finder(strings.Index, true)), "rindex": NewPositional("sub start? end?", finder(strings.LastIndex, true)),
		"count": NewPositional("sub start? end?", countMethod), "replace": NewPositional("old new count?", replaceMethod), "join": NewPositional("iterable", joinMethod),
		"center": NewPositional("width fillchar?", Pad('^')), "ljust": NewPositional("width fillchar?", Pad('<')), "rjust": NewPositional("width fillchar?", Pad('>')),
		"zfill": NewPositional("width", zfill), "expandtabs": NewFunc("tabsize?", expandtabs),
		"translate": NewPositional("table", translate), "maketrans": NewPositional("x y? z?", makeTranslation),
		"format": NewRaw(formatMethod), "format_map": NewPositional("mapping", formatMap),
	}
}

// argText returns a string argument; absent and None give ok false.
func argText(fn, name string, v Value) (s string, ok bool, err error) {
	if v == Missing || v == nil {
		return "", false, nil
	}
	if s, ok = Text(v); !ok {
		return "", false, TypeError("%s() argument '%s' must be str, not %s", fn, name, TypeName(v))
	}
	return s, true, nil
}

// IntArg returns an integer argument, or def where it is absent.
func IntArg(fn string, v Value, def int) (int, error) {
	if v == Missing {
		return def, nil
	}
	if i, ok := SmallInt(v); ok {
		return int(i), nil
	}
	return 0, TypeError("%s(): '%s' object cannot be interpreted as an integer", fn, TypeName(v))
}

func stripper(left, right bool) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		s, _ := Text(x)
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
		return Like(x, s), nil
	}
}

// window applies the optional start and end of find, count, startswith; ok is
// false when start is behind the end of the string.
func window(m *Machine, x Value, start, end Value) (s string, offset int, ok bool, err error) {
	s, _ = Text(x)
	if err := m.Read(s); err != nil {
		return "", 0, false, err
	}
	if start == Missing && end == Missing {
		return s, 0, true, nil
	}
	for _, b := range []*Value{&start, &end} {
		if *b == Missing {
			*b = nil
		}
	}
	n := utf8.RuneCountInString(s)
	if i, isInt := SmallInt(start); isInt && i > int64(n) {
		return "", 0, false, nil
	}
	from, _, _, count, err := sliceBounds(n, [3]Value{start, end, nil})
	if err != nil {
		return "", 0, false, err
	}
	if e, isInt := SmallInt(end); isInt && count == 0 { // start > end: nothing is found, not even ""
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
			t, isText := Text(v)
			if !isText {
				return nil, TypeError("startswith first arg must be str or a tuple of str, not %s", TypeName(v))
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
		s, _ := Text(x)
		t, ok := Text(a[0])
		if !ok {
			return nil, TypeError("removeprefix() argument must be str, not %s", TypeName(a[0]))
		}
		v, err := m.show(s)
		if err != nil {
			return nil, err
		}
		from, to := trim(v.plain, m.plain(t))
		return Like(x, v.cut(from, to)), m.Read(t)
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
		sub, isText := Text(a[0])
		if !isText {
			return nil, TypeError("must be str, not %s", TypeName(a[0]))
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
			return nil, ValueError("substring not found")
		}
		return int64(-1), nil
	}
}

func countMethod(m *Machine, x Value, a []Value) (Value, error) {
	sub, isText := Text(a[0])
	if !isText {
		return nil, TypeError("must be str, not %s", TypeName(a[0]))
	}
	s, _, ok, err := window(m, x, a[1], a[2])
	if err != nil || !ok {
		return int64(0), err
	}
	return int64(strings.Count(m.plain(s), m.plain(sub))), nil
}

func replaceMethod(m *Machine, x Value, a []Value) (Value, error) {
	old, ok1 := Text(a[0])
	with, ok2 := Text(a[1])
	if !ok1 || !ok2 {
		return nil, TypeError("replace() arguments must be str")
	}
	n, err := IntArg("replace", a[2], -1)
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
	s, _ := Text(x)
	s, err = Replace(m, s, old, with, n)
	return Like(x, s), err
}

// Replace replaces the first n occurrences, all if n is negative.
func Replace(m *Machine, s, old, with string, n int) (string, error) {
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
	sep, _ := Text(x)
	_, safe := x.(Markup)
	var b strings.Builder
	i := 0
	err := m.Each(a[0], func(v Value) (bool, error) {
		s, ok := Text(v)
		if safe {
			e, err := m.Escape(v)
			if err != nil {
				return false, err
			}
			s, ok = string(e), true
		}
		if !ok {
			return false, TypeError("sequence item %d: expected str instance, %s found", i, TypeName(v))
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
	return Like(x, b.String()), err
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

// Pad makes the methods center, ljust and rjust.
func Pad(align rune) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		s, _ := Text(x)
		width, err := IntArg("center", a[0], 0)
		if err != nil {
			return nil, err
		}
		fill := " "
		if a[1] != Missing {
			fill, _ = Text(a[1])
			if utf8.RuneCountInString(fill) != 1 {
				return nil, TypeError("the fill character must be exactly one character long")
			}
		}
		s, err = padText(m, s, width, align, fill)
		return Like(x, s), err
	}
}

func zfill(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := Text(x)
	width, err := IntArg("zfill", a[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if r, n := utf8.DecodeRuneInString(s); m.mark(r) == '-' || m.mark(r) == '+' {
		sign, s = s[:n], s[n:]
	}
	s, err = padText(m, s, width-utf8.RuneCountInString(sign), '>', "0")
	return Like(x, sign+s), err
}

func expandtabs(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := Text(x)
	size, err := IntArg("expandtabs", a[0], 8)
	if err != nil {
		return nil, err
	}
	if size > 1000 {
		return nil, Fail(KindLimit, "tab size above 1000")
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
	return Like(x, b.String()), nil
}
