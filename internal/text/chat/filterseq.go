package chat

import (
	"slices"
	"strconv"
	"strings"
)

// attrPath splits "a.0.b" into keys; numbers become ints.
func attrPath(m *Machine, attr Value) []Value {
	if attr == missing || attr == nil {
		return nil
	}
	s, ok := text(m.meant(attr))
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

// follow looks up a path; def, unless nil or missing, replaces undefined
// values.
func follow(m *Machine, x Value, path []Value, def Value) (Value, error) {
	for _, p := range path {
		if err := m.Step(1); err != nil {
			return nil, err
		}
		v, err := item(m, x, p)
		if err != nil {
			return nil, err
		}
		x = v
		if _, ok := x.(*undefined); ok {
			if err := m.Alloc(128); err != nil { // it knows what it is not
				return nil, err
			}
			if def != nil && def != missing {
				x = def
			}
		}
	}
	return x, nil
}

// keyOf computes the value by which a filter compares items.
func keyOf(m *Machine, x Value, path []Value, caseSensitive bool, def Value) (Value, error) {
	v, err := follow(m, x, path, def)
	if err != nil {
		return nil, err
	}
	if s, ok := text(v); ok {
		if err := m.Alloc(len(s) + 16); err != nil {
			return nil, err
		}
		if !caseSensitive {
			v = lower(m.plain(s))
		}
	}
	return v, nil
}

// sortBy returns the order of the keys: stable, also in reverse.
func sortBy(m *Machine, keys []Value, reverse bool) ([]int, error) {
	if err := m.Alloc(16 * len(keys)); err != nil {
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
		c, _, err := m.Order("<", keys[i], keys[j], 0)
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

func sortFilter(m *Machine, x Value, a []Value) (Value, error) {
	items, err := m.Collect(x)
	if err != nil {
		return nil, err
	}
	paths := [][]Value{attrPath(m, a[2])}
	if s, ok := text(a[2]); ok {
		paths = nil
		for p := range strings.SplitSeq(s, ",") {
			paths = append(paths, attrPath(m, p))
		}
	}
	keys := make([]Value, len(items))
	for i, it := range items {
		k := &List{}
		for _, p := range paths {
			v, err := keyOf(m, it, p, flag(a[1]), nil)
			if err != nil {
				return nil, err
			}
			k.Items = append(k.Items, v)
		}
		keys[i] = k
		if err := m.Alloc(64); err != nil {
			return nil, err
		}
	}
	order, err := sortBy(m, keys, flag(a[0]))
	if err != nil {
		return nil, err
	}
	return &List{Items: pick(items, order)}, nil
}

func dictSort(m *Machine, x Value, a []Value) (Value, error) {
	d, ok := x.(*Map)
	if !ok {
		if u, ok := x.(*undefined); ok {
			return nil, u.Err()
		}
		return nil, typeError("'%s' object has no attribute 'items'", typeName(x))
	}
	by, _ := text(given(a[1], "key"))
	source := d.Keys
	switch by {
	case "key":
	case "value":
		source = d.Vals
	default:
		return nil, valueError(`You can only sort by either "key" or "value"`)
	}
	keys := make([]Value, len(source))
	for i, v := range source {
		k, err := keyOf(m, v, nil, flag(a[0]), nil)
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	order, err := sortBy(m, keys, flag(a[2]))
	if err != nil {
		return nil, err
	}
	l := &List{}
	for _, i := range order {
		l.Items = append(l.Items, d.Pair(i))
		if err := m.Alloc(64); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func uniqueFilter(m *Machine, x Value, a []Value) (Value, error) {
	it := later(m, x)
	path, seen := attrPath(m, a[1]), map[any]bool{}
	return generator(func() (Value, bool, error) {
		for {
			v, ok, err := it.Next(m)
			if err != nil || !ok {
				return nil, false, err
			}
			k, err := keyOf(m, v, path, flag(a[0]), nil)
			if err != nil {
				return nil, false, err
			}
			h, err := m.Hash(k)
			if err != nil {
				return nil, false, err
			}
			if err := m.Alloc(48); err != nil {
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
func extreme(sign int) func(*Machine, Value, []Value) (Value, error) {
	return func(m *Machine, x Value, a []Value) (Value, error) {
		path := attrPath(m, a[1])
		best, bestKey := missing, missing
		err := m.Each(x, func(v Value) (bool, error) {
			k, err := keyOf(m, v, path, flag(a[0]), nil)
			if err != nil {
				return false, err
			}
			if best != missing {
				c, unordered, err := m.Order("<", k, bestKey, 0)
				if err != nil || unordered || c*sign <= 0 {
					return err == nil, err
				}
			}
			best, bestKey = v, k
			return true, nil
		})
		if best == missing && err == nil {
			return &undefined{Kind: kindUndefined, Msg: "No aggregated item, sequence was empty."}, nil
		}
		return best, err
	}
}

func groupBy(m *Machine, x Value, a []Value) (Value, error) {
	items, err := m.Collect(x)
	if err != nil {
		return nil, err
	}
	path, exact := attrPath(m, a[0]), flag(a[2])
	if err := m.AllocEach(int64(len(items)), 16); err != nil {
		return nil, err
	}
	keys := make([]Value, len(items))
	for i, it := range items {
		if keys[i], err = keyOf(m, it, path, exact, a[1]); err != nil {
			return nil, err
		}
	}
	order, err := sortBy(m, keys, false)
	if err != nil {
		return nil, err
	}
	out := &List{}
	var group *List
	for n, i := range order {
		same := false
		if n > 0 {
			if same, err = m.Equal(keys[order[n-1]], keys[i], 0); err != nil {
				return nil, err
			}
		}
		if !same {
			label := keys[i]
			if !exact {
				if label, err = follow(m, items[i], path, a[1]); err != nil {
					return nil, err
				}
			}
			group = &List{}
			out.Items = append(out.Items, &Tuple{Items: []Value{label, group}, Fields: []string{"grouper", "list"}})
		}
		group.Items = append(group.Items, items[i])
		if err := m.Alloc(64); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func batchFilter(m *Machine, x Value, a []Value) (Value, error) {
	it := later(m, x)
	done, carry := false, missing
	return generator(func() (Value, bool, error) {
		row := &List{}
		if carry != missing {
			row.Items, carry = append(row.Items, carry), missing
		}
		for !done {
			v, ok, err := it.Next(m)
			if err != nil {
				return nil, false, err
			}
			if !ok {
				done = true
				break
			}
			if err := m.Alloc(16); err != nil {
				return nil, false, err
			}
			if full, err := m.Equal(int64(len(row.Items)), a[0], 0); err != nil {
				return nil, false, err
			} else if full {
				carry = v
				return row, true, nil
			}
			row.Items = append(row.Items, v)
		}
		if len(row.Items) == 0 {
			return nil, false, nil
		}
		return row, true, fillRow(m, row, a[0], a[1])
	}), nil
}

// fillRow pads the last row of a batch to n items, if fill is given.
func fillRow(m *Machine, row *List, n, fill Value) error {
	if fill == missing || fill == nil {
		return nil
	}
	short, err := m.Compare("<", int64(len(row.Items)), n)
	if err != nil || !short {
		return err
	}
	size, err := intArg("batch", n, 0)
	if err != nil {
		return err
	}
	if size > maxWidth {
		return fail(kindLimit, "batches above %d", maxWidth)
	}
	if err := m.Alloc(16 * size); err != nil {
		return err
	}
	for len(row.Items) < size {
		row.Items = append(row.Items, fill)
	}
	return nil
}

func sliceFilter(m *Machine, x Value, a []Value) (Value, error) {
	n, err := intArg("slice", a[0], 0)
	if err != nil {
		return nil, err
	}
	var seq []Value
	i, offset := -1, 0
	return generator(func() (Value, bool, error) {
		if i < 0 {
			if seq, err = m.Collect(x); err != nil {
				return nil, false, err
			}
			if n == 0 {
				return nil, false, fail(kindZeroDiv, "integer division or modulo by zero")
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
		if err := m.Alloc(16*len(part) + 32); err != nil {
			return nil, false, err
		}
		part = slices.Clone(part)
		if a[1] != missing && a[1] != nil && i >= extra {
			part = append(part, a[1])
		}
		return &List{Items: part}, true, nil
	}), nil
}

func firstFilter(m *Machine, x Value, _ []Value) (Value, error) {
	it, err := m.Iterate(x)
	if err != nil {
		return nil, err
	}
	v, ok, err := it.Next(m)
	if err == nil && !ok {
		v = &undefined{Kind: kindUndefined, Msg: "No first item, sequence was empty."}
	}
	return v, err
}

// reversible lists the values for reversed(); lazy ones cannot be.
func reversible(m *Machine, x Value) ([]Value, bool, error) {
	switch v := x.(type) {
	case string, Markup, *List, *Tuple, *Map, *intRange, *view, *undefined:
		items, err := m.Collect(v)
		return items, true, err
	}
	return nil, false, nil
}

func lastFilter(m *Machine, x Value, _ []Value) (Value, error) {
	items, ok, err := reversible(m, x)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, typeError("'%s' object is not reversible", typeName(x))
	case len(items) == 0:
		return &undefined{Kind: kindUndefined, Msg: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

func reverseFilter(m *Machine, x Value, _ []Value) (Value, error) {
	if s, ok := text(x); ok {
		runes := []rune(s)
		slices.Reverse(runes)
		return like(x, string(runes)), m.Alloc(5 * len(s))
	}
	items, ok, err := reversible(m, x)
	if !ok && err == nil {
		items, err = m.Collect(x)
	}
	if err != nil {
		return nil, err
	}
	if err := m.Alloc(16 * len(items)); err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if !ok {
		return &List{Items: items}, nil
	}
	it := iterateOver(items)
	it.Rest = -1
	return it, nil
}

func listFilter(m *Machine, x Value, _ []Value) (Value, error) {
	items, err := m.Collect(x)
	return &List{Items: items}, err
}

func joinFilter(m *Machine, x Value, a []Value) (Value, error) {
	sep, err := m.Str(given(a[0], ""))
	if err != nil {
		return nil, err
	}
	path := attrPath(m, a[1])
	var b strings.Builder
	first := true
	err = m.Each(x, func(v Value) (bool, error) {
		v, err := follow(m, v, path, nil)
		if err != nil {
			return false, err
		}
		s, err := m.Str(v)
		if err != nil {
			return false, err
		}
		if err := m.Alloc(len(s) + len(sep) + 8); err != nil {
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

func sumFilter(m *Machine, x Value, a []Value) (Value, error) {
	total, path := given(a[1], int64(0)), attrPath(m, a[0])
	if _, ok := text(total); ok {
		return nil, typeError("sum() can't sum strings [use ''.join(seq) instead]")
	}
	err := m.Each(x, func(v Value) (bool, error) {
		v, err := follow(m, v, path, nil)
		if err == nil {
			total, err = binary(m, "+", total, v)
		}
		return true, err
	})
	return total, err
}

func itemsFilter(m *Machine, x Value, _ []Value) (Value, error) {
	switch v := x.(type) {
	case *undefined:
		return generator(nothing), nil
	case *Map:
		return later(m, &view{M: v, Kind: "items"}), nil
	}
	failed := typeError("Can only get item pairs from a mapping.")
	return generator(func() (Value, bool, error) { return nil, false, failed }), nil
}
