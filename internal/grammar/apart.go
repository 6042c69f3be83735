package grammar

import (
	"math/big"
	"slices"
)

// disjoint reports whether it is plain that no value satisfies a way of a and one of b.
func (c *compiler) disjoint(a, b [][]*value) (bool, error) {
	lost := c.lost
	for _, x := range a {
		for _, y := range b {
			if no, err := c.empty(append(slices.Clone(x), y...), 0); !no || err != nil {
				return false, err
			}
		}
	}
	return c.lost == lost, nil
}

// void reports whether it is plain that no value satisfies a way.
func (c *compiler) void(way []*value) (bool, error) { return c.empty(way, 0) }

// deepApart is how deep in members contradictions are looked for.
const deepApart = 3

// empty is void inside of so many objects.
func (c *compiler) empty(way []*value, depth int) (bool, error) {
	name := key(way)
	if no, ok := c.voids[name]; ok {
		return no, nil
	}
	lost := c.lost
	f, err := c.merge(way)
	if err != nil {
		return false, err
	}
	no, err := c.contradicts(f, depth)
	if err == nil && depth == 0 && c.lost == lost {
		c.voids[name] = no
	}
	return no, err
}

// contradicts reports whether it is plain that f allows no value.
func (c *compiler) contradicts(f *flat, depth int) (bool, error) {
	if f.fixed {
		return !slices.ContainsFunc(f.enum, func(x *value) bool { return !slices.ContainsFunc(f.except, x.equal) }), nil
	}
	set := f.types
	if cross(f.low, f.high, f.above || f.below) {
		set &^= tInteger | tNumber
	}
	for what, t := range lengthOf {
		if most, ok := f.most[what]; ok && most < f.least[what] {
			set &^= t
		}
	}
	if set != tObject {
		return set == 0, nil
	}
	if most, ok := f.most["Properties"]; ok && most < len(f.required) {
		return true, nil
	}
	if depth >= deepApart {
		return false, nil
	}
	for _, name := range f.required {
		all, err := c.members(f, name)
		if err != nil {
			return false, err
		}
		if impossible(all) {
			return true, nil
		}
		if len(all) < 2 {
			continue // what it is alone would be told where it is
		}
		no, err := c.unsatisfiable(all, depth+1)
		if no || err != nil {
			return no, err
		}
	}
	return false, nil
}

// unsatisfiable reports whether it is plain that no value satisfies all schemas.
func (c *compiler) unsatisfiable(all []*value, depth int) (bool, error) {
	const most = 1 << 12 // in one schema
	if c.open >= deepApart || c.looked >= most {
		return false, nil
	}
	c.open++
	c.looked++
	defer func() { c.open-- }()
	lost := c.lost
	ways, err := c.ways(all)
	if err != nil || c.lost > lost { // which is told when the member is compiled
		return false, nil
	}
	for _, w := range ways {
		if no, err := c.empty(w, depth); !no || err != nil {
			return false, nil
		}
	}
	return true, nil
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
