package grammar

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// FromSchema compiles a JSON Schema to a grammar of JSON texts that satisfy it. It reads
// draft 2020-12, and of OpenAPI and older drafts nullable, definitions, and items as a
// list of schemas; a boolean exclusiveMinimum is an error.
//
// Every text of the grammar satisfies the schema, if pattern is read as Go's package
// regexp reads it: \s and \S know white space of ASCII alone, and what ECMAScript has
// otherwise or not at all, such as [[:alpha:]], \pL, \A and \Q…\E, is Go's. The reverse
// does not hold, a value has texts that are not in the grammar:
//
//   - Members come in the order of properties, then those that are only required, then
//     those that only additionalProperties allows, or nothing forbids. A name of the last
//     kind may be written twice. After a comma and a colon there may be one space,
//     elsewhere none; values of const and enum stand as the schema has them, without
//     spaces.
//   - Numbers have at most 18 digits before the point. Without bounds they have at most
//     15 after it and an exponent of at most two digits, with bounds up to 45 and no
//     exponent. Bounds that only longer numbers satisfy are an error.
//   - "format" is an assertion about strings, and what is written is narrower than the
//     formats' standards. There are date, time, date-time, duration, uuid, ipv4, ipv6,
//     hostname, email and uri; any other name is an error, also beside another type.
//
// What asserts something that the grammar cannot express is an [*Error] with the JSON
// pointer of the keyword: the keywords in the list unsupported, multipleOf of anything
// but 1, a format beside a pattern or bounds of length, bounds of length that a pattern
// does not keep by itself, minProperties and maxProperties that the listed and required
// members do not decide, references to other documents, and oneOf whose alternatives do
// not visibly exclude each other: by type, by a constant, by bounds, or by a required
// member that differs so or that the other forbids. A schema that no value satisfies is an
// error at the root, one beyond the package's bounds a [*LimitError]. Keywords that only
// annotate, and unknown ones, are ignored, as the standard says. Parts that no value
// reaches are not looked at.
func FromSchema(b *Budget, source []byte) (*Grammar, error) {
	root, err := readJSON(source)
	if err != nil {
		return nil, err
	}
	c := &compiler{budget: b, root: root, memo: map[string]int{}, fixed: map[string]int{}, anchors: map[string]*value{}}
	if err := c.index(root); err != nil {
		return nil, err
	}
	if _, err := c.rule([]*value{root}); err != nil {
		return nil, err
	}
	var faults []*Error
	for i := 0; i < len(c.queue); i++ {
		q := c.queue[i]
		c.at = ""
		if len(q.all) > 0 {
			c.at = q.all[0].at
		}
		e, err := c.body(q.all)
		if one, ok := err.(*Error); ok && len(faults) < mostFaults {
			if !slices.ContainsFunc(faults, func(f *Error) bool { return f.Pointer == one.Pointer }) {
				faults = append(faults, one)
			}
			e, err = alt(), nil
		}
		if err != nil {
			return nil, b.spent(err, place{c.at, 0, true})
		}
		c.g.rules[q.rule].body = e
		if len(c.g.rules) > maxRules {
			return nil, b.spent(&LimitError{What: "rules", Most: maxRules}, place{c.at, 0, true})
		}
	}
	if len(faults) > 0 {
		faults[0].more = faults[1:]
		return nil, faults[0]
	}
	c.g.schema = true
	if err := c.g.build(b); err != nil {
		if e, ok := err.(*ruleError); ok {
			err = &Error{Schema: true, Why: "no value satisfies the schema"}
			if e.rule != 0 {
				err = &Error{Schema: true, Why: "a schema " + e.why}
			}
		}
		return nil, err
	}
	return &c.g, nil
}

// mostFaults is how many errors of one schema are told.
const mostFaults = 32

// A compiler turns schemas into rules: one for each set of schemas that one
// value has to satisfy, so that schemas may refer to each other.
type compiler struct {
	budget  *Budget
	at      string // pointer to what is compiled
	root    *value
	g       Grammar
	memo    map[string]int // rule by the ids of the schemas
	fixed   map[string]int // rules of the table below, and of arrays and objects, by name
	queue   []pending
	anchors map[string]*value
}

type pending struct {
	rule int
	all  []*value
}

func fail(v *value, why string, args ...any) error {
	return &Error{Pointer: v.at, Schema: true, Why: fmt.Sprintf(why, args...)}
}

