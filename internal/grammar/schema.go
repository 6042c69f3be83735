package grammar

import (
	"fmt"
	"slices"
	"strconv"
)

// FromSchema compiles a JSON Schema to a grammar of JSON texts that satisfy it. It reads
// draft 2020-12, and what earlier drafts and OpenAPI have otherwise: nullable, definitions,
// dependencies, id, items as a list, bounds that are exclusive by a boolean.
//
// Every text of the grammar satisfies the schema. The reverse does not hold, a value has
// texts that are not in the grammar:
//
//   - Members come in the order of properties, then those that are only required, then
//     those that only patterns and additionalProperties allow, or nothing forbids. A name of
//     the last kind may be written twice, and minProperties counts only one of that kind.
//     After a comma and a colon there may be one space, elsewhere none; values of const and
//     enum stand as the schema has them.
//   - Numbers have at most 18 digits before the point. Without bounds they have at most
//     15 after it and an exponent of at most two digits, with bounds, steps and values that
//     are refused up to 45 and no exponent. Bounds that only longer numbers satisfy are an
//     error.
//   - "pattern" is a regular expression of ECMA-262 that matches anywhere in the string.
//     Characters of strings that a pattern, a format or a value that is refused tells apart
//     stand in their usual form. Beside a bound of length they have at most 8192
//     characters divided by the states of their automaton, or 256 if that is more.
//   - "format" is an assertion about strings for the formats of draft 2020-12; of most of
//     them what is written is narrower than the standard, see the table formats. Any other
//     name is an annotation.
//   - What violates a schema, as not, oneOf, if and dependencies ask for, violates one of
//     its keywords. Violations of uniqueItems and of a format that is written more narrowly
//     are not written, where others can be.
//   - Items that differ, if there are more than 8 values of them, come in the schema's order.
//   - What is unevaluated is judged by one alternative of anyOf, though others may hold.
//
// What asserts something that the grammar cannot express is an [*Error] with the JSON
// pointer of the keyword: uniqueItems of items that are not values of a list, minProperties
// beyond what the listed members and one more decide, two contains, patterns that look back
// or refer to what they matched, references to other documents. [Unenforced] has further
// ones of the same schema. A schema that no value satisfies is an error at the root, one
// beyond the package's bounds a [*LimitError]. Keywords that only annotate, and unknown ones,
// are ignored, as the standard says. Parts that no value reaches are not looked at.
func FromSchema(b *Budget, source []byte) (*Grammar, error) {
	root, err := readJSON(source)
	if err != nil {
		return nil, err
	}
	c := newCompiler(b, root)
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
	places  *places
	last    int                // id of a value
	known   map[int][][]*value // by the id of a schema: [compiler.waysOf]
	mades   map[string]*value  // [compiler.once]
	voids   map[string]bool    // [compiler.void]
	sets    map[string]*dfa    // of patterns and formats
	open    int                // [compiler.unsatisfiable]: schemas that are being split,
	looked  int                // and how many were
	refused int                // [compiler.count]
	lost    int                // how often ways or values were left out that satisfy a schema
	fewer   map[int]bool       // by the id of a schema: whether known lacks some
}

func newCompiler(b *Budget, root *value) *compiler {
	return &compiler{
		budget: b, root: root, memo: map[string]int{}, fixed: map[string]int{}, places: placesOf(root), last: root.last(),
		known: map[int][][]*value{}, fewer: map[int]bool{}, mades: map[string]*value{}, voids: map[string]bool{}, sets: map[string]*dfa{},
	}
}

type pending struct {
	rule int
	all  []*value
}

func fail(v *value, why string, args ...any) error {
	return &Error{Pointer: v.at, Schema: true, Why: fmt.Sprintf(why, args...)}
}

// rule returns the rule of the values that satisfy all schemas.
func (c *compiler) rule(all []*value) (int, error) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *value) int { return a.id - b.id })
	all = slices.DeleteFunc(slices.Compact(all), func(v *value) bool { return v.kind == 't' })
	name := key(all)
	if r, ok := c.memo[name]; ok {
		return r, nil
	}
	r := c.add("value")
	c.memo[name] = r
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

// unsupported keywords assert what the grammar does not.
var unsupported = []string{"disallow"}

// supported rejects schemas with keywords that are not.
func supported(v *value) error {
	for _, k := range unsupported {
		if x := v.under[k]; x != nil && !v.refuses {
			return &Error{Pointer: v.at + "/" + escapePointer(k), Schema: true, Why: "the keyword " + k + " is not supported"}
		}
	}
	return nil
}
