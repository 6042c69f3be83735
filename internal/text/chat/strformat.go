package chat

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWidth bounds widths and precisions in format strings.
const maxWidth = 100_000

// A spec is Python's format specification: [[fill]align][sign][z][#][0][width][,][.precision][type].
type spec struct {
	fill        string
	align, sign rune // 0 where not given
	alt, zero   bool
	negZero     bool // z: -0.0 prints as 0.0
	width, prec int  // -1 where not given
	group       string
	typ         byte // 0 where not given
}

func parseSpec(s string) (p spec, err error) {
	p = spec{fill: " ", width: -1, prec: -1}
	filled := false
	if r, n := utf8.DecodeRuneInString(s); n < len(s) && strings.IndexByte("<>=^", s[n]) >= 0 {
		p.fill, p.align, filled = string(r), rune(s[n]), true
		s = s[n+1:]
	} else if s != "" && strings.IndexByte("<>=^", s[0]) >= 0 {
		p.align = rune(s[0])
		s = s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		p.sign = rune(s[0])
		s = s[1:]
	}
	if strings.HasPrefix(s, "z") {
		p.negZero, s = true, s[1:]
	}
	if strings.HasPrefix(s, "#") {
		p.alt, s = true, s[1:]
	}
	if strings.HasPrefix(s, "0") {
		if !filled {
			p.fill = "0"
		}
		if p.align == 0 {
			p.align, p.zero = '=', true
		}
		s = s[1:]
	}
	if p.width, s, err = leadingInt(s); err != nil {
		return p, err
	}
	if s != "" && (s[0] == ',' || s[0] == '_') {
		p.group, s = s[:1], s[1:]
	}
	if strings.HasPrefix(s, ".") {
		if p.prec, s, err = leadingInt(s[1:]); err != nil {
			return p, err
		}
		if p.prec < 0 {
			return p, valueError("Format specifier missing precision")
		}
	}
	if len(s) > 1 {
		return p, valueError("Invalid format specifier")
	}
	if s != "" {
		p.typ = s[0]
	}
	return p, nil
}

// leadingInt reads leading digits, -1 where there is none.
func leadingInt(s string) (n int, rest string, err error) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return -1, s, nil
	}
	n, err = strconv.Atoi(s[:i])
	if err != nil || n > maxWidth {
		return 0, s, fail(kindLimit, "width or precision above %d", maxWidth)
	}
	return n, s[i:], nil
}

// formatValue is Python's format(v, spec).
func formatValue(m *Machine, v Value, s string) (string, error) {
	if s == "" {
		return m.Str(v)
	}
	switch v.(type) {
	case string, Markup, bool, int64, *big.Int, float64:
	case *undefined:
		return "", typeError("unsupported format string passed to Undefined.__format__")
	default:
		return "", typeError("unsupported format string passed to %s.__format__", typeName(v))
	}
	p, err := parseSpec(m.plain(s))
	if err != nil {
		return "", err
	}
	if t, ok := text(v); ok {
		return formatText(m, t, p)
	}
	if b, ok := v.(bool); ok && p.typ == 0 { // bool is an int here
		v = boolInt(b)
	}
	out, err := formatNumber(m, v, p)
	if p.typ == 'c' {
		return out, err
	}
	return m.dye(out), err
}

func formatText(m *Machine, t string, p spec) (string, error) {
	switch {
	case p.typ != 0 && p.typ != 's':
		return "", valueError("Unknown format code '%c' for object of type 'str'", p.typ)
	case p.sign != 0:
		return "", valueError("Sign not allowed in string format specifier")
	case p.negZero:
		return "", valueError("Negative zero coercion (z) not allowed in string format specifier")
	case p.alt:
		return "", valueError("Alternate form (#) not allowed in string format specifier")
	case p.align == '=' && !p.zero:
		return "", valueError("'=' alignment not allowed in string format specifier")
	case p.group != "":
		return "", valueError("Cannot specify '%s' with 's'.", p.group)
	}
	if p.prec >= 0 {
		t = t[:runeOffset(t, p.prec)]
	}
	if p.align == 0 || p.align == '=' {
		p.align = '<'
	}
	return padSpec(m, t, p)
}