// index collects the anchors, and rejects schemas with addresses of their own
// inside, to which references would be relative.
func (c *compiler) index(v *value) error {
	if v.kind == '{' {
		if id := v.under["$id"]; id != nil && id.kind == '"' && v != c.root && v.under["$ref"] == nil && v.under["enum"] == nil {
			return fail(id, "a schema with an address of its own is not supported inside another")
		}
		if a := v.under["$anchor"]; a != nil && a.kind == '"' && c.anchors[a.text] == nil {
			c.anchors[a.text] = v
		}
	}
	for i, x := range v.list {
		if v.kind == '{' && (v.keys[i] == "enum" || v.keys[i] == "const" || v.keys[i] == "default" || v.keys[i] == "examples") {
			continue
		}
		if err := c.index(x); err != nil {
			return err
		}
	}
	return nil
}

// rule returns the rule of the values that satisfy all schemas.
func (c *compiler) rule(all []*value) (int, error) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *value) int { return a.id - b.id })
	all = slices.DeleteFunc(slices.Compact(all), func(v *value) bool { return v.kind == 't' })
	var key strings.Builder
	for _, v := range all {
		key.WriteString(strconv.Itoa(v.id))
		key.WriteByte(' ')
	}
	if r, ok := c.memo[key.String()]; ok {
		return r, nil
	}
	r := c.add("value")
	c.memo[key.String()] = r
	if len(all) > 0 {
		c.g.rules[r].pointer = all[0].at
	}
	c.queue = append(c.queue, pending{r, all})
	if len(c.queue) > maxRules {
		return 0, &LimitError{What: "rules", Most: maxRules}
	}
	return r, nil
}

// add adds a rule, whose body comes later.
func (c *compiler) add(name string) int {
	n := len(c.g.rules)
	c.g.rules = append(c.g.rules, rule{name: name + "-" + strconv.Itoa(n), pointer: c.at})
	return n
}

// define adds a rule.
func (c *compiler) define(name string, e *expr) *expr {
	r := c.add(name)
	c.g.rules[r].body = e
	return ref(r)
}

// use returns a rule of the table of fixed ones.
func (c *compiler) use(name string) *expr {
	if r, ok := c.fixed[name]; ok {
		return ref(r)
	}
	g, err := Parse(nil, fixedRules[name])
	if err != nil {
		panic(err) // the table is tested
	}
	base := len(c.g.rules)
	for i, r := range g.rules {
		if i == 0 {
			r.name = name
		}
		c.g.rules = append(c.g.rules, rule{name: r.name + "-" + strconv.Itoa(base+i), pointer: c.at, body: r.body.shift(base)})
	}
	c.fixed[name] = base
	return ref(base)
}

// shift renumbers references.
func (e *expr) shift(base int) *expr {
	if e.op == opRef {
		e.rule += base
	}
	for _, s := range e.subs {
		s.shift(base)
	}
	return e
}

// body returns the expression of the values that satisfy all schemas.
func (c *compiler) body(all []*value) (*expr, error) {
	ways, err := c.ways(all)
	if err != nil {
		return nil, err
	}
	out := alt()
	for _, w := range ways {
		f, err := c.merge(w)
		if err != nil {
			return nil, err
		}
		e, err := c.flat(f)
		if err != nil {
			return nil, err
		}
		out.subs = append(out.subs, e.subs...)
	}
	return out, nil
}

// maxWays bounds the alternatives of anyOf times those of others.
const maxWays = 256

// ways returns the alternatives of a conjunction: each is a list of schemas of
// which references, allOf, anyOf and oneOf are already taken account of.
func (c *compiler) ways(all []*value) ([][]*value, error) {
	out := [][]*value{nil}
	for _, v := range all {
		w, err := c.waysOf(v, nil)
		if err != nil {
			return nil, err
		}
		if out = product(out, w); len(out) > maxWays {
			return nil, &LimitError{What: "alternatives of one value", Most: maxWays}
		}
	}
	return out, nil
}

