package grammar

import (
	"strconv"
)

// waysNot returns the ways in which a value violates a schema: it violates one of its
// keywords. Keywords whose violation is no schema are left out, so that the values are
// fewer than those of the standard, as long as another one is left.
func (c *compiler) waysNot(v *value, path []*value) ([][]*value, error) {
	switch v.kind {
	case 't':
		return nil, nil
	case 'f':
		return [][]*value{nil}, nil
	}
	path, err := c.enter(v, path)
	if err != nil {
		return nil, err
	}
	if v.refuses {
		return [][]*value{{c.make(v, v.keys[0], v.list[0])}}, nil
	}
	if v.some != nil {
		return nil, fail(v, "a refusal of a refusal of members is not supported")
	}
	var out [][]*value
	lost := ""
	for i, k := range v.keys {
		w, ok, err := c.violating(v, k, v.list[i], path)
		if err != nil {
			return nil, err
		}
		if !ok {
			lost = k
			c.lost++
		}
		if out = distinct(append(out, w...)); len(out) > maxWays {
			return nil, &LimitError{What: "alternatives of one value", Most: maxWays}
		}
	}
	if lost != "" && len(out) == 0 {
		return nil, &Error{Pointer: v.at + "/" + escapePointer(lost), Schema: true, Why: "that a value must not satisfy " + lost + ", as not, oneOf and if ask for, is not supported"}
	}
	return out, nil
}

// violating returns the ways to violate one keyword; not ok if that cannot be said.
func (c *compiler) violating(v *value, k string, x *value, path []*value) (w [][]*value, ok bool, err error) {
	switch k {
	case "$ref", "$dynamicRef", "$recursiveRef":
		to, err := c.resolve(x)
		if err != nil {
			return nil, false, err
		}
		w, err = c.waysNot(to, path)
		return w, true, err
	case "allOf", "anyOf", "oneOf", "not", "if", "dependencies", "dependentRequired", "dependentSchemas":
		w, err = c.violatingJoined(v, k, x, path)
		return w, true, err
	case "extends", "uniqueItems", "unevaluatedProperties", "unevaluatedItems":
		idle := x.kind == 't' && k != "uniqueItems" || x.kind == '{' && len(x.list) == 0 || x.kind == 'f' && k == "uniqueItems"
		return nil, idle, nil
	case "additionalProperties", "patternProperties", "propertyNames":
		if idle(x) {
			return nil, true, nil
		}
		return c.violatingMembers(v, k, x)
	case "format":
		f, known := formats[x.text]
		if known && f.exact {
			w = [][]*value{{c.refusing(v, k, x)}}
		}
		return w, !known || f.exact, nil
	case "enum", "const":
		w, err = c.violatingValues(v, k, x, path)
		return w, true, err
	case "type", "pattern", "multipleOf", "divisibleBy":
		return [][]*value{{c.refusing(v, k, x)}}, true, nil
	case "items", "prefixItems", "additionalItems", "contains":
		return c.violatingItems(v, k, x)
	case "required":
		for _, n := range x.list {
			w = append(w, []*value{c.lacks(x, n.text), c.typed(x, "object", "properties", c.object1(x, nil, nil))})
		}
		return w, true, nil
	case "properties":
		for i, name := range x.keys {
			s := x.list[i]
			if s.kind == 't' || s.kind == '{' && len(s.list) == 0 {
				continue
			}
			w = append(w, []*value{c.has(s, name), c.once("not "+strconv.Itoa(s.id), func() *value {
				return c.object1(s, []string{"properties"}, []*value{c.object1(s, []string{name}, []*value{c.but(s)})})
			})})
		}
		return w, true, nil
	}
	w, err = c.violatingBound(v, k, x)
	return w, true, err
}

