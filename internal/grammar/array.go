package grammar

import (
	"fmt"
	"slices"
	"strconv"
)

// array returns the expression of the arrays that f allows.
func (c *compiler) array(f *flat) (*expr, error) {
	least, most := f.least["Items"], unbounded
	if m, ok := f.most["Items"]; ok {
		most = m
	}
	if least > most {
		return alt(), nil
	}
	if f.unique && most > 1 {
		return c.distinctItems(f, least, most)
	}
	if len(f.contains) > 0 {
		return c.containing(f, least, most)
	}
	own := min(f.prefix(), most)
	items := make([]*expr, 0, own)
	for i := range own {
		all := f.item(i)
		if impossible(all) {
			most = min(most, i)
			break
		}
		r, err := c.rule(all)
		if err != nil {
			return nil, err
		}
		items = append(items, ref(r))
	}
	if least > most {
		return alt(), nil
	}
	if len(items) > most {
		items = items[:most]
	}
	comma := seq(text(","), c.use("space"))
	tail := text("")
	n := len(items)
	if all := f.item(f.prefix()); n == f.prefix() && most > n && !impossible(all) {
		r, err := c.rule(all)
		if err != nil {
			return nil, err
		}
		from, to := max(0, least-n), unbounded
		if most != unbounded {
			to = most - n
		}
		if max(from, to) > maxRepeat && to != unbounded || from > maxRepeat {
			return nil, &LimitError{What: fmt.Sprint("items of an array at ", f.all[0].at), Most: maxRepeat}
		}
		tail = repeat(seq(comma, ref(r)), from, to)
		if n == 0 {
			if to != unbounded {
				to--
			}
			tail = seq(ref(r), repeat(seq(comma, ref(r)), max(0, from-1), to))
			if from == 0 {
				tail = optional(tail)
			}
		}
	} else if least > n {
		return alt(), nil
	}
	for i := n - 1; i >= 0; i-- {
		e := seq(items[i], tail)
		if i > 0 {
			e = seq(comma, e)
		}
		if tail = e; i >= least {
			tail = c.define("items", optional(e))
		}
	}
	return seq(text("["), tail, text("]")), nil
}

// maxCells bounds the rules of one array or object that counts.
const maxCells = 1 << 12

// containing returns the expression of arrays that contain something: a rule for each
// number of items and of those that are counted. An item that is counted satisfies the
// schema of contains; any other violates it, unless there may be more than are counted.
func (c *compiler) containing(f *flat, least, most int) (*expr, error) {
	x := f.contains[0]
	if len(f.contains) > 1 {
		return nil, fail(f.contains[1].under["contains"], "two contains for one array are not supported")
	}
	from, to, err := containing(x)
	if err != nil {
		return nil, err
	}
	what := x.under["contains"]
	rows, columns := max(least, f.prefix()), from // where counts end
	if most != unbounded {
		rows = most
	}
	if to != unbounded {
		columns = to
	}
	if add(rows, 1)*add(columns, 1) > maxCells {
		return nil, fail(what, "contains beside bounds as large as these is not supported")
	}
	comma := seq(text(","), c.use("space"))
	cells := map[[2]int]int{}
	var todo [][2]int
	cell := func(at [2]int) *expr {
		r, ok := cells[at]
		if !ok {
			r = c.add("items")
			cells[at], todo = r, append(todo, at)
		}
		return ref(r)
	}
	start := cell([2]int{0, 0})
	for k := 0; k < len(todo); k++ {
		i, n := todo[k][0], todo[k][1]
		out := alt()
		if i >= least && n >= from {
			out.subs = append(out.subs, text(""))
		}
		for _, hit := range []bool{true, false} {
			all, m := slices.Clone(f.item(i)), n
			switch {
			case most != unbounded && i >= most || impossible(all) || hit && n >= columns: // which any item is part of
				continue
			case hit:
				all, m = append(all, what), min(n+1, columns)
			case to != unbounded:
				all = append(all, c.but(what))
			}
			r, err := c.rule(all)
			if err != nil {
				return nil, err
			}
			e := seq(ref(r), cell([2]int{min(i+1, rows+1), m}))
			if i > 0 {
				e = seq(comma, e)
			}
			out.subs = append(out.subs, e)
		}
		c.g.rules[cells[todo[k]]].body = out
	}
	return seq(text("["), start, text("]")), nil
}