func padSpec(m *Machine, s string, p spec) (string, error) {
	n := p.width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s, m.Alloc(len(s))
	}
	if err := m.Alloc(len(s) + n*len(p.fill)); err != nil {
		return "", err
	}
	left := n
	switch p.align {
	case '<':
		left = 0
	case '^':
		left = n / 2
	}
	return strings.Repeat(p.fill, left) + s + strings.Repeat(p.fill, n-left), nil
}

func formatNumber(m *Machine, v Value, p spec) (string, error) {
	if p.typ == 's' {
		return "", valueError("Unknown format code 's' for object of type '%s'", typeName(v))
	}
	i, isInt := asInt(v)
	prefix, digits := "", ""
	neg := false
	switch {
	case isInt && (p.typ == 0 || strings.IndexByte("bcdnoxX", p.typ) >= 0):
		if err := checkInteger(p); err != nil {
			return "", err
		}
		b := toBig(i)
		neg = b.Sign() < 0
		abs := new(big.Int).Abs(b)
		switch p.typ {
		case 'c':
			if !abs.IsInt64() || abs.Int64() > utf8.MaxRune || neg {
				return "", fail(kindOverflow, "%%c arg not in range(0x110000)")
			}
			digits = string(rune(abs.Int64()))
		case 'b', 'o', 'x', 'X':
			digits = abs.Text(map[byte]int{'b': 2, 'o': 8, 'x': 16, 'X': 16}[p.typ])
			if p.alt {
				prefix = "0" + string(p.typ)
			}
			if p.typ == 'X' {
				digits = strings.ToUpper(digits)
			}
		default:
			digits = abs.String()
		}
	case p.typ == 0 || strings.IndexByte("eEfFgGn%", p.typ) >= 0:
		f, _ := asFloat(v)
		if math.IsInf(f, 0) && isInt {
			return "", fail(kindOverflow, "int too large to convert to float")
		}
		neg = math.Signbit(f) && !math.IsNaN(f)
		digits = floatDigits(math.Abs(f), p)
		if neg && p.negZero && strings.Trim(digits, "0.") == "" {
			neg = false
		}
	default:
		return "", valueError("Unknown format code '%c' for object of type '%s'", p.typ, typeName(v))
	}
	sign := ""
	if neg {
		sign = "-"
	} else if p.sign == '+' || p.sign == ' ' {
		sign = string(p.sign)
	}
	if p.group != "" {
		every := 3
		if p.group == "_" && p.typ != 0 && strings.IndexByte("boxX", p.typ) >= 0 {
			every = 4
		}
		width := 0
		if p.align == '=' && p.fill == "0" {
			width = p.width - len(sign) - len(prefix)
		}
		digits = grouped(digits, p.group, every, width)
	}
	if p.align == '=' {
		p.width -= utf8.RuneCountInString(sign + prefix)
		p.align = '>'
		s, err := padSpec(m, digits, p)
		return sign + prefix + s, err
	}
	if p.align == 0 {
		p.align = '>'
	}
	return padSpec(m, sign+prefix+digits, p)
}

// checkInteger rejects specifications that are invalid for integers.
func checkInteger(p spec) error {
	switch {
	case p.prec >= 0:
		return valueError("Precision not allowed in integer format specifier")
	case p.negZero:
		return valueError("Negative zero coercion (z) not allowed in format specifier with integer")
	case p.typ == 'c' && p.sign != 0:
		return valueError("Sign not allowed with integer format specifier 'c'")
	case p.typ == 'c' && p.alt:
		return valueError("Alternate form (#) not allowed with integer format specifier 'c'")
	case p.group != "" && (p.typ == 'c' || p.typ == 'n'), p.group == "," && p.typ != 0 && p.typ != 'd':
		return valueError("Cannot specify '%s' with '%c'.", p.group, p.typ)
	}
	return nil
}

