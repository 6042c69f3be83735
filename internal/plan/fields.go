package plan

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// A field is one named number of a payload, as text and JSON show it.
type field struct {
	name string        // "kv_heads"
	v    reflect.Value // uint32 or float32, settable
}

// payloadFields lists the fields of a payload in order, without padding.
func payloadFields(p Params) []field {
	if p == nil {
		return nil
	}
	v := reflect.ValueOf(p).Elem()
	fs := make([]field, 0, v.NumField())
	for i := range v.NumField() {
		if n := v.Type().Field(i).Name; n != "Pad" {
			fs = append(fs, field{snake(n), v.Field(i)})
		}
	}
	return fs
}

// snake turns KVHeads into kv_heads.
func snake(s string) string {
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		if unicode.IsUpper(r) && i > 0 {
			nextLower := i+1 < len(rs) && unicode.IsLower(rs[i+1])
			if !unicode.IsUpper(rs[i-1]) || nextLower {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// text returns the shortest form that reads back to the same bits.
func (f field) text() string {
	if f.v.CanFloat() {
		return strconv.FormatFloat(f.v.Float(), 'g', -1, 32)
	}
	return strconv.FormatUint(f.v.Uint(), 10)
}

// set reads what text returns.
func (f field) set(s string) error {
	if f.v.CanUint() {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return fmt.Errorf("%s: %q is not a 32-bit number", f.name, s)
		}
		f.v.SetUint(n)
		return nil
	}
	x, err := strconv.ParseFloat(s, 32)
	if err != nil || math.IsNaN(x) {
		return fmt.Errorf("%s: %q is not a 32-bit float", f.name, s)
	}
	f.v.SetFloat(x)
	return nil
}

// setField sets the named field of a payload.
func setField(p Params, name, value string) error {
	for _, f := range payloadFields(p) {
		if f.name == name {
			return f.set(value)
		}
	}
	return fmt.Errorf("no parameter %q", name)
}
