package chat

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"atenia/internal/spelling"
)

func absFilter(_ *Machine, x Value, _ []Value) (Value, error) {
	switch v := x.(type) {
	case float64:
		return math.Abs(v), nil
	}
	i, ok := asInt(x)
	if !ok {
		return nil, typeError("bad operand type for abs(): '%s'", typeName(x))
	}
	if toBig(i).Sign() < 0 {
		return signed("-", i)
	}
	return i, nil
}

// roundFilter is Python's round, half to even, which returns an int for an int;
// the methods ceil and floor always return a float.
func roundFilter(_ *Machine, x Value, a []Value) (Value, error) {
	mode, _ := text(given(a[1], "common"))
	if mode != "common" && mode != "ceil" && mode != "floor" {
		return nil, valueError("method must be common, ceil or floor")
	}
	whole := a[0] == nil && mode == "common" // round(x, None) is an int
	if whole {
		a[0] = int64(0)
	}
	prec, err := intArg("round", a[0], 0)
	if err != nil {
		return nil, err
	}
	if prec > 400 || prec < -400 {
		prec = min(max(prec, -400), 400)
	}
	f, ok := asFloat(x)
	if !ok {
		return nil, typeError("type %s doesn't define __round__ method", typeName(x))
	}
	i, isInt := asInt(x)
	if mode == "common" {
		if isInt {
			return roundInt(i, prec)
		}
		if whole {
			return floatToInt(roundFloat(f, 0))
		}
		return roundFloat(f, prec), nil
	}
	scaled := f
	if prec >= 0 {
		scaled = f * math.Pow10(prec)
	} else {
		scaled = f * math.Pow(10, float64(prec))
	}
	if math.IsNaN(scaled) || math.IsInf(scaled, 0) {
		return nil, fail(kindOverflow, "cannot convert float infinity to integer")
	}
	if mode == "ceil" {
		scaled = math.Ceil(scaled)
	} else {
		scaled = math.Floor(scaled)
	}
	if scaled == 0 {
		scaled = 0 // math.ceil gives an int, which has no -0
	}
	if prec >= 0 {
		return scaled / math.Pow10(prec), nil
	}
	return scaled / math.Pow(10, float64(prec)), nil
}

func roundFloat(f float64, prec int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 || prec > 330 {
		return f
	}
	if prec >= 0 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', prec, 64), 64)
		return r
	}
	e := strconv.FormatFloat(f, 'e', -1, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if exp+prec < -1 {
		return math.Copysign(0, f)
	}
	unit := math.Pow10(-prec)
	return math.RoundToEven(f/unit) * unit
}

func roundInt(i Value, prec int) (Value, error) {
	if prec >= 0 {
		return i, nil
	}
	b := toBig(i)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-prec)), nil)
	q, r := new(big.Int).DivMod(b, unit, new(big.Int))
	if c := new(big.Int).Lsh(r, 1).Cmp(unit); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return fromBig(q.Mul(q, unit))
}

// parseInt is Python's int(s, base).
func parseInt(s string, base int) (Value, bool) {
	s = strings.TrimFunc(s, isSpace)
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base != 0 && (base < 2 || base > 36) || len(s) > maxDigits || s == "" || strings.ContainsAny(s[:1], "+-_") {
		return nil, false
	}
	if len(s) > 1 && s[0] == '0' {
		b := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]
		if b != 0 && (base == b || base == 0) {
			s, base = strings.TrimPrefix(s[2:], "_"), b
		}
	}
	if base == 0 {
		base = 10
		if s[0] == '0' && strings.Trim(s, "0_") != "" {
			return nil, false
		}
	}
	if strings.Contains(s, "__") || strings.HasSuffix(s, "_") || strings.HasPrefix(s, "_") || strings.ContainsAny(s, "+-") {
		return nil, false
	}
	b, ok := new(big.Int).SetString(strings.ReplaceAll(asciiDigits(s), "_", ""), base)
	if !ok {
		return nil, false
	}
	if neg {
		b.Neg(b)
	}
	v, err := fromBig(b)
	return v, err == nil
}

// asciiDigits replaces decimal digits of other scripts: Unicode has each set
// of ten in a row that starts at a multiple of… no fixed place, so the value
// is counted from the nearest zero.
func asciiDigits(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < 0x80 || !isDecimal(r) {
			return r
		}
		n := rune(0)
		for n < 9 && isDecimal(r-n-1) {
			n++
		}
		return '0' + n
	}, s)
}

// parseFloat is Python's float(s).
func parseFloat(s string) (float64, bool) {
	s = asciiDigits(strings.TrimFunc(s, isSpace))
	if strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || len(s) > 1<<16 {
		return 0, false
	}
	for i := range len(s) { // an underscore stands between digits
		if s[i] == '_' && (i == 0 || i+1 == len(s) || s[i-1] < '0' || s[i-1] > '9' || s[i+1] < '0' || s[i+1] > '9') {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

func intFilter(m *Machine, x Value, a []Value) (Value, error) {
	def := given(a[0], int64(0))
	if b, ok := x.(byteString); ok { // Python reads the digits of both
		x, a = string(b), []Value{a[0], missing}
	}
	if i, ok := asInt(x); ok {
		return i, nil
	}
	switch v := x.(type) {
	case float64:
		i, err := floatToInt(v)
		if err != nil && math.IsInf(v, 0) {
			return nil, err // Jinja lets int(inf) through as OverflowError
		}
		if err != nil {
			return def, nil
		}
		return i, nil
	case *undefined:
		return nil, v.Err()
	}
	s, ok := text(x)
	if !ok {
		return def, nil
	}
	if err := m.Read(s); err != nil {
		return nil, err
	}
	if base, err := intArg("int", a[1], 10); err == nil { // any other base is as a text that is no integer
		if i, ok := parseInt(s, base); ok {
			return i, nil
		}
	}
	if f, ok := parseFloat(s); ok {
		if i, err := floatToInt(f); err == nil {
			return i, nil
		}
	}
	return def, nil
}

func floatFilter(m *Machine, x Value, a []Value) (Value, error) {
	if b, ok := x.(byteString); ok {
		x = string(b)
	}
	if f, ok := asFloat(x); ok {
		return f, nil
	}
	if u, ok := x.(*undefined); ok {
		return nil, u.Err()
	}
	if s, ok := text(x); ok {
		if err := m.Read(s); err != nil {
			return nil, err
		}
		if f, ok := parseFloat(s); ok {
			return f, nil
		}
	}
	return given(a[0], 0.0), nil
}

func fileSize(m *Machine, x Value, a []Value) (Value, error) {
	v, err := floatFilter(m, x, []Value{nil})
	if err != nil {
		return nil, err
	}
	n, ok := v.(float64)
	if t, isText := text(x); isText && !ok {
		return nil, valueError("could not convert string to float: %s", repr(spelling.Clip(t, 200)))
	}
	if !ok {
		return nil, typeError("float() argument must be a string or a real number, not '%s'", typeName(x))
	}
	base, suffix := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if flag(a[0]) {
		base, suffix = 1024.0, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case n == 1:
		return "1 Byte", nil
	case n < base:
		return fmt.Sprintf("%d Bytes", int64(n)), nil
	}
	unit := base
	for i, s := range suffix {
		unit *= base
		if n < unit || i == len(suffix)-1 {
			return fmt.Sprintf("%.1f %s", base*n/unit, s), nil
		}
	}
	return nil, nil
}