func (c *compiler) waysOf(v *value, path []*value) ([][]*value, error) {
	switch v.kind {
	case 't':
		return [][]*value{nil}, nil
	case 'f':
		return nil, nil
	case '{':
	default:
		return nil, fail(v, "a schema is an object, true or false")
	}
	if err := c.budget.step(); err != nil {
		return nil, err
	}
	if slices.Contains(path, v) {
		return nil, fail(v, "the schema refers to itself before any value is read")
	}
	path = append(path, v)
	if len(path) > maxNesting {
		return nil, &LimitError{What: "references in references", Most: maxNesting}
	}
	if err := supported(v); err != nil {
		return nil, err
	}
	out := [][]*value{{v}}
	join := func(w [][]*value, err error) error {
		if err != nil {
			return err
		}
		if out = product(out, w); len(out) > maxWays {
			return &LimitError{What: "alternatives of one value", Most: maxWays}
		}
		return nil
	}
	for i, k := range v.keys {
		x := v.list[i]
		switch k {
		case "$ref":
			to, err := c.resolve(x)
			if err != nil {
				return nil, err
			}
			if err := join(c.waysOf(to, path)); err != nil {
				return nil, err
			}
		case "allOf", "anyOf", "oneOf":
			if x.kind != '[' || len(x.list) == 0 {
				return nil, fail(x, "want a list of schemas")
			}
			var union [][]*value
			groups := make([][][]*value, len(x.list))
			for j, s := range x.list {
				w, err := c.waysOf(s, path)
				if err != nil {
					return nil, err
				}
				if k == "allOf" {
					if err := join(w, nil); err != nil {
						return nil, err
					}
				}
				groups[j] = w
				union = append(union, w...)
			}
			if k == "allOf" {
				continue
			}
			if k == "oneOf" {
				if err := c.exclusive(x, v, groups); err != nil {
					return nil, err
				}
			}
			if err := join(union, nil); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// product joins each way of a with each of b.
func product(a, b [][]*value) [][]*value {
	var out [][]*value
	for _, x := range a {
		for _, y := range b {
			w := slices.Clone(x)
			for _, v := range y {
				if !slices.Contains(w, v) {
					w = append(w, v)
				}
			}
			if out = append(out, w); len(out) > maxWays {
				return out
			}
		}
	}
	return out
}

// resolve returns the schema that a reference names.
func (c *compiler) resolve(x *value) (*value, error) {
	if x.kind != '"' {
		return nil, fail(x, "want a reference")
	}
	to := x.text
	if id := c.root.under["$id"]; id != nil && id.kind == '"' {
		to = strings.TrimPrefix(to, strings.TrimSuffix(id.text, "#"))
	}
	if to == "" {
		return c.root, nil
	}
	if to[0] != '#' {
		return nil, fail(x, "only references inside the schema are supported, not %q", x.text)
	}
	to, err := url.PathUnescape(to[1:])
	if err != nil {
		return nil, fail(x, "bad reference %q", x.text)
	}
	if to != "" && to[0] != '/' {
		if v := c.anchors[to]; v != nil {
			return v, nil
		}
		return nil, fail(x, "there is no anchor %q", to)
	}
	v := c.root
	for _, key := range strings.Split(to, "/")[1:] {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		var next *value
		switch v.kind {
		case '{':
			next = v.under[key]
		case '[':
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v.list) {
				next = v.list[i]
			}
		}
		if next == nil {
			return nil, fail(x, "there is nothing at %q", x.text)
		}
		v = next
	}
	return v, nil
}

// unsupported keywords assert what the grammar does not.
var unsupported = []string{
	"not", "if", "then", "else", "contains", "uniqueItems", "dependentRequired", "dependentSchemas",
	"dependencies", "propertyNames", "patternProperties", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef",
	"$recursiveRef", "extends", "disallow", "divisibleBy",
}

// supported rejects schemas with keywords that are not, unless these say nothing.
func supported(v *value) error {
	for i, k := range v.keys {
		x := v.list[i]
		idle := x.kind == 't' && k != "uniqueItems" && k != "not" && k != "contains" || x.kind == '{' && len(x.list) == 0 && k != "not" && k != "contains" ||
			x.kind == 'f' && (k == "uniqueItems" || k == "not") ||
			k == "if" && v.under["then"] == nil && v.under["else"] == nil || (k == "then" || k == "else") && v.under["if"] == nil
		if slices.Contains(unsupported, k) && !idle {
			return &Error{Pointer: v.at + "/" + escapePointer(k), Schema: true, Why: "the keyword " + k + " is not supported"}
		}
	}
	return nil
}
