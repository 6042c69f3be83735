package grammar

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// valid reports whether a value satisfies a schema, to choose among the values of enum and
// const, and among names. At depth 0 the keywords that join schemas are left to
// [compiler.ways], which has split them.
func (c *compiler) valid(x, v *value, depth int) (bool, error) {
	if v.kind != '{' {
		return v.kind == 't', nil
	}
	if err := c.budget.step(); err != nil {
		return false, err
	}
	if depth > maxNesting {
		return false, fail(v, "the schema refers to itself before any value is read")
	}
	if err := supported(v); err != nil {
		return false, err
	}
	if v.refuses {
		ok, err := c.valid(x, c.make(v, v.keys[0], v.list[0]), depth+1)
		return !ok, err
	}
	if v.some != nil {
		return c.violated(x, v, depth)
	}
	f := &flat{all: []*value{v}, types: tAll, least: map[string]int{}, most: map[string]int{}}
	for i, k := range v.keys {
		if err := f.keyword(v, k, v.list[i]); err != nil {
			return false, err
		}
	}
	if f.types&typeOf(x) == 0 || f.fixed && !slices.ContainsFunc(f.enum, x.equal) || !f.lengths(x) {
		return false, nil
	}
	for i, k := range v.keys {
		if depth == 0 && joins[k] {
			continue
		}
		if ok, err := c.validBy(x, v, k, v.list[i], depth+1); !ok || err != nil {
			return false, err
		}
	}
	switch x.kind {
	case '0':
		return f.within(x)
	case '"':
		for _, s := range f.strings {
			if ok, err := c.validText(s, x); !ok || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// violated reports whether a member of a value has a name of v.some and does not satisfy
// v.but.
func (c *compiler) violated(x, v *value, depth int) (bool, error) {
	if x.kind != '{' {
		return false, nil
	}
	for i, name := range x.keys {
		if !v.some.has(name) {
			continue
		}
		if n, err := c.count(x.list[i], []*value{v.but}, true, depth+1); n == 0 || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// joins are the keywords that [compiler.waysBy] splits.
var joins = map[string]bool{
	"$ref": true, "$dynamicRef": true, "$recursiveRef": true, "allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true,
	"dependencies": true, "dependentRequired": true, "dependentSchemas": true, "extends": true, "unevaluatedProperties": true, "unevaluatedItems": true,
}

// within reports whether a number is within f's bounds and steps.
func (f *flat) within(x *value) (bool, error) {
	r, _ := x.number()
	for _, s := range f.steps {
		m, _ := s.x.number()
		if !m.Quo(r, m).IsInt() {
			return false, nil
		}
	}
	low, high := f.low, f.high
	return (low == nil || r.Cmp(low) > 0 || r.Cmp(low) == 0 && !f.above) && (high == nil || r.Cmp(high) < 0 || r.Cmp(high) == 0 && !f.below), nil
}

// validText reports whether a string satisfies a pattern or a format.
func (c *compiler) validText(s condition, x *value) (bool, error) {
	d, err := c.condition(condition{s.keyword, s.x, false})
	if err != nil {
		return false, failAt(s.x, err)
	}
	ok := d.has(x.text)
	if !ok && s.keyword == "format" && !formats[s.x.text].exact {
		c.lost++
	}
	if !ok && c.refused > 0 && s.keyword == "format" && !formats[s.x.text].exact {
		return false, fail(s.x, "whether a value is refused because of this format is not supported")
	}
	return ok, nil
}

// validBy reports whether a value satisfies a keyword that has schemas.
func (c *compiler) validBy(x, v *value, k string, s *value, depth int) (bool, error) {
	switch k {
	case "$ref", "$dynamicRef", "$recursiveRef":
		to, err := c.resolve(s)
		if err != nil {
			return false, err
		}
		return c.valid(x, to, depth)
	case "allOf", "anyOf", "oneOf", "extends":
		list, err := schemas(s, k == "extends")
		if err != nil {
			return false, err
		}
		n, err := c.count(x, list, k == "oneOf", depth)
		switch k {
		case "allOf", "extends":
			return n == len(list), err
		case "oneOf":
			return n == 1, err
		}
		return n > 0, err
	case "not":
		n, err := c.count(x, []*value{s}, true, depth)
		return n == 0, err
	case "if":
		n, err := c.count(x, []*value{s}, true, depth)
		then := v.under["then"]
		if n == 0 {
			then = v.under["else"]
		}
		if err != nil || then == nil {
			return err == nil, err
		}
		return c.valid(x, then, depth)
	}
	switch x.kind {
	case '{':
		return c.validMembers(x, v, k, s, depth)
	case '[':
		return c.validItems(x, v, k, s, depth)
	}
	return true, nil
}

// count returns how many schemas a value satisfies; refused says that it matters which it
// does not.
func (c *compiler) count(x *value, list []*value, refused bool, depth int) (n int, err error) {
	if refused {
		c.refused++
		defer func() { c.refused-- }()
	}
	for _, s := range list {
		ok, err := c.valid(x, s, depth)
		if err != nil {
			return 0, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

func (c *compiler) validMembers(x, v *value, k string, s *value, depth int) (bool, error) {
	switch k {
	case "required":
		return !slices.ContainsFunc(s.list, func(n *value) bool { return x.under[n.text] == nil }), nil
	case "dependencies", "dependentRequired", "dependentSchemas":
		for i, name := range s.keys {
			if x.under[name] == nil {
				continue
			}
			if ok, err := c.valid(x, c.required(s.list[i]), depth); !ok || err != nil {
				return false, err
			}
		}
	case "propertyNames":
		for _, name := range x.keys {
			if ok, err := c.validName(name, s, depth); !ok || err != nil {
				return false, err
			}
		}
	case firstOf(v, "properties", "patternProperties", "additionalProperties"): // which are one check
		for i, name := range x.keys {
			all, err := c.property(v, name)
			if err != nil {
				return false, err
			}
			for _, one := range all {
				if ok, err := c.valid(x.list[i], one, depth); !ok || err != nil {
					return false, err
				}
			}
		}
	}
	return true, nil
}

// firstOf returns the first of some keywords that a schema has.
func firstOf(v *value, keywords ...string) string {
	i := slices.IndexFunc(keywords, func(k string) bool { return v.under[k] != nil })
	return keywords[max(i, 0)]
}

// validName reports whether the name of a member satisfies a schema.
func (c *compiler) validName(name string, s *value, depth int) (bool, error) {
	return c.valid(&value{kind: '"', text: name}, s, depth)
}

func (c *compiler) validItems(x, v *value, k string, s *value, depth int) (bool, error) {
	switch k {
	case firstOf(v, "items", "prefixItems", "additionalItems"):
		for i, item := range x.list {
			if one := itemOf(v, i); one != nil {
				if ok, err := c.valid(item, one, depth); !ok || err != nil {
					return false, err
				}
			}
		}
	case "uniqueItems":
		for i, item := range x.list {
			if s.kind == 't' && slices.ContainsFunc(x.list[:i], item.equal) {
				return false, nil
			}
		}
	case "contains":
		n := 0
		for _, item := range x.list {
			one, err := c.count(item, []*value{s}, true, depth)
			if err != nil {
				return false, err
			}
			n += one
		}
		least, most, err := containing(v)
		return n >= least && n <= most, err
	}
	return true, nil
}

// containing returns the bounds of the items that a schema's contains is about.
func containing(v *value) (least, most int, err error) {
	least, most = 1, unbounded
	if x := v.under["minContains"]; x != nil {
		if least, err = count(x); err != nil {
			return 0, 0, err
		}
	}
	if x := v.under["maxContains"]; x != nil {
		if most, err = count(x); err != nil {
			return 0, 0, err
		}
	}
	return least, most, nil
}

// lengths checks the bounds of length.
func (f *flat) lengths(x *value) bool {
	what, n := "", len(x.list)
	switch x.kind {
	case '"':
		what, n = "Length", utf8.RuneCountInString(x.text)
	case '[':
		what = "Items"
	case '{':
		what = "Properties"
	default:
		return true
	}
	most, bounded := f.most[what]
	return n >= f.least[what] && (!bounded || n <= most)
}

// oneByte is a vocabulary of all bytes.
func oneByte() [][]byte {
	list := make([][]byte, 256)
	for i := range list {
		list[i] = []byte{byte(i)}
	}
	return list
}

func typeOf(x *value) types {
	switch x.kind {
	case 'n':
		return tNull
	case 't', 'f':
		return tBool
	case '"':
		return tString
	case '[':
		return tArray
	case '{':
		return tObject
	}
	if r, _ := x.number(); r.IsInt() {
		return tInteger
	}
	return tNumber
}

// key returns what tells a conjunction from others.
func key(all []*value) string {
	var b []byte
	for _, v := range all {
		b = append(strconv.AppendInt(b, int64(v.id), 10), ' ')
	}
	return string(b)
}