// violatingValues is violating for values: simple ones are left out of others, objects and
// arrays are schemas of all that they have.
func (c *compiler) violatingValues(v *value, k string, x *value, path []*value) ([][]*value, error) {
	list := []*value{x}
	if k == "enum" {
		if list = x.list; x.kind != '[' {
			return nil, fail(x, "want a list of values")
		}
	}
	var simple, others []*value
	for _, one := range list {
		if one.kind == '{' || one.kind == '[' {
			others = append(others, c.exactly(one))
		} else {
			simple = append(simple, one)
		}
	}
	out := [][]*value{nil}
	if len(simple) > 0 {
		all := c.once("simple "+strconv.Itoa(x.id), func() *value { return c.value(x, value{kind: '[', list: simple}) })
		out = [][]*value{{c.refusing(v, "enum", all)}}
	}
	w, err := c.all(others, true, path)
	if err != nil {
		return nil, err
	}
	return c.both(out, w)
}

// exactly returns the schema that an object or an array alone satisfies.
func (c *compiler) exactly(x *value) *value {
	return c.once("exactly "+strconv.Itoa(x.id), func() *value {
		no := c.value(x, value{kind: 'f'})
		var parts, names []*value
		for i, one := range x.list {
			parts = append(parts, c.make(one, "const", one))
			if x.kind == '{' {
				names = append(names, c.value(x, value{kind: '"', text: x.keys[i]}))
			}
		}
		if x.kind == '[' {
			return c.object1(x, []string{"type", "prefixItems", "items", "minItems"}, []*value{
				c.value(x, value{kind: '"', text: "array"}), c.value(x, value{kind: '[', list: parts}), no, c.numeral(x, len(parts))})
		}
		return c.object1(x, []string{"type", "required", "properties", "additionalProperties"}, []*value{
			c.value(x, value{kind: '"', text: "object"}), c.value(x, value{kind: '[', list: names}), c.object1(x, x.keys, parts), no})
	})
}

// violatingJoined is violating for keywords that join schemas.
func (c *compiler) violatingJoined(v *value, k string, x *value, path []*value) ([][]*value, error) {
	switch k {
	case "not":
		return c.waysOf(x, path)
	case "if":
		if v.under["then"] == nil && v.under["else"] == nil {
			return nil, nil
		}
		return c.conditional(x, v.under["then"], v.under["else"], true, path)
	case "allOf", "anyOf", "oneOf":
		list, err := schemas(x, false)
		if err != nil {
			return nil, err
		}
		switch k {
		case "allOf":
			return c.any(list, true, path)
		case "anyOf":
			return c.all(list, true, path)
		}
		out, err := c.all(list, true, path)
		for i := range list {
			for j := range i {
				if err != nil {
					return nil, err
				}
				var two [][]*value
				two, err = c.all([]*value{list[j], list[i]}, false, path)
				out = append(out, two...)
			}
		}
		return distinct(out), err
	}
	var out [][]*value
	for i, name := range x.keys {
		then := c.required(x.list[i])
		w, err := c.waysNot(then, path)
		if err == nil {
			w, err = c.both([][]*value{{c.has(x.list[i], name)}}, w)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, w...)
	}
	return out, nil
}

// violatingItems is violating for keywords about items.
func (c *compiler) violatingItems(v *value, k string, x *value) ([][]*value, bool, error) {
	switch {
	case k == "contains":
		if v.under["minContains"] != nil || v.under["maxContains"] != nil {
			return nil, false, nil
		}
		return [][]*value{{c.typed(x, "array", "items", c.but(x))}}, true, nil
	case x.kind == '[' && (k == "prefixItems" || k == "items"):
		var out [][]*value
		for i, s := range x.list {
			one := c.once("item "+strconv.Itoa(s.id), func() *value {
				list := make([]*value, i+1)
				for j := range i {
					list[j] = c.value(s, value{kind: 't'})
				}
				list[i] = c.but(s)
				return c.object1(s, []string{"type", "prefixItems", "minItems"}, []*value{
					c.value(s, value{kind: '"', text: "array"}), c.value(s, value{kind: '[', list: list}), c.numeral(s, i+1)})
			})
			out = append(out, []*value{one})
		}
		return out, true, nil
	case k == "items" && x.kind == 'f':
		return [][]*value{{c.typed(x, "array", "minItems", c.numeral(x, len(tuple(v))+1))}}, true, nil
	case k == "items" && len(tuple(v)) == 0:
		return [][]*value{{c.typed(x, "array", "contains", c.but(x))}}, true, nil
	case k == "additionalItems" && (v.under["items"] == nil || v.under["items"].kind != '['):
		return nil, true, nil
	}
	return nil, false, nil
}

