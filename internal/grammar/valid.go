package grammar

import (
	"math/big"
	"regexp"
	"slices"
	"unicode/utf8"
)

// valid reports whether a value satisfies a schema, to choose among the values
// of enum and const. References and alternatives of the schema itself are left
// to [compiler.ways] at depth 0, which has split them.
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
	f := &flat{all: []*value{v}, types: tAll, least: map[string]int{}, most: map[string]int{}}
	for i, k := range v.keys {
		if err := f.keyword(v, k, v.list[i]); err != nil {
			return false, err
		}
		if depth == 0 {
			continue
		}
		if ok, err := c.validParts(x, k, v.list[i], depth); !ok || err != nil {
			return false, err
		}
	}
	if f.types&typeOf(x) == 0 || f.fixed && !slices.ContainsFunc(f.enum, x.equal) {
		return false, nil
	}
	if !f.lengths(x) {
		return false, nil
	}
	switch x.kind {
	case '0':
		r, _ := x.number()
		low, high := f.low, f.high
		return (low == nil || r.Cmp(low) > 0 || r.Cmp(low) == 0 && !f.above) && (high == nil || r.Cmp(high) < 0 || r.Cmp(high) == 0 && !f.below), nil
	case '"':
		if f.pattern != nil {
			re, err := regexp.Compile(f.pattern.text)
			if err != nil {
				return false, fail(f.pattern, "%v", err)
			}
			if !re.MatchString(x.text) {
				return false, nil
			}
		}
		if f.format != nil {
			return formatted(f.format.text, x)
		}
	case '{':
		for _, name := range f.required {
			if x.under[name] == nil {
				return false, nil
			}
		}
		for i, name := range x.keys {
			all, _ := f.property(name)
			for _, s := range all {
				if ok, err := c.valid(x.list[i], s, depth+1); !ok || err != nil {
					return false, err
				}
			}
		}
	case '[':
		for i, item := range x.list {
			if s := itemOf(v, i); s != nil {
				if ok, err := c.valid(item, s, depth+1); !ok || err != nil {
					return false, err
				}
			}
		}
	}
	return true, nil
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

// validParts checks the references and alternatives of a schema.
func (c *compiler) validParts(x *value, k string, list *value, depth int) (bool, error) {
	switch k {
	case "$ref":
		to, err := c.resolve(list)
		if err != nil {
			return false, err
		}
		return c.valid(x, to, depth+1)
	case "allOf", "anyOf", "oneOf":
		n := 0
		for _, s := range list.list {
			ok, err := c.valid(x, s, depth+1)
			if err != nil {
				return false, err
			}
			if ok {
				n++
			}
		}
		switch k {
		case "allOf":
			return n == len(list.list), nil
		case "oneOf":
			return n == 1, nil
		}
		return n > 0, nil
	}
	return true, nil
}

// formatted reports whether a string has a format, as this package writes it.
func formatted(format string, x *value) (bool, error) {
	g, err := Parse(nil, fixedRules[format])
	if err != nil {
		return false, err
	}
	a, err := NewVocabulary(oneByte(), nil, false).Compile(nil, g)
	if err != nil {
		return false, err
	}
	return a.Accepts(string(x.compact(nil)))
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

// exclusive makes sure that no value satisfies two alternatives of oneOf.
func (c *compiler) exclusive(at, v *value, groups [][][]*value) error {
	for i := range groups {
		for j := range i {
			for _, a := range groups[i] {
				for _, b := range groups[j] {
					apart, err := c.apart(append(slices.Clone(a), v), append(slices.Clone(b), v), 0)
					if err != nil {
						return err
					}
					if !apart {
						return fail(at.list[i], "values of this alternative of oneOf may satisfy alternative %d too: use anyOf, or tell them apart by a type, a constant property or a range", j)
					}
				}
			}
		}
	}
	return nil
}

// apart reports whether it is plain that no value satisfies both conjunctions of
// flat schemas.
func (c *compiler) apart(a, b []*value, depth int) (bool, error) {
	f, err := c.merge(a)
	if err != nil {
		return false, err
	}
	g, err := c.merge(b)
	if err != nil {
		return false, err
	}
	both, err := c.merge(append(slices.Clone(a), b...))
	if err != nil {
		return false, err
	}
	if both.fixed {
		return len(both.enum) == 0, nil
	}
	set := both.types
	if cross(both.low, both.high, both.above || both.below) {
		set &^= tInteger | tNumber
	}
	for what, t := range lengthOf {
		if most, ok := both.most[what]; ok && most < both.least[what] {
			set &^= t
		}
	}
	if set&^tObject != 0 {
		return false, nil
	}
	if set == 0 {
		return true, nil
	}
	for _, name := range both.required {
		x, _ := f.property(name)
		y, _ := g.property(name)
		if impossible(x) || impossible(y) {
			return true, nil
		}
		if depth >= 4 {
			continue
		}
		p, err := c.ways(x)
		if err != nil {
			return false, err
		}
		q, err := c.ways(y)
		if err != nil {
			return false, err
		}
		all := true
		for _, s := range p {
			for _, t := range q {
				one, err := c.apart(s, t, depth+1)
				if err != nil {
					return false, err
				}
				all = all && one
			}
		}
		if all {
			return true, nil
		}
	}
	return false, nil
}

// lengthOf names the types that have bounds of length.
var lengthOf = map[string]types{"Length": tString, "Items": tArray, "Properties": tObject}

func cross(low, high *big.Rat, open bool) bool {
	if low == nil || high == nil {
		return false
	}
	cmp := low.Cmp(high)
	return cmp > 0 || cmp == 0 && open
}
