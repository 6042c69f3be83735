package chat

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// byteString is Python's bytes: what encode returns.
type byteString string

// Repr is bytes.__repr__.
func (b byteString) Repr(m *Machine) (string, error) {
	if err := m.Alloc(4 * len(b)); err != nil {
		return "", err
	}
	quote := byte('\'')
	if strings.Contains(string(b), "'") && !strings.Contains(string(b), `"`) {
		quote = '"'
	}
	var s strings.Builder
	s.WriteString("b" + string(quote))
	for i := range len(b) {
		switch c := b[i]; {
		case c == quote || c == '\\':
			s.Write([]byte{'\\', c})
		case c == '\n':
			s.WriteString(`\n`)
		case c == '\r':
			s.WriteString(`\r`)
		case c == '\t':
			s.WriteString(`\t`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&s, `\x%02x`, c)
		default:
			s.WriteByte(c)
		}
	}
	s.WriteByte(quote)
	return s.String(), nil
}

var bytesMethods map[string]*functionType

func defineBytes() {
	stringMethods["encode"] = makeFunc("encoding? errors?", encodeMethod)
	bytesMethods = map[string]*functionType{
		"decode": makeFunc("encoding? errors?", decodeMethod),
		"hex": newPositional("", func(m *Machine, x Value, _ []Value) (Value, error) {
			return hex.EncodeToString([]byte(x.(byteString))), m.Alloc(2 * len(x.(byteString)))
		}),
	}
}

// codec reads the arguments of encode and decode. Names of encodings are
// compared as Python compares them.
func codec(method string, a []Value) (encoding, errors string, err error) {
	encoding, errors = "utf8", "strict"
	for i, into := range []*string{&encoding, &errors} {
		if a[i] == missing {
			continue
		}
		s, ok := text(a[i])
		if !ok {
			return "", "", typeError("%s() argument %d must be str, not %s", method, i+1, typeName(a[i]))
		}
		*into = s
	}
	const longest = 40 // of a name
	if len(encoding) > longest || len(errors) > longest {
		return "", "", valueError("unknown encoding: %.40s", encoding)
	}
	switch name := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(encoding)); name {
	case "utf8", "u8", "utf", "cp65001":
		encoding = "utf-8"
	case "ascii", "usascii", "646", "us":
		encoding = "ascii"
	case "latin1", "latin", "l1", "iso88591", "88591", "cp819":
		encoding = "latin-1"
	case "utf16", "u16", "utf16le", "utf16be", "utf32", "u32", "utf32le", "utf32be":
		encoding = strings.Replace(strings.Replace(name, "u16", "utf16", 1), "u32", "utf32", 1)
	default:
		return "", "", valueError("the encoding %s is unknown, or not supported", repr(encoding))
	}
	return encoding, errors, nil
}

// encodeMethod is str.encode.
func encodeMethod(m *Machine, x Value, a []Value) (Value, error) {
	s, _ := text(x)
	encoding, errors, err := codec("encode", a)
	if err != nil {
		return nil, err
	}
	if err := m.Alloc(12 * (len(s) + 1)); err != nil { // of a character: &#1114111; or four bytes
		return nil, err
	}
	limit := rune(0x80)
	switch encoding {
	case "utf-8":
		return byteString(strings.ToValidUTF8(s, "\ufffd")), nil
	case "latin-1":
		limit = 0x100
	case "ascii":
	default:
		return encodeWide(s, encoding), nil
	}
	var b []byte
	at := -1
	for _, r := range s {
		at++
		if r < limit {
			b = append(b, byte(r))
			continue
		}
		switch errors {
		case "strict", "surrogateescape", "surrogatepass":
			return nil, valueError("'%s' codec can't encode character '%s' in position %d: ordinal not in range(%d)", encoding, escape(r), at, limit)
		case "ignore":
		case "replace":
			b = append(b, '?')
		case "xmlcharrefreplace":
			b = fmt.Appendf(b, "&#%d;", r)
		case "backslashreplace":
			b = append(b, escape(r)...)
		default:
			return nil, valueError("the error handler %s is unknown, or not supported", repr(errors))
		}
	}
	return byteString(b), nil
}

// encodeWide encodes as UTF-16 or UTF-32, with a mark of the byte order where
// the name has none.
func encodeWide(s, encoding string) byteString {
	big := strings.HasSuffix(encoding, "be")
	var units []rune
	if !big && !strings.HasSuffix(encoding, "le") {
		units = append(units, 0xfeff)
	}
	size := 4
	for _, r := range s {
		if hi, lo := utf16.EncodeRune(r); strings.HasPrefix(encoding, "utf16") && hi != utf8.RuneError {
			units = append(units, hi, lo)
		} else {
			units = append(units, r)
		}
	}
	if strings.HasPrefix(encoding, "utf16") {
		size = 2
	}
	var b []byte
	for _, u := range units {
		for k := range size {
			if big {
				k = size - 1 - k
			}
			b = append(b, byte(u>>(8*k)))
		}
	}
	return byteString(b)
}

