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

	least, most  map[string]int // bounds of length, items and properties; absent = none
	low, high    *big.Rat       // nil = none
	above, below bool           // low and high are outside
	strings      []condition    // patterns and formats
	except       []*value       // values that are not allowed
	steps        []condition    // of multipleOf
	required     []string
	unique       bool     // uniqueItems
	contains     []*value // schemas with contains
	some         []*value // schemas of which one member must be there that violates another
}

// A condition is one of a keyword that is given, or with not refused.
type condition struct {
	keyword string
	x       *value
	not     bool
}

// merge joins schemas.
func (c *compiler) merge(all []*value) (*flat, error) {
	f := &flat{all: all, types: tAll, least: map[string]int{}, most: map[string]int{}}
	for _, v := range all {
		if v.some != nil {
			f.some = append(f.some, v)
		}
		for i, k := range v.keys {
			if err := f.keyword(v, k, v.list[i]); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range all {
		if v.refuses && !f.fixed {
			f.types &= refusable(v.keys[0])
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

// refusable returns the types of which some values do not satisfy a keyword.
func refusable(keyword string) types {
	switch keyword {
	case "pattern", "format":
		return tString
	case "multipleOf", "divisibleBy":
		return tInteger | tNumber
	}
	return tAll
}

func (f *flat) keyword(v *value, k string, x *value) error {
	switch k {
	case "type":
		t, err := typesOf(v, x)
		if err != nil {
			return err
		}
		if v.refuses {
			t = tAll &^ t
		}
		f.types &= t
	case "enum", "const":
		list := []*value{x}
		if k == "enum" {
			if list = x.list; x.kind != '[' {
				return fail(x, "want a list of values")
			}
		}
		if v.refuses {
			f.except = append(f.except, list...)
		} else if !f.fixed {
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
		if x.kind == 't' || x.kind == 'f' { // until draft 4 it is said beside the bound
			return nil
		}
		r, ok := x.number()
		if !ok {
			return fail(x, "want a number")
		}
		out := k[0] == 'e'
		if b := v.under["exclusiveM"+k[1:]]; !out && b != nil && b.kind == 't' {
			out = true
		}
		if k == "minimum" || k == "exclusiveMinimum" {
			if f.low == nil || r.Cmp(f.low) > 0 || r.Cmp(f.low) == 0 && out {
				f.low, f.above = r, out
			}
		} else if f.high == nil || r.Cmp(f.high) < 0 || r.Cmp(f.high) == 0 && out {
			f.high, f.below = r, out
		}
	case "multipleOf", "divisibleBy":
		r, ok := x.number()
		if !ok || r.Sign() <= 0 {
			return fail(x, "want a number above 0")
		}
		if r.IsInt() && !v.refuses {
			f.types &^= tNumber
		}
		if v.refuses || r.Cmp(big.NewRat(1, 1)) != 0 {
			f.steps = append(f.steps, condition{k, x, v.refuses})
		}
	case "pattern", "format":
		if x.kind != '"' {
			return fail(x, "want a text")
		}
		if _, known := formats[x.text]; k == "pattern" || known {
			f.strings = append(f.strings, condition{k, x, v.refuses})
		}
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
	case "properties", "patternProperties":
		if x.kind != '{' {
			return fail(x, "want an object of schemas")
		}
	case "uniqueItems":
		f.unique = f.unique || x.kind == 't'
	case "contains":
		f.contains = append(f.contains, v)
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
			if !slices.ContainsFunc(f.except, x.equal) {
				out.subs = append(out.subs, c.constant(x))
			}
		}
		return out, nil
	}
	for _, t := range []struct {
		of   types
		expr func(*flat) (*expr, error)
	}{
		{tObject, c.object}, {tArray, c.array}, {tString, c.string}, {tInteger | tNumber, c.number}, {tBool | tNull, plain},
	} {
		if f.types&t.of == 0 {
			continue
		}
		only := *f
		only.types &= t.of
		e, err := t.expr(&only)
		if err != nil {
			return nil, err
		}
		out.subs = append(out.subs, e)
	}
	return out, nil
}

// constant returns the expression of one value.
func (c *compiler) constant(x *value) *expr {
	if len(x.list) == 0 {
		return text(string(x.compact(nil)))
	}
	out, before := seq(), string(x.kind)
	for i, item := range x.list {
		if i > 0 {
			out.subs = append(out.subs, text(","), c.use("space"))
		}
		if x.kind == '{' {
			before += string(quote(nil, x.keys[i])) + ":"
		}
		if out.subs = append(out.subs, text(before)); x.kind == '{' {
			out.subs = append(out.subs, c.use("space"))
		}
		out.subs, before = append(out.subs, c.constant(item)), ""
	}
	out.subs = append(out.subs, text(string(x.kind+2))) // ] and } come two after [ and {
	return out
}

// plain returns the expression of booleans and null.
func plain(f *flat) (*expr, error) {
	out := alt()
	for _, x := range []struct {
		kind byte
		of   types
		text string
	}{{'t', tBool, "true"}, {'f', tBool, "false"}, {'n', tNull, "null"}} {
		if f.types&x.of != 0 && !slices.ContainsFunc(f.except, func(v *value) bool { return v.kind == x.kind }) {
			out.subs = append(out.subs, text(x.text))
		}
	}
	return out, nil
}
