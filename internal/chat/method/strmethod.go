package method

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"atenia/internal/chat/object"
)

// mapped is a method without arguments from string to string.
func mapped(fn func(string) string) *object.Func {
	return object.NewFunc("", func(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
		s, _ := object.Text(x)
		if err := m.Alloc(2 * len(s)); err != nil {
			return nil, err
		}
		return object.Like(x, fn(s)), nil
	})
}

// asks is a method without arguments from string to bool.
func asks(fn func(string) bool) *object.Func {
	return object.NewFunc("", func(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
		s, _ := object.Text(x)
		return fn(s), m.Step(len(s) / 32)
	})
}

// Strings are the methods of str.
var Strings map[string]*object.Func

func defineStringMethods() {
	Strings = map[string]*object.Func{
		"upper": mapped(object.Upper), "lower": mapped(object.Lower), "casefold": mapped(object.Casefold), "title": mapped(object.Title),
		"capitalize": mapped(object.Capitalize), "swapcase": mapped(object.Swapcase),
		"isalnum": asks(object.Every(object.IsAlnum)), "isalpha": asks(object.Every(unicode.IsLetter)), "isascii": asks(object.IsASCII),
		"isdecimal": asks(object.Every(object.IsDecimal)), "isdigit": asks(object.Every(object.IsDigit)), "isnumeric": asks(object.Every(object.IsNumeric)),
		"isidentifier": asks(object.IsIdentifier), "islower": asks(object.IsLower), "isupper": asks(object.IsUpper), "istitle": asks(object.IsTitle),
		"isspace": asks(object.Every(object.IsSpace)), "isprintable": asks(object.IsPrintable),
		"strip": object.NewPositional("chars?", stripper(true, true)), "lstrip": object.NewPositional("chars?", stripper(true, false)), "rstrip": object.NewPositional("chars?", stripper(false, true)),
		"split": object.NewFunc("sep? maxsplit?", splitMethod), "rsplit": object.NewFunc("sep? maxsplit?", rsplitMethod), "splitlines": object.NewFunc("keepends?", splitlinesMethod),
		"partition": object.NewPositional("sep", partition), "rpartition": object.NewPositional("sep", rpartition),
		"startswith": object.NewPositional("prefix start? end?", affix(strings.HasPrefix)), "endswith": object.NewPositional("suffix start? end?", affix(strings.HasSuffix)),
		"removeprefix": object.NewPositional("prefix", remover(strings.TrimPrefix)), "removesuffix": object.NewPositional("suffix", remover(strings.TrimSuffix)),
		"find": object.NewPositional("sub start? end?", finder(strings.Index, false)), "rfind": object.NewPositional("sub start? end?", finder(strings.LastIndex, false)),
		"index": object.NewPositional("sub start? end?", finder(strings.Index, true)), "rindex": object.NewPositional("sub start? end?", finder(strings.LastIndex, true)),
		"count": object.NewPositional("sub start? end?", countMethod), "replace": object.NewPositional("old new count?", replaceMethod), "join": object.NewPositional("iterable", joinMethod),
		"center": object.NewPositional("width fillchar?", Pad('^')), "ljust": object.NewPositional("width fillchar?", Pad('<')), "rjust": object.NewPositional("width fillchar?", Pad('>')),
		"zfill": object.NewPositional("width", zfill), "expandtabs": object.NewFunc("tabsize?", expandtabs),
		"translate": object.NewPositional("table", translate), "maketrans": object.NewPositional("x y? z?", makeTranslation),
		"format": object.NewRaw(formatMethod), "format_map": object.NewPositional("mapping", formatMap),
	}
}

// argText returns a string argument; absent and None give ok false.
func argText(fn, name string, v object.Value) (s string, ok bool, err error) {
	if v == object.Missing || v == nil {
		return "", false, nil
	}
	if s, ok = object.Text(v); !ok {
		return "", false, object.TypeError("%s() argument '%s' must be str, not %s", fn, name, object.TypeName(v))
	}
	return s, true, nil
}

// IntArg returns an integer argument, or def where it is absent.
func IntArg(fn string, v object.Value, def int) (int, error) {
	if v == object.Missing {
		return def, nil
	}
	if i, ok := object.SmallInt(v); ok {
		return int(i), nil
	}
	return 0, object.TypeError("%s(): '%s' object cannot be interpreted as an integer", fn, object.TypeName(v))
}

func stripper(left, right bool) func(*object.Machine, object.Value, []object.Value) (object.Value, error) {
	return func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
		s, _ := object.Text(x)
		chars, given, err := argText("strip", "chars", a[0])
		if err != nil {
			return nil, err
		}
		if err := m.Step(len(s)/32*(1+len(chars)/8) + len(chars)/32); err != nil {
			return nil, err
		}
		cut := object.IsSpace
		if given {
			cut = func(r rune) bool { return strings.ContainsRune(chars, r) }
		}
		if left {
			s = strings.TrimLeftFunc(s, cut)
		}
		if right {
			s = strings.TrimRightFunc(s, cut)
		}
		return object.Like(x, s), nil
	}
}