// grouped puts a separator between groups of digits before the point, after
// filling with zeros up to width.
func grouped(s, sep string, every, width int) string {
	whole, rest := s, ""
	if i := strings.IndexFunc(s, func(r rune) bool { return r == '.' || r == 'e' || r == 'E' || r == '%' }); i >= 0 {
		whole, rest = s[:i], s[i:]
	}
	if n := width - len(rest); len(whole)+(len(whole)-1)/every < n {
		digits := n - n/(every+1) // in n places, with one separator for each group of digits
		if n%(every+1) == 0 {     // where a separator would come first
			digits++
		}
		whole = strings.Repeat("0", digits-len(whole)) + whole
	}
	var b strings.Builder
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%every == 0 {
			b.WriteString(sep)
		}
		b.WriteRune(c)
	}
	return b.String() + rest
}

// floatDigits formats a float that is not negative.
func floatDigits(f float64, p spec) string {
	upperCase := p.typ == 'E' || p.typ == 'F' || p.typ == 'G'
	s := ""
	prec := p.prec
	if prec < 0 {
		prec = 6
	}
	switch {
	case math.IsInf(f, 0):
		s = "inf"
	case math.IsNaN(f):
		s = "nan"
	case p.typ == 'f' || p.typ == 'F':
		s = strconv.FormatFloat(f, 'f', prec, 64)
	case p.typ == 'e' || p.typ == 'E':
		s = strconv.FormatFloat(f, 'e', prec, 64)
	case p.typ == '%':
		s = strconv.FormatFloat(f*100, 'f', prec, 64)
	case p.typ == 0 && p.prec < 0:
		s = formatFloat(f)
	default:
		s = general(f, max(prec, 1), p.alt, p.typ == 0)
	}
	if p.alt && !strings.Contains(s, ".") && s != "inf" && s != "nan" {
		if i := strings.IndexByte(s, 'e'); i >= 0 {
			s = s[:i] + "." + s[i:]
		} else {
			s += "."
		}
	}
	if p.typ == '%' {
		s += "%"
	}
	if upperCase {
		s = strings.ToUpper(s)
	}
	return s
}

// general is the format g; the form without a type keeps one digit after the
// point and switches to the exponent one digit earlier.
func general(f float64, prec int, keep, untyped bool) string {
	e := strconv.FormatFloat(f, 'e', prec-1, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	limit := prec
	if untyped {
		limit--
	}
	if exp >= -4 && exp < max(limit, 0) {
		s := strconv.FormatFloat(f, 'f', max(prec-1-exp, 0), 64)
		if !keep && strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		if untyped && !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mant, tail := e[:strings.IndexByte(e, 'e')], e[strings.IndexByte(e, 'e'):]
	if !keep && strings.Contains(mant, ".") {
		mant = strings.TrimRight(strings.TrimRight(mant, "0"), ".")
	}
	return mant + tail
}

// formatMethod is str.format, whose fields go through the sandbox.
func formatMethod(m *Machine, x Value, a *Args) (Value, error) {
	s, _ := text(x)
	f := formatter{m: m, pos: a.Pos, named: func(name string) (Value, bool) {
		for _, k := range a.Named {
			if k.Name == name {
				return k.Value, true
			}
		}
		return nil, false
	}}
	_, f.safe = x.(Markup)
	out, err := f.run(s, 0)
	return like(x, out), err
}

func formatMap(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	f := formatter{m: m, named: func(name string) (Value, bool) { return nil, false }}
	switch d := a[0].(type) {
	case *Map:
		f.named = func(name string) (Value, bool) { return d.Get(name) }
	case *undefined:
		f.unnamed = d.Err()
	default:
		f.unnamed = typeError("'%s' object is not subscriptable by name", typeName(d))
	}
	_, f.safe = x.(Markup)
	out, err := f.run(s, 0)
	return like(x, out), err
}

type formatter struct {
	m       *Machine
	pos     []Value
	named   func(string) (Value, bool)
	unnamed error // of asking for a name, where that fails in another way
	auto    int   // next automatic field
	manual  bool
	safe    bool
}

func (f *formatter) run(s string, depth int) (string, error) {
	if depth > 2 {
		return "", valueError("Max string recursion exceeded")
	}
	var b strings.Builder
	put := func(t string) error {
		b.WriteString(t)
		return f.m.Alloc(len(t))
	}
	v, err := f.m.show(s)
	if err != nil {
		return "", err
	}
	for s = v.plain; s != ""; {
		at := len(v.plain) - len(s)
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			i = len(s)
		}
		if err := put(v.cut(at, at+i)); err != nil {
			return "", err
		}
		if s = s[i:]; s == "" {
			break
		}
		if len(s) > 1 && s[1] == s[0] {
			b.WriteString(v.cut(at+i, at+i+1))
			s = s[2:]
			continue
		}
		if s[0] == '}' {
			return "", valueError("Single '}' encountered in format string")
		}
		level, end := 1, 1
		for ; end < len(s) && level > 0; end++ {
			switch s[end] {
			case '{':
				level++
			case '}':
				level--
			}
		}
		if level > 0 {
			return "", valueError("expected '}' before end of string")
		}
		t, err := f.field(s[1:end-1], depth)
		if err != nil {
			return "", err
		}
		if err := put(t); err != nil {
			return "", err
		}
		s = s[end:]
	}
	return b.String(), nil
}

// field formats "name!conversion:spec".
func (f *formatter) field(s string, depth int) (string, error) {
	name, spec, conv := s, "", byte(0)
	brackets := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '[':
			brackets++
		case c == ']':
			brackets--
		case brackets <= 0 && c == ':':
			name, spec = s[:i], s[i+1:]
		case brackets <= 0 && c == '!':
			if i+2 > len(s) || i+2 < len(s) && s[i+2] != ':' {
				return "", valueError("expected ':' after conversion specifier")
			}
			if i+1 >= len(s) {
				return "", valueError("end of string while looking for conversion specifier")
			}
			name, conv = s[:i], s[i+1]
			if i+2 < len(s) {
				spec = s[i+3:]
			}
		default:
			continue
		}
		if len(name) < len(s) {
			break
		}
	}
	v, err := f.value(name)
	if err != nil {
		return "", err
	}
	switch conv {
	case 0:
	case 's':
		v, err = f.m.Str(v)
	case 'r':
		v, err = f.m.Repr(v)
	case 'a':
		var s string
		s, err = f.m.Repr(v)
		v = f.m.through(s, asciiOnly)
	default:
		err = valueError("Unknown conversion specifier %c", conv)
	}
	if err != nil {
		return "", err
	}
	if spec, err = f.run(spec, depth+1); err != nil {
		return "", err
	}
	t, err := formatValue(f.m, v, spec)
	if err == nil && f.safe {
		if _, ok := v.(Markup); !ok {
			t, err = f.m.EscapeText(t)
		}
	}
	return t, err
}

