package chat

import (
	"slices"
	"strconv"
	"strings"
)

// ignoreCase lowers strings, for comparisons.
func ignoreCase(v Value) Value {
	if s, ok := text(v); ok {
		return lower(s)
	}
	return v
}

// attrPath splits "a.0.b" into keys; numbers become ints.
func attrPath(attr Value) []Value {
	if attr == missing || attr == nil {
		return nil
	}
	s, ok := text(attr)
	if !ok {
		return []Value{attr}
	}
	var parts []Value
	for p := range strings.SplitSeq(s, ".") {
		if n, err := strconv.ParseInt(p, 10, 64); err == nil && every(isDigit)(p) {
			parts = append(parts, n)
		} else {
			parts = append(parts, p)
		}
	}
	return parts
}

// follow looks up a path; def, unless nil or missing, replaces what is undefined.
func (m *machine) follow(x Value, path []Value, def Value) (Value, error) {
	for _, p := range path {
		v, err := m.getitem(x, p)
		if err != nil {
			return nil, err
		}
		x = v
		if _, ok := x.(*undefined); ok && def != nil && def != missing {
			x = def
		}
	}
	return x, nil
}

// key computes what a filter compares items by.
func (m *machine) key(x Value, path []Value, caseSensitive bool, def Value) (Value, error) {
	v, err := m.follow(x, path, def)
	if err != nil {
		return nil, err
	}
	if !caseSensitive {
		if s, ok := text(v); ok {
			if err := m.alloc(len(s)); err != nil {
				return nil, err
			}
			v = ignoreCase(v)
		}
	}
	return v, nil
}

