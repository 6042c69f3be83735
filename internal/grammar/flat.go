package grammar

import (
	"math/big"
	"slices"
)

// types is a set of types. A number that is no integer is of tNumber alone.
type types uint8

const (
	tNull types = 1 << iota
	tBool
	tInteger
	tNumber
	tString
	tArray
	tObject
	tAll = 1<<iota - 1
)

var typeNames = map[string]types{
	"null": tNull, "boolean": tBool, "integer": tInteger, "number": tInteger | tNumber, "string": tString, "array": tArray, "object": tObject,
}

// A flat is what a list of schemas, without references and alternatives, asks of
// one value.
type flat struct {
	all   []*value // the schemas
	types types
	enum  []*value // with fixed: the only values
	fixed bool

	least, most     map[string]int // bounds of length, items and properties; absent = none
	low, high       *big.Rat       // nil = none
	above, below    bool           // low and high are outside
	pattern, format *value
	required        []string
}

// merge joins schemas.
func (c *compiler) merge(all []*value) (*flat, error) {
	f := &flat{all: all, types: tAll, least: map[string]int{}, most: map[string]int{}}
	for _, v := range all {
		for i, k := range v.keys {
			if err := f.keyword(v, k, v.list[i]); err != nil {
				return nil, err
			}
		}
	}
	if !f.fixed {
		return f, nil
	}
	var kept []*value
	for _, x := range f.enum {
		ok := true
		for _, v := range all {
			good, err := c.valid(x, v, 0)
			if err != nil {
				return nil, err
			}
			ok = ok && good
		}
		if ok {
			kept = append(kept, x)
		}
	}
	f.enum = kept
	return f, nil
}

func (f *flat) keyword(v *value, k string, x *value) error {
	switch k {
	case "type":
		t, err := typesOf(v, x)
		if err != nil {
			return err
		}
		f.types &= t
	case "enum", "const":
		list := []*value{x}
		if k == "enum" {
			if list = x.list; x.kind != '[' {
				return fail(x, "want a list of values")
			}
		}
		if !f.fixed {
			f.fixed, f.enum = true, list
		} else {
			f.enum = slices.DeleteFunc(slices.Clone(f.enum), func(a *value) bool {
				return !slices.ContainsFunc(list, a.equal)
			})
		}
	case "minLength", "minItems", "minProperties", "maxLength", "maxItems", "maxProperties":
		n, err := count(x)
		if err != nil {
			return err
		}
		what := k[3:]
		if old, ok := f.most[what]; k[:3] == "max" && (!ok || n < old) {
			f.most[what] = n
		} else if k[:3] == "min" {
			f.least[what] = max(f.least[what], n)
		}
	case "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum":
		r, ok := x.number()
		if !ok {
			return fail(x, "want a number")
		}
		out := k[0] == 'e'
		if k == "minimum" || k == "exclusiveMinimum" {
			if f.low == nil || r.Cmp(f.low) > 0 || r.Cmp(f.low) == 0 && out {
				f.low, f.above = r, out
			}
		} else if f.high == nil || r.Cmp(f.high) < 0 || r.Cmp(f.high) == 0 && out {
			f.high, f.below = r, out
		}
	case "multipleOf":
		if r, ok := x.number(); !ok || r.Sign() <= 0 {
			return fail(x, "want a number above 0")
		} else if r.Cmp(big.NewRat(1, 1)) != 0 {
			return fail(x, "only multiples of 1 are supported")
		}
		f.types &^= tNumber
	case "pattern":
		if x.kind != '"' {
			return fail(x, "want a regular expression")
		}
		if f.pattern != nil && f.pattern.text != x.text {
			return fail(x, "two patterns for one string are not supported")
		}
		f.pattern = x
	case "format":
		if x.kind != '"' {
			return fail(x, "want the name of a format")
		}
		if !formats[x.text] {
			return fail(x, "the format %q is not supported", x.text)
		}
		if f.format != nil && f.format.text != x.text {
			return fail(x, "two formats for one string are not supported")
		}
		f.format = x
	case "required":
		if x.kind != '[' {
			return fail(x, "want a list of names")
		}
		for _, n := range x.list {
			if n.kind != '"' {
				return fail(n, "want the name of a property")
			}
			if !slices.Contains(f.required, n.text) {
				f.required = append(f.required, n.text)
			}
		}
	case "properties":
		if x.kind != '{' {
			return fail(x, "want an object of schemas")
		}
	}
	return nil
}