// decodeMethod is bytes.decode.
func decodeMethod(m *Machine, x Value, a []Value) (Value, error) {
	b := []byte(x.(byteString))
	encoding, errors, err := codec("decode", a)
	if err != nil {
		return nil, err
	}
	if err := m.Alloc(4 * len(b)); err != nil {
		return nil, err
	}
	var s strings.Builder
	for i := 0; i < len(b); {
		r, n, bad := rune(b[i]), 1, 0
		switch encoding {
		case "latin-1":
		case "ascii":
			if r >= 0x80 {
				bad = 1
			}
		case "utf-8":
			if r, n = utf8.DecodeRune(b[i:]); r == utf8.RuneError && n == 1 {
				bad = badPrefix(b[i:])
			}
		default:
			return nil, valueError("decoding %s is not supported", encoding)
		}
		if bad == 0 {
			s.WriteRune(r)
			i += n
			continue
		}
		switch errors {
		case "strict":
			return nil, valueError("'%s' codec can't decode byte 0x%02x in position %d", encoding, b[i], i)
		case "ignore":
		case "replace":
			s.WriteRune(utf8.RuneError)
		case "backslashreplace":
			for _, c := range b[i : i+bad] {
				fmt.Fprintf(&s, `\x%02x`, c)
			}
		default:
			return nil, valueError("the error handler %s is unknown, or not supported", repr(errors))
		}
		i += bad
	}
	return s.String(), nil
}

// badPrefix returns the length of the maximal invalid part at the start of b, of
// which Python makes one error.
func badPrefix(b []byte) int {
	n := 1
	for n < len(b) && n < utf8.UTFMax && !utf8.FullRune(b[:n]) {
		n++
	}
	if n > 1 && utf8.FullRune(b[:n]) { // the last byte decided that it is invalid
		n--
	}
	return n
}

// toBytes is int.to_bytes.
func toBytes(m *Machine, x Value, a []Value) (Value, error) {
	length, err := intArg("to_bytes", a[0], 1)
	if err != nil {
		return nil, err
	}
	little, signed, err := byteOrder(a[1], a[2])
	switch {
	case err != nil:
		return nil, err
	case length < 0:
		return nil, valueError("length argument must be non-negative")
	}
	if err := m.Alloc(length); err != nil {
		return nil, err
	}
	v, _ := asInt(x)
	n := new(big.Int).Set(toBig(v))
	if n.Sign() < 0 {
		if !signed {
			return nil, fail(kindOverflow, "can't convert negative int to unsigned")
		}
		if new(big.Int).Not(n).BitLen() > max(8*length-1, 0) { // no byte is enough for -1, as in CPython
			return nil, fail(kindOverflow, "int too big to convert")
		}
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*length)))
	} else if room := 8 * length; signed && n.BitLen() > max(room-1, 0) || n.BitLen() > room {
		return nil, fail(kindOverflow, "int too big to convert")
	}
	b := n.FillBytes(make([]byte, length))
	if little {
		reverse(b)
	}
	return byteString(b), nil
}

// fromBytes is int.from_bytes.
func fromBytes(m *Machine, x Value, a []Value) (Value, error) {
	b, ok := a[0].(byteString)
	if !ok {
		return nil, typeError("int.from_bytes of '%s' is not supported", typeName(a[0]))
	}
	little, signed, err := byteOrder(a[1], a[2])
	if err != nil {
		return nil, err
	}
	if err := m.Alloc(2 * len(b)); err != nil {
		return nil, err
	}
	raw := []byte(b)
	if little {
		reverse(raw)
	}
	n := new(big.Int).SetBytes(raw)
	if signed && len(raw) > 0 && raw[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	if _, ok := x.(bool); ok {
		return n.Sign() != 0, nil
	}
	return fromBig(n)
}

func byteOrder(order, sign Value) (little, signed bool, err error) {
	if order != missing {
		s, ok := text(order)
		if !ok {
			return false, false, typeError("byteorder must be str, not %s", typeName(order))
		}
		if s != "big" && s != "little" {
			return false, false, valueError("byteorder must be either 'little' or 'big'")
		}
		little = s == "little"
	}
	return little, sign != missing && truth(sign), nil
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

// refusedMethods are methods of Python that the engine does not have, by type.
// Without the list they would be undefined, and print as nothing.
var refusedMethods = map[string]string{
	"bytes": `capitalize center count endswith expandtabs find fromhex index isalnum isalpha isascii isdigit islower isspace istitle isupper join ljust
		lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
		swapcase title translate upper zfill`,
	"float":       "fromhex",
	"dict_keys":   "isdisjoint mapping",
	"dict_items":  "isdisjoint mapping",
	"dict_values": "mapping",
	"generator":   "close send throw",
}

// refusedMethod returns a method that says, when it is called, that there is none.
func refusedMethod(typ, name string) (Value, bool) {
	for n := range strings.FieldsSeq(refusedMethods[typ]) {
		if n == name {
			return &function{Name: name, Method: true, Call: func(*Machine, *Args) (Value, error) {
				return nil, fail(kindName, "the method %s.%s is not supported", typ, name)
			}}, true
		}
	}
	return nil, false
}