// list makes a list of strings of the kind of model.
func stringList(m *object.Machine, model object.Value, parts []string) (object.Value, error) {
	if err := m.Alloc(32 * len(parts)); err != nil {
		return nil, err
	}
	items := make([]object.Value, len(parts))
	for i, p := range parts {
		items[i] = object.Like(model, p)
	}
	return &object.List{Items: items}, nil
}

func splitArgs(m *object.Machine, x object.Value, a []object.Value) (s, sep string, given bool, limit int, err error) {
	s, _ = object.Text(x)
	if sep, given, err = argText("split", "sep", a[0]); err != nil {
		return
	}
	if given && sep == "" {
		err = object.ValueError("empty separator")
		return
	}
	if limit, err = IntArg("split", a[1], -1); err != nil {
		return
	}
	if limit < 0 {
		limit = len(s) + 1
	}
	err = m.Alloc(len(s)) // the parts' headers: at most one each 16 bytes of budget twice over
	return
}

func splitMethod(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
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
		return stringList(m, x, append(parts, s))
	}
	for s = strings.TrimLeftFunc(s, object.IsSpace); s != ""; s = strings.TrimLeftFunc(s, object.IsSpace) {
		i := strings.IndexFunc(s, object.IsSpace)
		if len(parts) == limit || i < 0 {
			parts = append(parts, s)
			break
		}
		parts = append(parts, s[:i])
		s = s[i:]
	}
	return stringList(m, x, parts)
}

func rsplitMethod(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
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
		for s = strings.TrimRightFunc(s, object.IsSpace); s != ""; s = strings.TrimRightFunc(s, object.IsSpace) {
			i := strings.LastIndexFunc(s, object.IsSpace)
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
	return stringList(m, x, parts)
}

// Lines splits where str.splitlines does.
func Lines(s string, keep bool) []string {
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

func splitlinesMethod(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	s, _ := object.Text(x)
	if err := m.Alloc(len(s)); err != nil {
		return nil, err
	}
	keep, err := IntArg("splitlines", a[0], 0)
	if err != nil {
		return nil, err
	}
	return stringList(m, x, Lines(s, keep != 0))
}

func sepArg(a []object.Value) (string, error) {
	sep, ok, err := argText("partition", "sep", a[0])
	if err == nil && !ok {
		err = object.TypeError("must be str, not %s", object.TypeName(a[0]))
	}
	if err == nil && sep == "" {
		err = object.ValueError("empty separator")
	}
	return sep, err
}

func partition(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	s, _ := object.Text(x)
	sep, err := sepArg(a)
	if err != nil {
		return nil, err
	}
	before, after, ok := strings.Cut(s, sep)
	if !ok {
		sep = ""
	}
	return &object.Tuple{Items: []object.Value{object.Like(x, before), object.Like(x, sep), object.Like(x, after)}}, m.Alloc(len(s))
}

func rpartition(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	s, _ := object.Text(x)
	sep, err := sepArg(a)
	if err != nil {
		return nil, err
	}
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return &object.Tuple{Items: []object.Value{object.Like(x, ""), object.Like(x, ""), object.Like(x, s)}}, m.Alloc(len(s))
	}
	return &object.Tuple{Items: []object.Value{object.Like(x, s[:i]), object.Like(x, sep), object.Like(x, s[i+len(sep):])}}, m.Alloc(len(s))
}

// window applies the optional start and end of find, count, startswith; ok is
// false when start is behind the end of the string.
func window(m *object.Machine, x object.Value, start, end object.Value) (s string, offset int, ok bool, err error) {
	s, _ = object.Text(x)
	if err := m.Read(s); err != nil {
		return "", 0, false, err
	}
	if start == object.Missing && end == object.Missing {
		return s, 0, true, nil
	}
	for _, b := range []*object.Value{&start, &end} {
		if *b == object.Missing {
			*b = nil
		}
	}
	n := utf8.RuneCountInString(s)
	if i, isInt := object.SmallInt(start); isInt && i > int64(n) {
		return "", 0, false, nil
	}
	from, _, _, count, err := sliceBounds(n, [3]object.Value{start, end, nil})
	if err != nil {
		return "", 0, false, err
	}
	if e, isInt := object.SmallInt(end); isInt && count == 0 { // start > end: nothing is found, not even ""
		if e < 0 {
			e += int64(n)
		}
		if int64(from) > max(e, 0) {
			return "", 0, false, nil
		}
	}
	return sliceString(s, from, 1, count), from, true, nil
}

func affix(has func(s, affix string) bool) func(*object.Machine, object.Value, []object.Value) (object.Value, error) {
	return func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
		s, _, ok, err := window(m, x, a[1], a[2])
		if err != nil {
			return nil, err
		}
		all := []object.Value{a[0]}
		if t, ok := a[0].(*object.Tuple); ok {
			all = t.Items
		}
		if err := m.Step((len(s)/32 + 1) * len(all)); err != nil {
			return nil, err
		}
		for _, v := range all {
			t, isText := object.Text(v)
			if !isText {
				return nil, object.TypeError("startswith first arg must be str or a tuple of str, not %s", object.TypeName(v))
			}
			if ok && has(s, t) {
				return true, nil
			}
		}
		return false, nil
	}
}

