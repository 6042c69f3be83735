package chat

import (
	"strings"
)

// globals are the functions of every template; a variable of the same name
// hides one. The function lipsum is omitted: its text is random.
var globals map[string]Value

// maxRange is the sandbox's limit on the length of a range.
const maxRange = 100_000

func defineGlobals() {
	globals = map[string]Value{}
	for name, f := range map[string]func(m *Machine, a *Args) (Value, error){
		"range": rangeFunc, "namespace": namespaceFunc, "cycler": cyclerFunc, "joiner": joinerFunc,
		"raise_exception": raiseException,
	} {
		globals[name] = &function{Name: name, Call: f}
	}
	globals["dict"] = dictType{}
}

func rangeFunc(_ *Machine, a *Args) (Value, error) {
	if len(a.Named) > 0 || len(a.Pos) == 0 || len(a.Pos) > 3 {
		return nil, typeError("range expected 1 to 3 arguments without names")
	}
	v := [3]int64{0, 0, 1}
	for i, x := range a.Pos {
		n, err := intArg("range", x, 0)
		if err != nil {
			return nil, err
		}
		v[i] = int64(n)
	}
	if len(a.Pos) == 1 {
		v[0], v[1] = 0, v[0]
	}
	if v[2] == 0 {
		return nil, valueError("range() arg 3 must not be zero")
	}
	const bound = 1 << 60 // keeps the arithmetic below within int64
	for _, x := range v {
		if x > bound || x < -bound {
			return nil, fail(kindOverflow, "range argument out of bounds")
		}
	}
	r := &intRange{Start: v[0], Stop: v[1], Step: v[2]}
	if v[2] > 0 && v[1] > v[0] {
		r.N = (v[1]-v[0]-1)/v[2] + 1
	} else if v[2] < 0 && v[1] < v[0] {
		r.N = (v[0]-v[1]-1)/-v[2] + 1
	}
	if r.N > maxRange {
		return nil, fail(kindOverflow, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return r, nil
}

// newDict is Python's dict(mapping or pairs, **kw).
func newDict(m *Machine, a *Args) (*Map, error) {
	d := &Map{}
	if len(a.Pos) > 1 {
		return nil, typeError("dict expected at most 1 argument, got %d", len(a.Pos))
	}
	if len(a.Pos) == 1 {
		if u, ok := a.Pos[0].(*undefined); ok {
			return nil, u.Err()
		}
		if src, ok := a.Pos[0].(*Map); ok {
			for k, v := range src.All() {
				if err := m.Put(d, k, v); err != nil {
					return nil, err
				}
			}
		} else if err := m.Each(a.Pos[0], func(p Value) (bool, error) {
			kv, err := m.Collect(p)
			if err == nil && len(kv) != 2 {
				err = valueError("dictionary update sequence element has length %d; 2 is required", len(kv))
			}
			if err != nil {
				return false, err
			}
			return true, m.Put(d, kv[0], kv[1])
		}); err != nil {
			return nil, err
		}
	}
	for _, k := range a.Named {
		if err := m.Put(d, k.Name, k.Value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// dictType is dict: called, it makes one.
type dictType struct{}

// TypeName names the type as transformers does.
func (dictType) TypeName() string { return "TemplateDict" }

// Attr returns an attribute.
func (dictType) Attr(m *Machine, name string) (Value, bool, error) {
	if name != "fromkeys" {
		return nil, false, nil
	}
	return attribute(m, &Map{}, name)
}

// Call calls the object.
func (dictType) Call(m *Machine, a *Args) (Value, error) {
	d, err := newDict(m, a)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func namespaceFunc(m *Machine, a *Args) (Value, error) {
	d, err := newDict(m, a)
	if err != nil {
		return nil, err
	}
	for k := range d.All() {
		if err := checkNamespaceName(m.meant(k)); err != nil {
			return nil, err
		}
	}
	return &namespace{Attrs: d}, nil
}

// checkNamespaceName rejects names that start with an underscore, as
// transformers does: they are Python's own.
func checkNamespaceName(name Value) error {
	if s, ok := text(name); ok && strings.HasPrefix(s, "_") {
		return fail(kindSecurity, "chat templates cannot store underscore-prefixed attributes on a namespace, but got %s", repr(s))
	}
	return nil
}

func cyclerFunc(_ *Machine, a *Args) (Value, error) {
	if len(a.Named) > 0 {
		return nil, typeError("cycler() takes no keyword arguments")
	}
	if len(a.Pos) == 0 {
		return nil, valueError("at least one item has to be provided")
	}
	return &cycler{items: a.Pos}, nil
}

func joinerFunc(_ *Machine, a *Args) (Value, error) {
	v, err := a.Bind("joiner", "sep?")
	if err != nil {
		return nil, err
	}
	if v[0] == missing {
		v[0] = ", "
	}
	return &joiner{sep: v[0]}, nil
}

func raiseException(m *Machine, a *Args) (Value, error) {
	v, err := a.Bind("raise_exception", "message")
	if err != nil {
		return nil, err
	}
	s, err := m.Str(v[0])
	if err != nil {
		return nil, err
	}
	return nil, &RaiseError{Message: s}
}

func (in *interp) strftimeNow(m *Machine, a *Args) (Value, error) {
	v, err := a.Bind("strftime_now", "format")
	if err != nil {
		return nil, err
	}
	f, ok := text(v[0])
	if !ok {
		return nil, typeError("strftime() argument 1 must be str, not %s", typeName(v[0]))
	}
	if in.now.IsZero() {
		in.now = clock()
	}
	s, err := strftime(m, in.now, m.plain(f))
	if err != nil {
		return nil, err
	}
	return s, m.Alloc(len(s))
}

// A cycler hands out its items in turn.
type cycler struct {
	items []Value
	pos   int
}

// TypeName names the type as Python does.
func (c *cycler) TypeName() string { return "Cycler" }

// Attr returns an attribute.
func (c *cycler) Attr(_ *Machine, name string) (Value, bool, error) {
	switch name {
	case "items":
		return &Tuple{Items: c.items}, true, nil
	case "pos":
		return int64(c.pos), true, nil
	case "current":
		return c.items[c.pos], true, nil
	case "next", "reset":
		return &function{Name: name, Method: true, Call: func(_ *Machine, a *Args) (Value, error) {
			if _, err := a.Bind(name); err != nil {
				return nil, err
			}
			if name == "reset" {
				c.pos = 0
				return nil, nil
			}
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v, nil
		}}, true, nil
	}
	return nil, false, nil
}

// A joiner is empty when first called and its separator after that.
type joiner struct {
	sep  Value
	used bool
}

// TypeName names the type as Python does.
func (j *joiner) TypeName() string { return "Joiner" }

// Attr returns an attribute.
func (j *joiner) Attr(_ *Machine, name string) (Value, bool, error) {
	switch name {
	case "sep":
		return j.sep, true, nil
	case "used":
		return j.used, true, nil
	}
	return nil, false, nil
}

// Call calls the object.
func (j *joiner) Call(_ *Machine, a *Args) (Value, error) {
	if _, err := a.Bind("joiner"); err != nil {
		return nil, err
	}
	if !j.used {
		j.used = true
		return "", nil
	}
	return j.sep, nil
}