// value looks up "first.attr[item]…".
func (f *formatter) value(name string) (Value, error) {
	i := strings.IndexAny(name, ".[")
	if i < 0 {
		i = len(name)
	}
	first, rest := name[:i], name[i:]
	n, err := strconv.Atoi(first)
	isNumber := err == nil && first[0] != '-' && first[0] != '+'
	if name == "" {
		if f.manual {
			return nil, valueError("cannot switch from manual field specification to automatic field numbering")
		}
		n, isNumber = f.auto, true
		f.auto++
	} else if isNumber {
		if f.auto > 0 {
			return nil, valueError("cannot switch from automatic field numbering to manual field specification")
		}
		f.manual = true
	}
	var v Value
	if isNumber {
		if n >= len(f.pos) {
			return nil, fail(kindValue, "Replacement index %d out of range for positional args tuple", n)
		}
		v = f.pos[n]
	} else {
		var ok bool
		if v, ok = f.named(first); !ok && f.unnamed != nil {
			return nil, f.unnamed
		} else if !ok {
			return nil, fail(kindValue, "no argument named %s", repr(first))
		}
	}
	for rest != "" {
		if err := f.m.Step(1); err != nil {
			return nil, err
		}
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			v, err = attr(f.m, v, rest[1:end])
			rest = rest[end:]
		} else {
			end := strings.IndexByte(rest, ']')
			if rest[0] != '[' || end < 2 {
				return nil, valueError("Missing ']' in format string")
			}
			key := Value(rest[1:end])
			if n, err := strconv.ParseInt(rest[1:end], 10, 64); err == nil && rest[1] != '-' && rest[1] != '+' {
				key = n
			}
			v, err = item(f.m, v, key)
			rest = rest[end+1:]
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// asciiOnly is Python's ascii() of what repr gave.
func asciiOnly(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}