// typesOf reads the keyword type, and OpenAPI's nullable beside it.
func typesOf(v, x *value) (types, error) {
	list := []*value{x}
	if x.kind == '[' {
		list = x.list
	}
	var set types
	for _, n := range list {
		t, ok := typeNames[n.text]
		if n.kind != '"' || !ok {
			return 0, fail(n, "want the name of a type")
		}
		set |= t
	}
	if n := v.under["nullable"]; n != nil && n.kind == 't' {
		set |= tNull
	}
	return set, nil
}

// count reads a number of characters, items or properties.
func count(x *value) (int, error) {
	r, ok := x.number()
	if !ok || !r.IsInt() || r.Sign() < 0 || !r.Num().IsInt64() {
		return 0, fail(x, "want a whole number of 0 or more")
	}
	return int(min(r.Num().Int64(), 1<<40)), nil
}

// property returns the schemas of a member, and whether one of them lists it.
func (f *flat) property(name string) (all []*value, err error) {
	for _, v := range f.all {
		if p := v.under["properties"]; p != nil && p.under[name] != nil {
			all = append(all, p.under[name])
		} else if a := v.under["additionalProperties"]; a != nil {
			all = append(all, a)
		}
	}
	return all, nil
}

// names returns the listed and the required properties in order.
func (f *flat) names() []string {
	var names []string
	seen := map[string]bool{}
	add := func(n string) {
		if !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	for _, v := range f.all {
		if p := v.under["properties"]; p != nil {
			for _, n := range p.keys {
				add(n)
			}
		}
	}
	for _, n := range f.required {
		add(n)
	}
	return names
}

// additional returns the schemas of members that are not listed.
func (f *flat) additional() (all []*value) {
	for _, v := range f.all {
		if a := v.under["additionalProperties"]; a != nil {
			all = append(all, a)
		}
	}
	return all
}

// prefix returns how many items have schemas of their own.
func (f *flat) prefix() int {
	n := 0
	for _, v := range f.all {
		n = max(n, len(tuple(v)))
	}
	return n
}

// tuple returns the schemas of the first items; until draft 2019 items was also
// their keyword.
func tuple(v *value) []*value {
	if p := v.under["prefixItems"]; p != nil && p.kind == '[' {
		return p.list
	}
	if p := v.under["items"]; p != nil && p.kind == '[' {
		return p.list
	}
	return nil
}

// item returns the schemas of an item.
func (f *flat) item(i int) (all []*value) {
	for _, v := range f.all {
		if s := itemOf(v, i); s != nil {
			all = append(all, s)
		}
	}
	return all
}

func itemOf(v *value, i int) *value {
	if t := tuple(v); i < len(t) {
		return t[i]
	}
	rest := v.under["items"]
	if rest != nil && rest.kind == '[' {
		rest = v.under["additionalItems"]
	}
	return rest
}

// impossible reports whether a conjunction has the schema false.
func impossible(all []*value) bool {
	return slices.ContainsFunc(all, func(v *value) bool { return v.kind == 'f' })
}

// flat returns the expression of the values that a flat allows, as alternatives.
func (c *compiler) flat(f *flat) (*expr, error) {
	out := alt()
	if f.fixed {
		for _, x := range f.enum {
			out.subs = append(out.subs, text(string(x.compact(nil))))
		}
		return out, nil
	}
	for _, t := range []struct {
		of   types
		expr func(*flat) (*expr, error)
	}{
		{tObject, c.object}, {tArray, c.array}, {tString, c.string}, {tInteger | tNumber, c.number},
		{tBool, func(*flat) (*expr, error) { return alt(text("true"), text("false")), nil }},
		{tNull, func(*flat) (*expr, error) { return text("null"), nil }},
	} {
		if f.types&t.of == 0 {
			continue
		}
		e, err := t.expr(f)
		if err != nil {
			return nil, err
		}
		out.subs = append(out.subs, e)
	}
	return out, nil
}