// violatingMembers is violating for keywords about members that are not listed: one of
// them has a name of a set and does not satisfy a schema.
func (c *compiler) violatingMembers(v *value, k string, x *value) (w [][]*value, ok bool, err error) {
	one := func(key string, names *dfa, s *value) {
		w = append(w, []*value{c.once("some "+strconv.Itoa(x.id)+" "+key, func() *value {
			r := c.object1(x, []string{"type"}, []*value{c.value(x, value{kind: '"', text: "object"})})
			r.some, r.but = names, s
			return r
		})})
	}
	switch k {
	case "patternProperties":
		for i, source := range x.keys {
			if idle(x.list[i]) {
				continue
			}
			d, err := c.namePattern(x.list[i], source)
			if err != nil {
				return nil, false, err
			}
			one(source, d, x.list[i])
		}
		return w, true, nil
	case "propertyNames":
		if c.mentions(x, "format") || c.mentions(x, "$ref") { // formats are narrower than what they refuse
			return nil, false, nil
		}
		d, err := c.texts([]*value{x})
		if err != nil {
			return nil, false, failAt(x, err)
		}
		one("", d.not(), c.once("no "+strconv.Itoa(x.id), func() *value { return c.value(x, value{kind: 'f'}) }))
		return w, true, nil
	}
	names := everything()
	if p := v.under["properties"]; p != nil {
		names = only(p.keys...).not()
	}
	if p := v.under["patternProperties"]; p != nil {
		for i, source := range p.keys {
			d, err := c.namePattern(p.list[i], source)
			if err == nil {
				names, err = names.and(c.budget, d.not())
			}
			if err != nil {
				return nil, false, failAt(p.list[i], err)
			}
		}
	}
	one("", names, x)
	return w, true, nil
}

// mentions reports whether a keyword is somewhere in a schema.
func (c *compiler) mentions(v *value, keyword string) bool {
	if v.under[keyword] != nil {
		return true
	}
	for _, x := range v.list {
		if c.mentions(x, keyword) {
			return true
		}
	}
	return false
}

// numeral returns the value of a number.
func (c *compiler) numeral(at *value, n int) *value {
	return c.value(at, value{kind: '0', text: strconv.Itoa(n)})
}

// violatingBound is violating for bounds; other keywords assert nothing.
func (c *compiler) violatingBound(v *value, k string, x *value) ([][]*value, error) {
	opposite := map[string][3]string{
		"minLength": {"string", "maxLength", "-"}, "maxLength": {"string", "minLength", "+"},
		"minItems": {"array", "maxItems", "-"}, "maxItems": {"array", "minItems", "+"},
		"minProperties": {"object", "maxProperties", "-"}, "maxProperties": {"object", "minProperties", "+"},
		"minimum": {"number", "exclusiveMaximum"}, "maximum": {"number", "exclusiveMinimum"},
		"exclusiveMinimum": {"number", "maximum"}, "exclusiveMaximum": {"number", "minimum"},
	}
	o, ok := opposite[k]
	if !ok || x.kind == 't' || x.kind == 'f' {
		return nil, nil
	}
	if o[2] == "" {
		if b := v.under["exclusiveM"+k[1:]]; b != nil && b.kind == 't' { // until draft 4
			o[1] = map[string]string{"minimum": "maximum", "maximum": "minimum"}[k]
		}
		return [][]*value{{c.typed(x, o[0], o[1], x)}}, nil
	}
	n, err := count(x)
	if err != nil {
		return nil, err
	}
	if o[2] == "+" {
		n++
	} else if n--; n < 0 {
		return nil, nil
	}
	return [][]*value{{c.typed(x, o[0], o[1], c.numeral(x, n))}}, nil
}
