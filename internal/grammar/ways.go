package grammar

import (
	"slices"
	"strconv"
)

// maxWays bounds the alternatives of anyOf times those of others.
const maxWays = 256

// ways returns the alternatives of a conjunction: each is a list of schemas of
// which references, allOf, anyOf and whatever else joins schemas are already taken
// account of. Schemas that are refused, by not, in the other alternatives of oneOf and
// in conditions, become alternatives that each violate one keyword.
func (c *compiler) ways(all []*value) ([][]*value, error) {
	out := [][]*value{nil}
	for _, v := range all {
		w, err := c.waysOf(v, nil)
		if err != nil {
			return nil, err
		}
		if out, err = c.both(out, w); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// both joins each way of a with each of b, and leaves out those that plainly no value
// satisfies or that another one includes.
func (c *compiler) both(a, b [][]*value) ([][]*value, error) {
	if len(a) == 1 && len(a[0]) == 0 {
		return b, nil
	}
	if len(b) == 1 && len(b[0]) == 0 {
		return a, nil
	}
	var out [][]*value
	for _, x := range a {
		for _, y := range b {
			w := slices.Clone(x)
			for _, v := range y {
				if !slices.Contains(w, v) {
					w = append(w, v)
				}
			}
			if len(a) > 1 || len(b) > 1 {
				if no, err := c.void(w); err != nil {
					return nil, err
				} else if no {
					continue
				}
			}
			if out = append(out, w); len(out) > 4*maxWays {
				return nil, &LimitError{What: "alternatives of one value", Most: maxWays}
			}
		}
	}
	if out = distinct(out); len(out) > maxWays {
		return nil, &LimitError{What: "alternatives of one value", Most: maxWays}
	}
	return out, nil
}

// distinct leaves out ways all of whose values another way has, too: one with a part of
// their schemas.
func distinct(ways [][]*value) [][]*value {
	slices.SortStableFunc(ways, func(a, b []*value) int { return len(a) - len(b) })
	var out [][]*value
	for _, w := range ways {
		if !slices.ContainsFunc(out, func(u []*value) bool {
			return !slices.ContainsFunc(u, func(v *value) bool { return !slices.Contains(w, v) })
		}) {
			out = append(out, w)
		}
	}
	return out
}

// waysOf returns the ways in which a value satisfies a schema.
func (c *compiler) waysOf(v *value, path []*value) ([][]*value, error) {
	switch v.kind {
	case 't':
		return [][]*value{nil}, nil
	case 'f':
		return nil, nil
	}
	if w, ok := c.known[v.id]; ok {
		if c.fewer[v.id] {
			c.lost++
		}
		return w, nil
	}
	lost := c.lost
	path, err := c.enter(v, path)
	if err != nil {
		return nil, err
	}
	out := [][]*value{{v}}
	for i, k := range v.keys {
		if v.refuses {
			break
		}
		w, err := c.waysBy(v, k, v.list[i], path)
		if err != nil {
			return nil, err
		}
		if out, err = c.both(out, w); err != nil {
			return nil, err
		}
	}
	if out, err = c.evaluated(v, out); err == nil {
		c.known[v.id], c.fewer[v.id] = out, c.lost > lost
	}
	return out, err
}

// enter checks a schema before its keywords are read, and returns the path with it.
func (c *compiler) enter(v *value, path []*value) ([]*value, error) {
	if v.kind != '{' {
		return nil, fail(v, "a schema is an object, true or false")
	}
	if err := c.budget.step(); err != nil {
		return nil, err
	}
	if slices.Contains(path, v) {
		return nil, fail(v, "the schema refers to itself before any value is read")
	}
	if len(path) >= maxNesting {
		return nil, &LimitError{What: "references in references", Most: maxNesting}
	}
	return append(slices.Clip(path), v), supported(v)
}

// waysBy returns the ways in which a value satisfies one keyword, if that joins schemas.
func (c *compiler) waysBy(v *value, k string, x *value, path []*value) ([][]*value, error) {
	anything := [][]*value{nil}
	switch k {
	case "$ref", "$dynamicRef", "$recursiveRef":
		to, err := c.resolve(x)
		if err != nil {
			return nil, err
		}
		return c.waysOf(to, path)
	case "allOf", "extends":
		list, err := schemas(x, k == "extends")
		if err != nil {
			return nil, err
		}
		return c.all(list, false, path)
	case "anyOf":
		list, err := schemas(x, false)
		if err != nil {
			return nil, err
		}
		return c.any(list, false, path)
	case "oneOf":
		return c.oneOf(x, path)
	case "not":
		return c.waysNot(x, path)
	case "if":
		if v.under["then"] == nil && v.under["else"] == nil {
			return anything, nil
		}
		return c.conditional(x, v.under["then"], v.under["else"], false, path)
	case "dependencies", "dependentRequired", "dependentSchemas":
		return c.dependent(x, path)
	}
	return anything, nil
}

// schemas returns a list of schemas, or with one a single schema as a list.
func schemas(x *value, one bool) ([]*value, error) {
	if one && x.kind != '[' {
		return []*value{x}, nil
	}
	if x.kind != '[' || len(x.list) == 0 {
		return nil, fail(x, "want a list of schemas")
	}
	return x.list, nil
}

// waysIf is waysOf, or with not waysNot.
func (c *compiler) waysIf(v *value, not bool, path []*value) ([][]*value, error) {
	if not {
		return c.waysNot(v, path)
	}
	return c.waysOf(v, path)
}

// all returns the ways to satisfy all schemas, or with not to violate all of them.
func (c *compiler) all(list []*value, not bool, path []*value) ([][]*value, error) {
	out := [][]*value{nil}
	for _, s := range list {
		w, err := c.waysIf(s, not, path)
		if err != nil {
			return nil, err
		}
		if out, err = c.both(out, w); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// any returns the ways to satisfy, or with not to violate, one schema or more.
func (c *compiler) any(list []*value, not bool, path []*value) ([][]*value, error) {
	var out [][]*value
	for _, s := range list {
		w, err := c.waysIf(s, not, path)
		if err != nil {
			return nil, err
		}
		if out = distinct(append(out, w...)); len(out) > maxWays {
			return nil, &LimitError{What: "alternatives of one value", Most: maxWays}
		}
	}
	return out, nil
}

// oneOf returns the ways to satisfy one schema and to violate those others that are not
// plainly apart from it.
func (c *compiler) oneOf(x *value, path []*value) ([][]*value, error) {
	list, err := schemas(x, false)
	if err != nil {
		return nil, err
	}
	groups, fewer := make([][][]*value, len(list)), make([]bool, len(list))
	for i, s := range list {
		lost := c.lost
		if groups[i], err = c.waysOf(s, path); err != nil {
			return nil, err
		}
		fewer[i] = c.lost > lost
	}
	var out [][]*value
	for i := range groups {
		mine := groups[i]
		for j := range groups {
			if i == j {
				continue
			}
			apart, err := c.disjoint(mine, groups[j])
			if err != nil {
				return nil, err
			}
			if apart && !fewer[j] { // values that no way of it has may satisfy it
				continue
			}
			not, err := c.waysNot(list[j], path)
			if err != nil {
				return nil, err
			}
			if mine, err = c.both(mine, not); err != nil {
				return nil, err
			}
		}
		out = append(out, mine...)
	}
	return distinct(out), nil
}

// conditional returns the ways to satisfy, or with not to violate, if, then and else.
func (c *compiler) conditional(test, then, other *value, not bool, path []*value) ([][]*value, error) {
	branch := func(test [][]*value, then *value) ([][]*value, error) {
		w := [][]*value{nil}
		if not {
			w = nil
		}
		if then != nil {
			var err error
			if w, err = c.waysIf(then, not, path); err != nil {
				return nil, err
			}
		}
		return c.both(test, w)
	}
	yes, err := c.waysOf(test, path)
	if err != nil {
		return nil, err
	}
	no, err := c.waysNot(test, path)
	if err != nil {
		return nil, err
	}
	a, err := branch(yes, then)
	if err != nil {
		return nil, err
	}
	b, err := branch(no, other)
	return distinct(append(a, b...)), err
}

// dependent returns the ways to satisfy what the presence of a member asks for.
func (c *compiler) dependent(x *value, path []*value) ([][]*value, error) {
	if x.kind != '{' {
		return nil, fail(x, "want an object")
	}
	out := [][]*value{nil}
	for i, name := range x.keys {
		w, err := c.waysOf(c.required(x.list[i]), path)
		if err != nil {
			return nil, err
		}
		with, err := c.both([][]*value{{c.has(x.list[i], name)}}, w)
		if err != nil {
			return nil, err
		}
		if out, err = c.both(out, append([][]*value{{c.lacks(x.list[i], name)}}, with...)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// required returns the schema that a dependency is: one, or the names of members, of which
// one may be alone until draft 3.
func (c *compiler) required(x *value) *value {
	switch x.kind {
	case '[':
		return c.make(x, "required", x)
	case '"':
		return c.has(x, x.text)
	}
	return x
}

// make returns a schema of one keyword that stands for a part of another one, at whose
// place it is; the same one each time, so that schemas that refer to themselves end.
func (c *compiler) make(at *value, keyword string, x *value) *value {
	key := "one " + strconv.Itoa(at.id) + " " + keyword + " " + strconv.Itoa(x.id)
	return c.once(key, func() *value { return c.object1(at, []string{keyword}, []*value{x}) })
}

// once returns the value of a key, made when it is first asked for.
func (c *compiler) once(key string, make func() *value) *value {
	v, ok := c.mades[key]
	if !ok {
		v = make()
		v.made = true
		c.mades[key] = v
	}
	return v
}

// value returns a new value at a place.
func (c *compiler) value(at *value, v value) *value {
	c.last++
	v.at, v.id = at.at, c.last
	return &v
}

// object1 returns a new object at a place.
func (c *compiler) object1(at *value, keys []string, list []*value) *value {
	v := value{kind: '{', keys: keys, list: list, under: map[string]*value{}}
	for i, k := range keys {
		v.under[k] = list[i]
	}
	return c.value(at, v)
}

// typed returns a schema of values of one type with one keyword.
func (c *compiler) typed(at *value, typ, keyword string, x *value) *value {
	key := "typed " + strconv.Itoa(at.id) + " " + typ + " " + keyword
	return c.once(key, func() *value {
		return c.object1(at, []string{"type", keyword}, []*value{c.value(at, value{kind: '"', text: typ}), x})
	})
}

// has returns the schema of objects with a member, at the place of another.
func (c *compiler) has(at *value, name string) *value {
	key := "has " + strconv.Itoa(at.id) + " " + name
	return c.once(key, func() *value {
		list := c.value(at, value{kind: '[', list: []*value{c.value(at, value{kind: '"', text: name})}})
		return c.object1(at, []string{"type", "required"}, []*value{c.value(at, value{kind: '"', text: "object"}), list})
	})
}

// lacks returns the schema of values without a member.
func (c *compiler) lacks(at *value, name string) *value {
	key := "lacks " + strconv.Itoa(at.id) + " " + name
	return c.once(key, func() *value {
		no := c.value(at, value{kind: 'f'})
		return c.object1(at, []string{"properties"}, []*value{c.object1(at, []string{name}, []*value{no})})
	})
}

// but returns the schema of what violates another one.
func (c *compiler) but(v *value) *value { return c.make(v, "not", v) }

// refusing returns a schema that one keyword of another is not satisfied by values of its
// type.
func (c *compiler) refusing(v *value, keyword string, x *value) *value {
	return c.once("refusing "+strconv.Itoa(x.id)+" "+keyword, func() *value {
		r := c.object1(v, []string{keyword}, []*value{x})
		r.at, r.refuses = x.at, true
		return r
	})
}