// sortBy returns the order of the keys: stable, also in reverse.
func (m *machine) sortBy(keys []Value, reverse bool) ([]int, error) {
	if err := m.alloc(16 * len(keys)); err != nil {
		return nil, err
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	var failed error
	slices.SortStableFunc(order, func(i, j int) int {
		if failed != nil {
			return 0
		}
		c, _, err := m.order("<", keys[i], keys[j], 0)
		if err != nil {
			failed = err
			return 0
		}
		if reverse {
			c = -c
		}
		return c
	})
	return order, failed
}

func pick(items []Value, order []int) []Value {
	out := make([]Value, len(order))
	for i, j := range order {
		out[i] = items[j]
	}
	return out
}

func sortFilter(m *machine, x Value, a []Value) (Value, error) {
	items, err := m.collect(x)
	if err != nil {
		return nil, err
	}
	paths := [][]Value{attrPath(a[2])}
	if s, ok := text(a[2]); ok {
		paths = nil
		for p := range strings.SplitSeq(s, ",") {
			paths = append(paths, attrPath(p))
		}
	}
	keys := make([]Value, len(items))
	for i, it := range items {
		k := &List{}
		for _, p := range paths {
			v, err := m.key(it, p, flag(a[1]), nil)
			if err != nil {
				return nil, err
			}
			k.Items = append(k.Items, v)
		}
		keys[i] = k
		if err := m.alloc(64); err != nil {
			return nil, err
		}
	}
	order, err := m.sortBy(keys, flag(a[0]))
	if err != nil {
		return nil, err
	}
	return &List{Items: pick(items, order)}, nil
}

func dictSort(m *machine, x Value, a []Value) (Value, error) {
	d, ok := x.(*Map)
	if !ok {
		if u, ok := x.(*undefined); ok {
			return nil, u.err()
		}
		return nil, typeError("'%s' object has no attribute 'items'", typeName(x))
	}
	by, _ := text(given(a[1], "key"))
	source := d.keys
	switch by {
	case "key":
	case "value":
		source = d.vals
	default:
		return nil, valueError(`You can only sort by either "key" or "value"`)
	}
	keys := make([]Value, len(source))
	for i, v := range source {
		k, err := m.key(v, nil, flag(a[0]), nil)
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	order, err := m.sortBy(keys, flag(a[2]))
	if err != nil {
		return nil, err
	}
	l := &List{}
	for _, i := range order {
		l.Items = append(l.Items, d.pair(i))
		if err := m.alloc(64); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func uniqueFilter(m *machine, x Value, a []Value) (Value, error) {
	it := m.later(x)
	path, seen := attrPath(a[1]), map[any]bool{}
	return generator(func() (Value, bool, error) {
		for {
			v, ok, err := it.next()
			if err != nil || !ok {
				return nil, false, err
			}
			k, err := m.key(v, path, flag(a[0]), nil)
			if err != nil {
				return nil, false, err
			}
			h, err := hashKey(k)
			if err != nil {
				return nil, false, err
			}
			if err := m.alloc(48); err != nil {
				return nil, false, err
			}
			if !seen[h] {
				seen[h] = true
				return v, true, nil
			}
		}
	}), nil
}

// extreme is min (sign -1) or max (1): the first of equals wins.
func extreme(sign int) func(*machine, Value, []Value) (Value, error) {
	return func(m *machine, x Value, a []Value) (Value, error) {
		path := attrPath(a[1])
		best, bestKey := missing, missing
		err := m.each(x, func(v Value) (bool, error) {
			k, err := m.key(v, path, flag(a[0]), nil)
			if err != nil {
				return false, err
			}
			if best != missing {
				c, unordered, err := m.order("<", k, bestKey, 0)
				if err != nil || unordered || c*sign <= 0 {
					return err == nil, err
				}
			}
			best, bestKey = v, k
			return true, nil
		})
		if best == missing && err == nil {
			return &undefined{kind: KindUndefined, msg: "No aggregated item, sequence was empty."}, nil
		}
		return best, err
	}
}

func groupBy(m *machine, x Value, a []Value) (Value, error) {
	items, err := m.collect(x)
	if err != nil {
		return nil, err
	}
	path, exact := attrPath(a[0]), flag(a[2])
	keys := make([]Value, len(items))
	for i, it := range items {
		if keys[i], err = m.key(it, path, exact, a[1]); err != nil {
			return nil, err
		}
	}
	order, err := m.sortBy(keys, false)
	if err != nil {
		return nil, err
	}
	out := &List{}
	var group *List
	for n, i := range order {
		same := false
		if n > 0 {
			if same, err = m.equal(keys[order[n-1]], keys[i], 0); err != nil {
				return nil, err
			}
		}
		if !same {
			label := keys[i]
			if !exact {
				if label, err = m.follow(items[i], path, a[1]); err != nil {
					return nil, err
				}
			}
			group = &List{}
			out.Items = append(out.Items, &Tuple{Items: []Value{label, group}, fields: []string{"grouper", "list"}})
		}
		group.Items = append(group.Items, items[i])
		if err := m.alloc(64); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func batchFilter(m *machine, x Value, a []Value) (Value, error) {
	it := m.later(x)
	n, err := argInt("batch", a[0], 0)
	if err != nil {
		return nil, err
	}
	done, carry := false, missing
	return generator(func() (Value, bool, error) {
		row := &List{}
		if carry != missing {
			row.Items, carry = append(row.Items, carry), missing
		}
		for !done {
			v, ok, err := it.next()
			if err != nil {
				return nil, false, err
			}
			if !ok {
				done = true
				break
			}
			if err := m.alloc(16); err != nil {
				return nil, false, err
			}
			if len(row.Items) == n {
				carry = v
				return row, true, nil
			}
			row.Items = append(row.Items, v)
		}
		if len(row.Items) == 0 {
			return nil, false, nil
		}
		if fill := a[1]; fill != missing && fill != nil && len(row.Items) < n {
			if n > maxWidth {
				return nil, false, fail(KindLimit, "batches above %d", maxWidth)
			}
			if err := m.alloc(16 * n); err != nil {
				return nil, false, err
			}
			for len(row.Items) < n {
				row.Items = append(row.Items, fill)
			}
		}
		return row, true, nil
	}), nil
}

func sliceFilter(m *machine, x Value, a []Value) (Value, error) {
	n, err := argInt("slice", a[0], 0)
	if err != nil {
		return nil, err
	}
	var seq []Value
	i, offset := -1, 0
	return generator(func() (Value, bool, error) {
		if i < 0 {
			if seq, err = m.collect(x); err != nil {
				return nil, false, err
			}
			if n == 0 {
				return nil, false, fail(KindZeroDiv, "integer division or modulo by zero")
			}
		}
		if i++; i >= n {
			return nil, false, nil
		}
		per, extra := len(seq)/n, len(seq)%n
		start := offset + i*per
		if i < extra {
			offset++
		}
		part := seq[start : offset+(i+1)*per]
		if err := m.alloc(16*len(part) + 32); err != nil {
			return nil, false, err
		}
		part = slices.Clone(part)
		if a[1] != missing && a[1] != nil && i >= extra {
			part = append(part, a[1])
		}
		return &List{Items: part}, true, nil
	}), nil
}

func firstFilter(m *machine, x Value, _ []Value) (Value, error) {
	it, err := m.iterate(x)
	if err != nil {
		return nil, err
	}
	v, ok, err := it.next()
	if err == nil && !ok {
		v = &undefined{kind: KindUndefined, msg: "No first item, sequence was empty."}
	}
	return v, err
}

// reversible lists the values for reversed(); lazy ones cannot be.
func (m *machine) reversible(x Value) ([]Value, bool, error) {
	switch v := x.(type) {
	case string, markup, *List, *Tuple, *Map, *rng, *view, *undefined:
		items, err := m.collect(v)
		return items, true, err
	}
	return nil, false, nil
}

func lastFilter(m *machine, x Value, _ []Value) (Value, error) {
	items, ok, err := m.reversible(x)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, typeError("'%s' object is not reversible", typeName(x))
	case len(items) == 0:
		return &undefined{kind: KindUndefined, msg: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

func reverseFilter(m *machine, x Value, _ []Value) (Value, error) {
	if s, ok := text(x); ok {
		runes := []rune(s)
		slices.Reverse(runes)
		return like(x, string(runes)), m.alloc(5 * len(s))
	}
	items, ok, err := m.reversible(x)
	if !ok && err == nil {
		items, err = m.collect(x)
	}
	if err != nil {
		return nil, err
	}
	if err := m.alloc(16 * len(items)); err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if !ok {
		return &List{Items: items}, nil
	}
	it := sliceIterator(items)
	it.rest = -1
	return it, nil
}

func listFilter(m *machine, x Value, _ []Value) (Value, error) {
	items, err := m.collect(x)
	return &List{Items: items}, err
}

func joinFilter(m *machine, x Value, a []Value) (Value, error) {
	sep, err := m.str(given(a[0], ""))
	if err != nil {
		return nil, err
	}
	path := attrPath(a[1])
	var b strings.Builder
	first := true
	err = m.each(x, func(v Value) (bool, error) {
		v, err := m.follow(v, path, nil)
		if err != nil {
			return false, err
		}
		s, err := m.str(v)
		if err != nil {
			return false, err
		}
		if err := m.alloc(len(s) + len(sep)); err != nil {
			return false, err
		}
		if !first {
			b.WriteString(sep)
		}
		first = false
		b.WriteString(s)
		return true, nil
	})
	return b.String(), err
}

func sumFilter(m *machine, x Value, a []Value) (Value, error) {
	total, path := given(a[1], int64(0)), attrPath(a[0])
	if _, ok := text(total); ok {
		return nil, typeError("sum() can't sum strings [use ''.join(seq) instead]")
	}
	err := m.each(x, func(v Value) (bool, error) {
		v, err := m.follow(v, path, nil)
		if err == nil {
			total, err = m.binary("+", total, v)
		}
		return true, err
	})
	return total, err
}

func itemsFilter(m *machine, x Value, _ []Value) (Value, error) {
	switch v := x.(type) {
	case *undefined:
		return generator(sliceIterator(nil).next), nil
	case *Map:
		it, err := m.iterate(&view{v, "items"})
		if err != nil {
			return nil, err
		}
		return generator(it.next), nil
	}
	failed := typeError("Can only get item pairs from a mapping.")
	return generator(func() (Value, bool, error) { return nil, false, failed }), nil
}

// later iterates over x once the first value is asked for; what cannot be
// iterated over fails only then.
func (m *machine) later(x Value) *iterator {
	return lazily(func() (func() (Value, bool, error), error) {
		it, err := m.iterate(x)
		if err != nil {
			return nil, err
		}
		return it.next, nil
	})
}

// lazily is the generator that f yields on first use.
func lazily(f func() (func() (Value, bool, error), error)) *iterator {
	var next func() (Value, bool, error)
	return generator(func() (_ Value, _ bool, err error) {
		if next == nil {
			if next, err = f(); err != nil {
				return nil, false, err
			}
		}
		return next()
	})
}

func (a *callArgs) take(name string) Value {
	i := slices.IndexFunc(a.kw, func(k keyword) bool { return k.name == name })
	if i < 0 {
		return missing
	}
	v := a.kw[i].v
	a.kw = slices.Delete(slices.Clone(a.kw), i, i+1)
	return v
}

func mapFilter(m *machine, x Value, a *callArgs) (Value, error) {
	return lazily(func() (func() (Value, bool, error), error) {
		if !truth(x) {
			return sliceIterator(nil).next, nil
		}
		var apply func(v Value) (Value, error)
		attr := missing
		if len(a.pos) == 0 {
			attr = a.take("attribute")
		}
		switch {
		case attr != missing:
			def := a.take("default")
			if len(a.kw) > 0 {
				return nil, typeError("Unexpected keyword argument %s", repr(a.kw[0].name))
			}
			path := attrPath(attr)
			apply = func(v Value) (Value, error) { return m.follow(v, path, def) }
		case len(a.pos) == 0:
			return nil, typeError("map requires a filter argument")
		default:
			name, _ := text(a.pos[0])
			f := filters[name]
			if f == nil {
				return nil, fail(KindName, "%s", unknownName("filter", name))
			}
			rest := &callArgs{pos: a.pos[1:], kw: a.kw}
			apply = func(v Value) (Value, error) { return f.apply(m, name, v, rest) }
		}
		it, err := m.iterate(x)
		if err != nil {
			return nil, err
		}
		return func() (Value, bool, error) {
			v, ok, err := it.next()
			if err != nil || !ok {
				return nil, false, err
			}
			if err := m.step(1); err != nil {
				return nil, false, err
			}
			v, err = apply(v)
			return v, err == nil, err
		}, nil
	}), nil
}

// selector is select and its kin: keep items whose value, or attribute, passes
// a test or is true; the others are those that do not.
func selector(keep, byAttr bool) func(*machine, Value, *callArgs) (Value, error) {
	return func(m *machine, x Value, a *callArgs) (Value, error) {
		return lazily(func() (func() (Value, bool, error), error) {
			if !truth(x) {
				return sliceIterator(nil).next, nil
			}
			args := a.pos
			var path []Value
			if byAttr {
				if len(args) == 0 {
					return nil, typeError("Missing parameter for attribute name")
				}
				path, args = attrPath(args[0]), args[1:]
			}
			passes := func(v Value) (bool, error) { return truth(v), nil }
			if len(args) > 0 {
				name, _ := text(args[0])
				t := tests[name]
				if t == nil {
					return nil, fail(KindName, "%s", unknownName("test", name))
				}
				rest := &callArgs{pos: args[1:], kw: a.kw}
				passes = func(v Value) (bool, error) {
					r, err := t.apply(m, name, v, rest)
					return truth(r), err
				}
			}
			it, err := m.iterate(x)
			if err != nil {
				return nil, err
			}
			return func() (Value, bool, error) {
				for {
					item, ok, err := it.next()
					if err != nil || !ok {
						return nil, false, err
					}
					if err := m.step(1); err != nil {
						return nil, false, err
					}
					v, err := m.follow(item, path, nil)
					if err != nil {
						return nil, false, err
					}
					if yes, err := passes(v); err != nil {
						return nil, false, err
					} else if yes == keep {
						return item, true, nil
					}
				}
			}, nil
		}), nil
	}
}
