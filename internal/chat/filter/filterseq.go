package filter

import (
	"slices"
	"strconv"
	"strings"

	"atenia/internal/chat/method"
	"atenia/internal/chat/object"
)

// attrPath splits "a.0.b" into keys; numbers become ints.
func attrPath(attr object.Value) []object.Value {
	if attr == object.Missing || attr == nil {
		return nil
	}
	s, ok := object.Text(attr)
	if !ok {
		return []object.Value{attr}
	}
	var parts []object.Value
	for p := range strings.SplitSeq(s, ".") {
		if n, err := strconv.ParseInt(p, 10, 64); err == nil && object.Every(object.IsDigit)(p) {
			parts = append(parts, n)
		} else {
			parts = append(parts, p)
		}
	}
	return parts
}

// follow looks up a path; def, unless nil or missing, replaces what is undefined.
func follow(m *object.Machine, x object.Value, path []object.Value, def object.Value) (object.Value, error) {
	for _, p := range path {
		if err := m.Step(1); err != nil {
			return nil, err
		}
		v, err := method.Item(m, x, p)
		if err != nil {
			return nil, err
		}
		x = v
		if _, ok := x.(*object.Undefined); ok && def != nil && def != object.Missing {
			x = def
		}
	}
	return x, nil
}

// key computes what a filter compares items by.
func keyOf(m *object.Machine, x object.Value, path []object.Value, caseSensitive bool, def object.Value) (object.Value, error) {
	v, err := follow(m, x, path, def)
	if err != nil {
		return nil, err
	}
	if s, ok := object.Text(v); ok {
		if err := m.Alloc(len(s)); err != nil {
			return nil, err
		}
		if !caseSensitive {
			v = object.Lower(s)
		}
	}
	return v, nil
}