// manyItems is up to how many values the items of uniqueItems may come in any order; more
// come in the order of the schema.
const manyItems = 8

// distinctItems returns the expression of arrays whose items differ: the items that are
// left for each set of those that were written.
func (c *compiler) distinctItems(f *flat, least, most int) (*expr, error) {
	at := f.all[0]
	for _, v := range f.all {
		if x := v.under["uniqueItems"]; x != nil {
			at = x
		}
	}
	if len(f.contains) > 0 || f.prefix() > 0 {
		return nil, fail(at, "uniqueItems beside contains or items with schemas of their own is not supported")
	}
	list, err := c.values(f.item(0))
	if err != nil {
		return nil, err
	}
	if list == nil {
		return nil, fail(at, "uniqueItems is supported for items of a list of values")
	}
	if least > len(list) {
		return alt(), nil
	}
	comma := seq(text(","), c.use("space"))
	if len(list) > manyItems {
		return c.ascendingItems(list, comma, least, min(most, len(list)))
	}
	rules := map[int]int{}
	var rule func(written, n int) int
	rule = func(written, n int) int {
		if r, ok := rules[written]; ok {
			return r
		}
		r := c.add("items")
		rules[written] = r
		out := alt()
		if n >= least {
			out.subs = append(out.subs, text(""))
		}
		for i, x := range list {
			if written>>i&1 == 1 || n >= most {
				continue
			}
			e := seq(x, ref(rule(written|1<<i, n+1)))
			if n > 0 {
				e = seq(comma, e)
			}
			out.subs = append(out.subs, e)
		}
		c.g.rules[r].body = out
		return r
	}
	return seq(text("["), ref(rule(0, 0)), text("]")), nil
}

// ascendingItems returns the expression of arrays of some of the items in their order.
func (c *compiler) ascendingItems(list []*expr, comma *expr, least, most int) (*expr, error) {
	last := max(least, 1) // counts that differ
	if most < len(list) {
		last = most
	}
	if len(list)*(last+1) > maxCells {
		return nil, &LimitError{What: "values of items that differ", Most: maxCells}
	}
	rules := map[[2]int]int{}
	var rule func(i, n int) *expr
	rule = func(i, n int) *expr {
		switch {
		case (i == len(list) || n >= most) && n < least:
			return alt()
		case i == len(list) || n >= most:
			return text("")
		}
		if r, ok := rules[[2]int{i, n}]; ok {
			return ref(r)
		}
		r := c.add("items")
		rules[[2]int{i, n}] = r
		one := seq(list[i], rule(i+1, min(n+1, last)))
		if n > 0 {
			one = seq(comma, one)
		}
		c.g.rules[r].body = alt(one, rule(i+1, n))
		return ref(r)
	}
	return seq(text("["), rule(0, 0), text("]")), nil
}

// values returns the expressions of the values that satisfy schemas, nil unless these list
// them.
func (c *compiler) values(all []*value) ([]*expr, error) {
	ways, err := c.ways(all)
	if err != nil {
		return nil, err
	}
	var seen []*value
	out := []*expr{}
	add := func(x *value) {
		if !slices.ContainsFunc(seen, x.equal) {
			seen, out = append(seen, x), append(out, c.constant(x))
		}
	}
	for _, w := range ways {
		f, err := c.merge(w)
		if err != nil {
			return nil, err
		}
		switch {
		case f.fixed:
			for _, x := range f.enum {
				if !slices.ContainsFunc(f.except, x.equal) {
					add(x)
				}
			}
		case f.types&^(tBool|tNull) == 0:
			e, _ := plain(f)
			for _, s := range e.subs {
				add(&value{kind: s.text[0]})
			}
		case f.types == tInteger && f.low != nil && f.high != nil && !f.picks():
			lo, hi := ceil(f.low, f.above), floor(f.high, f.below)
			if !lo.IsInt64() || !hi.IsInt64() || hi.Int64()-lo.Int64() > 64 {
				return nil, nil
			}
			for n := lo.Int64(); n <= hi.Int64(); n++ {
				add(&value{kind: '0', text: strconv.FormatInt(n, 10)})
			}
		default:
			return nil, nil
		}
	}
	return out, nil
}
