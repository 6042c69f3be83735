package chat

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// percent is Python's s % args.
func percent(m *Machine, model Value, s string, args Value) (Value, error) {
	tuple, isTuple := args.(*Tuple)
	list := []Value{args}
	if isTuple {
		list = tuple.Items
	}
	_, safe := model.(Markup)
	in := &operands{list: list}
	v, err := m.show(s)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for at := 0; ; {
		i := strings.IndexByte(v.plain[at:], '%')
		if i < 0 {
			b.WriteString(v.cut(at, len(v.plain)))
			if err := m.Alloc(len(v.plain) - at); err != nil {
				return nil, err
			}
			break
		}
		b.WriteString(v.cut(at, at+i))
		if err := m.Alloc(i); err != nil {
			return nil, err
		}
		at += i + 1
		if strings.HasPrefix(v.plain[at:], "%") {
			b.WriteString(v.cut(at, at+1))
			at++
			continue
		}
		t, rest, err := directive(m, v.plain[at:], args, in, safe)
		if err != nil {
			return nil, err
		}
		b.WriteString(t)
		at = len(v.plain) - len(rest)
	}
	if _, isMap := args.(*Map); in.used < len(list) && !isMap {
		switch args.(type) {
		case *List, *undefined: // Python takes these for mappings
		default:
			return nil, typeError("not all arguments converted during string formatting")
		}
	}
	return like(model, b.String()), nil
}

// operands are the operands of the % operator, read one by one.
type operands struct {
	list []Value
	used int
}

func (o *operands) next() (Value, error) {
	if o.used >= len(o.list) {
		return nil, typeError("not enough arguments for format string")
	}
	o.used++
	return o.list[o.used-1], nil
}

// mapped records that the operand was used as a mapping: it is not an operand
// itself then.
func (o *operands) mapped() { o.used = len(o.list) }

// directive formats one %-directive, s starting behind the %.
func directive(m *Machine, s string, args Value, in *operands, safe bool) (out, rest string, err error) {
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
		in.mapped()
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
		v, err := in.next()
		if err != nil {
			return 0, err
		}
		n, ok := smallInt(v)
		if !ok {
			return 0, typeError("* wants int")
		}
		if n > maxWidth || n < -maxWidth {
			return 0, fail(kindLimit, "width or precision above %d", maxWidth)
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
	} else if p.width, s, err = leadingInt(s); err != nil {
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
		} else if p.prec, s, err = leadingInt(s); err != nil {
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
	v := named
	if v == missing {
		if v, err = in.next(); err != nil {
			return "", "", err
		}
	}
	out, err = convertArg(m, v, c, p, safe)
	return out, rest, err
}

// convertArg formats one argument of %.
func convertArg(m *Machine, v Value, c rune, p spec, safe bool) (out string, err error) {
	switch c {
	case 's', 'r', 'a':
		if c == 's' {
			out, err = m.Str(v)
		} else {
			out, err = m.Repr(v)
		}
		if c == 'a' {
			out = m.through(out, asciiOnly)
		}
		if _, ok := v.(Markup); err == nil && safe && !ok {
			out, err = m.EscapeText(out)
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
		if !ok {
			return "", typeError("%%c requires int or char")
		}
		if i < 0 || i > utf8.MaxRune {
			return "", fail(kindOverflow, "%%c arg not in range(0x110000)")
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
			if u, ok := v.(*undefined); ok && (c == 'd' || c == 'i' || c == 'u') {
				return "", u.Err() // %d converts it to int; the other formats require one
			}
			return "", typeError("%%%c format: a real number is required, not %s", c, typeName(v))
		}
		p.typ = 'd'
		if c == 'o' || c == 'x' || c == 'X' {
			p.typ = byte(c)
		}
		minDigits := p.prec
		p.prec = -1
		out, err = convertNumber(m, i, p, minDigits)
		return m.dye(out), err
	case 'e', 'E', 'f', 'F', 'g', 'G':
		f, ok := asFloat(v)
		if !ok {
			if u, ok := v.(*undefined); ok {
				return "", u.Err()
			}
			return "", typeError("must be real number, not %s", typeName(v))
		}
		p.typ = byte(c)
		out, err = convertNumber(m, f, p, -1)
		return m.dye(out), err
	default:
		return "", valueError("unsupported format character '%c'", c)
	}
	if err != nil {
		return "", err
	}
	return padSpec(m, out, p)
}

func convertNumber(m *Machine, v Value, p spec, minDigits int) (string, error) {
	if minDigits >= 0 {
		q := p
		q.width, q.fill, q.align = -1, " ", '>'
		s, err := formatNumber(m, v, q)
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
		if n := p.width - len(s); p.zero && p.align == '>' && n > 0 {
			if err := m.Alloc(n); err != nil {
				return "", err
			}
			return s[:cut] + strings.Repeat("0", n) + s[cut:], nil
		}
		return padSpec(m, s, p)
	}
	if p.zero && p.align == '>' {
		p.fill, p.align = "0", '='
	}
	return formatNumber(m, v, p)
}

// floatToInt is int(f).
func floatToInt(f float64) (Value, error) {
	if math.IsNaN(f) {
		return nil, valueError("cannot convert float NaN to integer")
	}
	if math.IsInf(f, 0) {
		return nil, fail(kindOverflow, "cannot convert float infinity to integer")
	}
	if math.Abs(f) < 1<<62 {
		return int64(f), nil
	}
	b, _ := big.NewFloat(f).Int(nil)
	return fromBig(b)
}
