package grammar

import (
	"slices"
	"strconv"
)

// evaluated adds to each way of a schema what its unevaluatedProperties and
// unevaluatedItems ask of those members and items that no other keyword of the way is
// about. What is about them is known, since a way says which alternatives hold.
func (c *compiler) evaluated(v *value, ways [][]*value) ([][]*value, error) {
	p, items := v.under["unevaluatedProperties"], v.under["unevaluatedItems"]
	if v.refuses || idle(p) && idle(items) {
		return ways, nil
	}
	if c.negated(v, 0) {
		x := p
		if x == nil {
			x = items
		}
		return nil, fail(x, "what a schema leaves unevaluated is not supported together with not in not")
	}
	c.lost++ // an alternative that holds, too, may evaluate more
	out := make([][]*value, len(ways))
	for i, w := range ways {
		out[i] = slices.Clone(w)
		name := strconv.Itoa(v.id) + " " + key(w)
		if !idle(p) && !slices.ContainsFunc(w, func(s *value) bool {
			return !s.made && (s.under["additionalProperties"] != nil || s != v && s.under["unevaluatedProperties"] != nil)
		}) {
			out[i] = append(out[i], c.once("members "+name, func() *value { return c.otherMembers(p, w) }))
		}
		if idle(items) {
			continue
		}
		n, all := 0, false
		for _, s := range w {
			if s.made {
				continue
			}
			if s.under["contains"] != nil {
				return nil, fail(items, "unevaluatedItems beside contains is not supported")
			}
			rest := s.under["items"]
			if t := tuple(s); rest != nil && rest.kind == '[' {
				rest = s.under["additionalItems"]
				n = max(n, len(t))
			} else {
				n = max(n, len(t))
			}
			all = all || rest != nil || s != v && s.under["unevaluatedItems"] != nil
		}
		if !all {
			out[i] = append(out[i], c.once("items "+name, func() *value {
				list := make([]*value, n)
				for j := range list {
					list[j] = c.value(items, value{kind: 't'})
				}
				return c.object1(items, []string{"prefixItems", "items"}, []*value{c.value(items, value{kind: '[', list: list}), items})
			}))
		}
	}
	return out, nil
}

// idle reports whether a schema asks for nothing.
func idle(x *value) bool {
	return x == nil || x.kind == 't' || x.kind == '{' && len(x.list) == 0
}

// otherMembers returns the schema of objects whose members that a way is not about satisfy
// one schema.
func (c *compiler) otherMembers(rest *value, way []*value) *value {
	lists := map[string]*value{}
	for _, k := range []string{"properties", "patternProperties"} {
		var names []string
		var list []*value
		for _, s := range way {
			if p := s.under[k]; p != nil && !s.made {
				for _, n := range p.keys {
					if !slices.Contains(names, n) {
						names, list = append(names, n), append(list, c.value(rest, value{kind: 't'}))
					}
				}
			}
		}
		lists[k] = c.object1(rest, names, list)
	}
	return c.object1(rest, []string{"properties", "patternProperties", "additionalProperties"}, []*value{lists["properties"], lists["patternProperties"], rest})
}

// negated reports whether a schema below refuses a refusal, whose members are not
// evaluated though they are part of a way.
func (c *compiler) negated(v *value, nots int) bool {
	if v.kind != '{' && v.kind != '[' {
		return false
	}
	for i, x := range v.list {
		n := nots
		if v.kind == '{' && v.keys[i] == "not" {
			n++
		}
		if n > 1 || c.negated(x, n) {
			return true
		}
	}
	return false
}