func remover(trim func(s, affix string) string) func(*object.Machine, object.Value, []object.Value) (object.Value, error) {
	return func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
		s, _ := object.Text(x)
		t, ok := object.Text(a[0])
		if !ok {
			return nil, object.TypeError("removeprefix() argument must be str, not %s", object.TypeName(a[0]))
		}
		return object.Like(x, trim(s, t)), m.Read(t)
	}
}

func finder(index func(s, sub string) int, must bool) func(*object.Machine, object.Value, []object.Value) (object.Value, error) {
	return func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
		sub, isText := object.Text(a[0])
		if !isText {
			return nil, object.TypeError("must be str, not %s", object.TypeName(a[0]))
		}
		s, offset, ok, err := window(m, x, a[1], a[2])
		if err != nil {
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
			return nil, object.ValueError("substring not found")
		}
		return int64(-1), nil
	}
}

func countMethod(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	sub, isText := object.Text(a[0])
	if !isText {
		return nil, object.TypeError("must be str, not %s", object.TypeName(a[0]))
	}
	s, _, ok, err := window(m, x, a[1], a[2])
	if err != nil || !ok {
		return int64(0), err
	}
	return int64(strings.Count(s, sub)), nil
}

func replaceMethod(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	old, ok1 := object.Text(a[0])
	with, ok2 := object.Text(a[1])
	if !ok1 || !ok2 {
		return nil, object.TypeError("replace() arguments must be str")
	}
	n, err := IntArg("replace", a[2], -1)
	if err != nil {
		return nil, err
	}
	if _, ok := x.(object.Markup); ok {
		e, err := m.Escape(a[1])
		if err != nil {
			return nil, err
		}
		with = string(e)
	}
	s, _ := object.Text(x)
	s, err = Replace(m, s, old, with, n)
	return object.Like(x, s), err
}

// Replace replaces the first n occurrences, all if n is negative.
func Replace(m *object.Machine, s, old, with string, n int) (string, error) {
	if err := m.Alloc(len(s)); err != nil {
		return "", err
	}
	k := strings.Count(s, old)
	if n >= 0 {
		k = min(k, n)
	}
	if err := m.AllocEach(int64(k), len(with)); err != nil {
		return "", err
	}
	return strings.Replace(s, old, with, n), nil
}

func joinMethod(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	sep, _ := object.Text(x)
	_, safe := x.(object.Markup)
	var b strings.Builder
	i := 0
	err := m.Each(a[0], func(v object.Value) (bool, error) {
		s, ok := object.Text(v)
		if safe {
			e, err := m.Escape(v)
			if err != nil {
				return false, err
			}
			s, ok = string(e), true
		}
		if !ok {
			return false, object.TypeError("sequence item %d: expected str instance, %s found", i, object.TypeName(v))
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
	return object.Like(x, b.String()), err
}

// pad fills s to width code points; CPython puts the odd one of center on the
// left when width is odd.
func padText(m *object.Machine, s string, width int, align rune, fill string) (string, error) {
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
func Pad(align rune) func(*object.Machine, object.Value, []object.Value) (object.Value, error) {
	return func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
		s, _ := object.Text(x)
		width, err := IntArg("center", a[0], 0)
		if err != nil {
			return nil, err
		}
		fill := " "
		if a[1] != object.Missing {
			fill, _ = object.Text(a[1])
			if utf8.RuneCountInString(fill) != 1 {
				return nil, object.TypeError("the fill character must be exactly one character long")
			}
		}
		s, err = padText(m, s, width, align, fill)
		return object.Like(x, s), err
	}
}

func zfill(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	s, _ := object.Text(x)
	width, err := IntArg("zfill", a[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	s, err = padText(m, s, width-len(sign), '>', "0")
	return object.Like(x, sign+s), err
}

func expandtabs(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	s, _ := object.Text(x)
	size, err := IntArg("expandtabs", a[0], 8)
	if err != nil {
		return nil, err
	}
	if size > 1000 {
		return nil, object.Fail(object.KindLimit, "tab size above 1000")
	}
	if err := m.Alloc(len(s) + strings.Count(s, "\t")*max(size, 0)); err != nil {
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
	return object.Like(x, b.String()), nil
}
