package chat

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// percent is Python's s % args.
func (m *machine) percent(model Value, s string, args Value) (Value, error) {
	tuple, isTuple := args.(*Tuple)
	list := []Value{args}
	if isTuple {
		list = tuple.Items
	}
	_, safe := model.(markup)
	used := 0
	var b strings.Builder
	next := func() (Value, error) {
		if used >= len(list) {
			return nil, typeError("not enough arguments for format string")
		}
		used++
		return list[used-1], nil
	}
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			i = len(s)
		}
		b.WriteString(s[:i])
		if err := m.alloc(i); err != nil {
			return nil, err
		}
		if s = s[i:]; s == "" {
			break
		}
		t, rest, err := m.directive(s[1:], args, next, safe)
		if err != nil {
			return nil, err
		}
		b.WriteString(t)
		s = rest
	}
	if _, isMap := args.(*Map); used < len(list) && !isMap {
		switch args.(type) {
		case *List, *undefined: // Python takes these for mappings
		default:
			return nil, typeError("not all arguments converted during string formatting")
		}
	}
	return like(model, b.String()), nil
}

// directive formats one %-directive, s starting behind the %.
func (m *machine) directive(s string, args Value, next func() (Value, error), safe bool) (out, rest string, err error) {
	var named Value = missing
	if strings.HasPrefix(s, "(") {
		level, end := 1, 1
		for ; end < len(s) && level > 0; end++ {
			switch s[end] {
			case '(':
				level++
			case ')':
				level--
			}
		}
		if level > 0 {
			return "", "", valueError("incomplete format key")
		}
		d, ok := args.(*Map)
		if !ok {
			return "", "", typeError("format requires a mapping")
		}
		if named, ok = d.Get(s[1 : end-1]); !ok {
			return "", "", valueError("%s", repr(s[1:end-1]))
		}
		s = s[end:]
	}
	p := spec{fill: " ", width: -1, prec: -1, align: '>'}
	for ; s != "" && strings.IndexByte("#0- +", s[0]) >= 0; s = s[1:] {
		switch s[0] {
		case '#':
			p.alt = true
		case '0':
			p.zero = true
		case '-':
			p.align = '<'
		case ' ':
			if p.sign == 0 {
				p.sign = ' '
			}
		case '+':
			p.sign = '+'
		}
	}
	star := func() (int, error) {
		v, err := next()
		if err != nil {
			return 0, err
		}
		n, ok := smallInt(v)
		if !ok {
			return 0, typeError("* wants int")
		}
		if n > maxWidth || n < -maxWidth {
			return 0, fail(KindLimit, "width or precision above %d", maxWidth)
		}
		return int(n), nil
	}
	if strings.HasPrefix(s, "*") {
		if p.width, err = star(); err != nil {
			return "", "", err
		}
		if p.width < 0 {
			p.width, p.align = -p.width, '<'
		}
		s = s[1:]
	} else if p.width, s, err = number(s); err != nil {
		return "", "", err
	}
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		if strings.HasPrefix(s, "*") {
			if p.prec, err = star(); err != nil {
				return "", "", err
			}
			p.prec = max(p.prec, 0)
			s = s[1:]
		} else if p.prec, s, err = number(s); err != nil {
			return "", "", err
		}
		p.prec = max(p.prec, 0)
	}
	s = strings.TrimLeft(s, "hlL")
	if s == "" {
		return "", "", valueError("incomplete format")
	}
	c, n := utf8.DecodeRuneInString(s)
	rest = s[n:]
	if c == '%' {
		return "%", rest, nil
	}
	v := named
	if v == missing {
		if v, err = next(); err != nil {
			return "", "", err
		}
	}
	out, err = m.convert(v, c, p, safe)
	return out, rest, err
}

// convert formats one argument of %.
func (m *machine) convert(v Value, c rune, p spec, safe bool) (out string, err error) {
	switch c {
	case 's', 'r', 'a':
		if c == 's' {
			out, err = m.str(v)
		} else {
			out, err = m.reprOf(v)
		}
		if _, ok := v.(markup); err == nil && safe && !ok {
			out = htmlEscaper.Replace(out)
		}
		if err == nil && p.prec >= 0 {
			out = out[:runeOffset(out, p.prec)]
		}
	case 'c':
		if t, ok := text(v); ok && utf8.RuneCountInString(t) == 1 {
			out = t
			break
		}
		i, ok := smallInt(v)
		if !ok || i < 0 || i > utf8.MaxRune {
			return "", typeError("%%c requires int or char")
		}
		out = string(rune(i))
	case 'd', 'i', 'u', 'o', 'x', 'X':
		if f, ok := v.(float64); ok && (c == 'd' || c == 'i' || c == 'u') {
			if v, err = floatToInt(f); err != nil {
				return "", err
			}
		}
		i, ok := asInt(v)
		if !ok {
			if u, ok := v.(*undefined); ok {
				return "", u.err()
			}
			return "", typeError("%%%c format: a real number is required, not %s", c, typeName(v))
		}
		p.typ = 'd'
		if c == 'o' || c == 'x' || c == 'X' {
			p.typ = byte(c)
		}
		minDigits := p.prec
		p.prec = -1
		return m.convertNumber(i, p, minDigits)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		f, ok := asFloat(v)
		if !ok {
			if u, ok := v.(*undefined); ok {
				return "", u.err()
			}
			return "", typeError("must be real number, not %s", typeName(v))
		}
		p.typ = byte(c)
		return m.convertNumber(f, p, -1)
	default:
		return "", valueError("unsupported format character '%c'", c)
	}
	if err != nil {
		return "", err
	}
	return m.padSpec(out, p)
}

func (m *machine) convertNumber(v Value, p spec, minDigits int) (string, error) {
	if minDigits >= 0 {
		q := p
		q.width, q.fill, q.align = -1, " ", '>'
		s, err := m.formatNumber(v, q)
		if err != nil {
			return "", err
		}
		cut := 0
		for cut < len(s) && (s[cut] < '0' || s[cut] > '9') {
			cut++
		}
		if n := minDigits - (len(s) - cut); n > 0 {
			s = s[:cut] + strings.Repeat("0", n) + s[cut:]
		}
		if p.zero && p.align == '>' {
			p.fill = "0"
		}
		return m.padSpec(s, p)
	}
	if p.zero && p.align == '>' {
		p.fill, p.align = "0", '='
	}
	return m.formatNumber(v, p)
}

// floatToInt is int(f).
func floatToInt(f float64) (Value, error) {
	if math.IsNaN(f) {
		return nil, valueError("cannot convert float NaN to integer")
	}
	if math.IsInf(f, 0) {
		return nil, fail(KindOverflow, "cannot convert float infinity to integer")
	}
	if math.Abs(f) < 1<<62 {
		return int64(f), nil
	}
	b, _ := big.NewFloat(f).Int(nil)
	return fromBig(b)
}