// sortBy returns the order of the keys: stable, also in reverse.
func sortBy(m *object.Machine, keys []object.Value, reverse bool) ([]int, error) {
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

func pick(items []object.Value, order []int) []object.Value {
	out := make([]object.Value, len(order))
	for i, j := range order {
		out[i] = items[j]
	}
	return out
}

func sortFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	items, err := m.Collect(x)
	if err != nil {
		return nil, err
	}
	paths := [][]object.Value{attrPath(a[2])}
	if s, ok := object.Text(a[2]); ok {
		paths = nil
		for p := range strings.SplitSeq(s, ",") {
			paths = append(paths, attrPath(p))
		}
	}
	keys := make([]object.Value, len(items))
	for i, it := range items {
		k := &object.List{}
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
	return &object.List{Items: pick(items, order)}, nil
}

func dictSort(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	d, ok := x.(*object.Map)
	if !ok {
		if u, ok := x.(*object.Undefined); ok {
			return nil, u.Err()
		}
		return nil, object.TypeError("'%s' object has no attribute 'items'", object.TypeName(x))
	}
	by, _ := object.Text(given(a[1], "key"))
	source := d.Keys
	switch by {
	case "key":
	case "value":
		source = d.Vals
	default:
		return nil, object.ValueError(`You can only sort by either "key" or "value"`)
	}
	keys := make([]object.Value, len(source))
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
	l := &object.List{}
	for _, i := range order {
		l.Items = append(l.Items, d.Pair(i))
		if err := m.Alloc(64); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func uniqueFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	it := later(m, x)
	path, seen := attrPath(a[1]), map[any]bool{}
	return object.Generator(func() (object.Value, bool, error) {
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
func extreme(sign int) func(*object.Machine, object.Value, []object.Value) (object.Value, error) {
	return func(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
		path := attrPath(a[1])
		best, bestKey := object.Missing, object.Missing
		err := m.Each(x, func(v object.Value) (bool, error) {
			k, err := keyOf(m, v, path, flag(a[0]), nil)
			if err != nil {
				return false, err
			}
			if best != object.Missing {
				c, unordered, err := m.Order("<", k, bestKey, 0)
				if err != nil || unordered || c*sign <= 0 {
					return err == nil, err
				}
			}
			best, bestKey = v, k
			return true, nil
		})
		if best == object.Missing && err == nil {
			return &object.Undefined{Kind: object.KindUndefined, Msg: "No aggregated item, sequence was empty."}, nil
		}
		return best, err
	}
}

func groupBy(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	items, err := m.Collect(x)
	if err != nil {
		return nil, err
	}
	path, exact := attrPath(a[0]), flag(a[2])
	keys := make([]object.Value, len(items))
	for i, it := range items {
		if keys[i], err = keyOf(m, it, path, exact, a[1]); err != nil {
			return nil, err
		}
	}
	order, err := sortBy(m, keys, false)
	if err != nil {
		return nil, err
	}
	out := &object.List{}
	var group *object.List
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
			group = &object.List{}
			out.Items = append(out.Items, &object.Tuple{Items: []object.Value{label, group}, Fields: []string{"grouper", "list"}})
		}
		group.Items = append(group.Items, items[i])
		if err := m.Alloc(64); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func batchFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	it := later(m, x)
	done, carry := false, object.Missing
	return object.Generator(func() (object.Value, bool, error) {
		row := &object.List{}
		if carry != object.Missing {
			row.Items, carry = append(row.Items, carry), object.Missing
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

// fillRow brings the last row of a batch to n items, where it is to be filled.
func fillRow(m *object.Machine, row *object.List, n, fill object.Value) error {
	if fill == object.Missing || fill == nil {
		return nil
	}
	short, err := m.Compare("<", int64(len(row.Items)), n)
	if err != nil || !short {
		return err
	}
	size, err := method.IntArg("batch", n, 0)
	if err != nil {
		return err
	}
	if size > method.MaxWidth {
		return object.Fail(object.KindLimit, "batches above %d", method.MaxWidth)
	}
	if err := m.Alloc(16 * size); err != nil {
		return err
	}
	for len(row.Items) < size {
		row.Items = append(row.Items, fill)
	}
	return nil
}

func sliceFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	n, err := method.IntArg("slice", a[0], 0)
	if err != nil {
		return nil, err
	}
	var seq []object.Value
	i, offset := -1, 0
	return object.Generator(func() (object.Value, bool, error) {
		if i < 0 {
			if seq, err = m.Collect(x); err != nil {
				return nil, false, err
			}
			if n == 0 {
				return nil, false, object.Fail(object.KindZeroDiv, "integer division or modulo by zero")
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
		if a[1] != object.Missing && a[1] != nil && i >= extra {
			part = append(part, a[1])
		}
		return &object.List{Items: part}, true, nil
	}), nil
}

func firstFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	it, err := m.Iterate(x)
	if err != nil {
		return nil, err
	}
	v, ok, err := it.Next(m)
	if err == nil && !ok {
		v = &object.Undefined{Kind: object.KindUndefined, Msg: "No first item, sequence was empty."}
	}
	return v, err
}

// reversible lists the values for reversed(); lazy ones cannot be.
func reversible(m *object.Machine, x object.Value) ([]object.Value, bool, error) {
	switch v := x.(type) {
	case string, object.Markup, *object.List, *object.Tuple, *object.Map, *object.Range, *object.View, *object.Undefined:
		items, err := m.Collect(v)
		return items, true, err
	}
	return nil, false, nil
}

func lastFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	items, ok, err := reversible(m, x)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, object.TypeError("'%s' object is not reversible", object.TypeName(x))
	case len(items) == 0:
		return &object.Undefined{Kind: object.KindUndefined, Msg: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

func reverseFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	if s, ok := object.Text(x); ok {
		runes := []rune(s)
		slices.Reverse(runes)
		return object.Like(x, string(runes)), m.Alloc(5 * len(s))
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
		return &object.List{Items: items}, nil
	}
	it := object.IterateOver(items)
	it.Rest = -1
	return it, nil
}

func listFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	items, err := m.Collect(x)
	return &object.List{Items: items}, err
}

func joinFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	sep, err := m.Str(given(a[0], ""))
	if err != nil {
		return nil, err
	}
	path := attrPath(a[1])
	var b strings.Builder
	first := true
	err = m.Each(x, func(v object.Value) (bool, error) {
		v, err := follow(m, v, path, nil)
		if err != nil {
			return false, err
		}
		s, err := m.Str(v)
		if err != nil {
			return false, err
		}
		if err := m.Alloc(len(s) + len(sep)); err != nil {
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

func sumFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	total, path := given(a[1], int64(0)), attrPath(a[0])
	if _, ok := object.Text(total); ok {
		return nil, object.TypeError("sum() can't sum strings [use ''.join(seq) instead]")
	}
	err := m.Each(x, func(v object.Value) (bool, error) {
		v, err := follow(m, v, path, nil)
		if err == nil {
			total, err = method.Binary(m, "+", total, v)
		}
		return true, err
	})
	return total, err
}

func itemsFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	switch v := x.(type) {
	case *object.Undefined:
		return object.Generator(nothing), nil
	case *object.Map:
		return later(m, &object.View{M: v, Kind: "items"}), nil
	}
	failed := object.TypeError("Can only get item pairs from a mapping.")
	return object.Generator(func() (object.Value, bool, error) { return nil, false, failed }), nil
}
