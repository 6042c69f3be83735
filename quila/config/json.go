package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ErrConfig is what every error of a configuration matches.
var ErrConfig = errors.New("bad configuration")

// An Error lists everything that is wrong with a configuration.
type Error struct{ Faults []string }

// Error lists the faults.
func (e *Error) Error() string {
	return fmt.Sprintf("config: %d faults: %s", len(e.Faults), strings.Join(e.Faults, "; "))
}

// Is reports whether target is [ErrConfig].
func (e *Error) Is(target error) bool { return target == ErrConfig }

// maxText bounds the text of a configuration.
const maxText = 1 << 20

// JSON is the canonical text: keys sorted, no spaces, keys beyond the shape and
// the options only where they differ from the named profile.
func (c *Config) JSON() []byte {
	base := c.base()
	v, b := reflect.ValueOf(c).Elem(), reflect.ValueOf(&base).Elem()
	sorted := slices.Clone(fields)
	slices.SortFunc(sorted, func(x, y field) int { return strings.Compare(x.name, y.name) })
	out := []byte{'{'}
	for _, f := range sorted {
		if !f.always() && v.Field(f.index).Equal(b.Field(f.index)) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), f.name...), '"', ':')
		out = append(out, value(v.Field(f.index))...)
	}
	return append(out, '}')
}

// Parse reads a configuration: a JSON object whose name chooses the profile
// that the other keys change. Without a name, or with one that is no profile,
// the keys of the shape have to be there.
//
// All unknown names, values of the wrong type or out of range, and shapes that
// do not fit are one [*Error].
func Parse(text []byte) (Config, error) {
	if len(text) > maxText {
		return Config{}, &Error{[]string{fmt.Sprintf("%d bytes are too long, at most %d", len(text), maxText)}}
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return Config{}, &Error{[]string{fmt.Sprintf("not a JSON object: %v", err)}}
	}
	var c Config
	if name, ok := keys["name"]; ok {
		if err := json.Unmarshal(name, &c.Name); err != nil {
			return Config{}, &Error{[]string{"name is not a string"}}
		}
	}
	c = c.base()
	faults := c.set(keys)
	if err := c.Check(); err != nil {
		faults = append(faults, err.(*Error).Faults...)
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return Config{}, &Error{faults}
	}
	return c, nil
}

// set stores keys and returns what is wrong with them.
func (c *Config) set(keys map[string]json.RawMessage) (faults []string) {
	v := reflect.ValueOf(c).Elem()
	known := map[string]bool{}
	for _, f := range fields {
		known[f.name] = true
		raw, ok := keys[f.name]
		if !ok {
			continue
		}
		if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) || json.Unmarshal(raw, v.Field(f.index).Addr().Interface()) != nil {
			faults = append(faults, fmt.Sprintf("%s is %s, want a %s", f.name, raw, kind(v.Field(f.index))))
		}
	}
	for name := range keys {
		if !known[name] {
			faults = append(faults, fmt.Sprintf("%q is not a name of the configuration", name))
		}
	}
	return faults
}

func kind(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "true or false"
	case reflect.Array:
		return fmt.Sprintf("list of %d numbers", v.Len())
	}
	return "string"
}

// Check reports everything that is out of range or does not fit together, as
// one [*Error].
func (c *Config) Check() error {
	var faults []string
	v := reflect.ValueOf(c).Elem()
	for _, f := range fields {
		faults = append(faults, f.check(v.Field(f.index))...)
	}
	faults = append(faults, c.fits()...)
	if len(faults) == 0 {
		return nil
	}
	return &Error{faults}
}

// check compares a value with the limits of its tag.
func (f field) check(v reflect.Value) []string {
	switch v.Kind() {
	case reflect.Array:
		var faults []string
		for i := range v.Len() {
			faults = append(faults, f.check(v.Index(i))...)
		}
		return faults
	case reflect.String:
		if f.limits != "" && !slices.Contains(strings.Split(f.limits, "|"), v.String()) {
			return []string{fmt.Sprintf("%s is %q, want %s", f.name, v.String(), strings.ReplaceAll(f.limits, "|", " or "))}
		}
	case reflect.Int:
		if !within(float64(v.Int()), f.limits) {
			return []string{fmt.Sprintf("%s is %d, want %s", f.name, v.Int(), f.limits)}
		}
	case reflect.Float64:
		if !within(v.Float(), f.limits) {
			return []string{fmt.Sprintf("%s is %v, want %s", f.name, v.Float(), f.limits)}
		}
	}
	return nil
}

// within reports whether x lies in an interval such as (0,1].
func within(x float64, limits string) bool {
	if limits == "" {
		return !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	lo, hi, _ := strings.Cut(limits[1:len(limits)-1], ",")
	low, _ := strconv.ParseFloat(lo, 64)
	high, _ := strconv.ParseFloat(hi, 64)
	return (x > low || limits[0] == '[' && x == low) && (x < high || limits[len(limits)-1] == ']' && x == high)
}

// fits returns what does not fit together in the shape.
func (c *Config) fits() (faults []string) {
	want := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	want(c.A*c.S == c.H, "a·s is %d, want H = %d", c.A*c.S, c.H)
	want(c.Kappa >= c.S && (c.Kappa-c.S)%2 == 0, "kappa is %d, want s = %d or more by an even number", c.Kappa, c.S)
	want(c.R == 0 || c.D1*c.D2 == c.D, "d1·d2 is %d, want D = %d", c.D1*c.D2, c.D)
	want(c.G > 0 && c.D%max(c.G, 1) == 0, "D is %d, want a multiple of g = %d", c.D, c.G)
	want(c.Deg < c.N, "deg is %d, want less than N = %d", c.Deg, c.N)
	want(c.NSAK <= c.D, "nsa_k is %d, want at most D = %d", c.NSAK, c.D)
	want(c.RopeDims <= c.DE && (c.RopeDims < 0 || c.RopeDims%2 == 0), "rope_dims is %d, want -1 or an even number up to D_e = %d", c.RopeDims, c.DE)
	want(c.Streams != "" && strings.Trim(c.Streams, "ABCD") == "" && subsequence(c.Streams, "ABCD"), "streams is %q, want some of ABCD in that order", c.Streams)
	want(c.LambdaMin <= c.LambdaInit && c.LambdaInit <= c.LambdaMax, "lambda_init is %v, want between lambda_min and lambda_max", c.LambdaInit)
	want(!c.PartialSend || c.A >= 4 && c.A%4 == 0, "partial_send needs a multiple of 4 as a, not %d", c.A)
	want(c.ThetaLow <= c.ThetaHigh && c.ThetaLowReread <= c.ThetaHiReread, "the low threshold of a phase is above its high one")
	return faults
}

// subsequence reports whether the letters of s are letters of of, in order.
func subsequence(s, of string) bool {
	for _, r := range s {
		i := strings.IndexRune(of, r)
		if i < 0 {
			return false
		}
		of = of[i+1:]
	}
	return true
}
