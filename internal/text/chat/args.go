package chat

import (
	"slices"
	"strings"
)

// Args are the evaluated arguments of a call.
type Args struct {
	Pos   []Value
	Named []Keyword
}

// A Keyword is a named argument.
type Keyword struct {
	Name  string
	Value Value
}

// Add adds a named argument.
func (a *Args) Add(name string, v Value) error {
	if slices.ContainsFunc(a.Named, func(k Keyword) bool { return k.Name == name }) {
		return typeError("got multiple values for keyword argument '%s'", name)
	}
	a.Named = append(a.Named, Keyword{name, v})
	return nil
}

// Bind matches the arguments with parameters; one whose name ends in "?" may
// be absent and is then missing.
func (a *Args) Bind(fn string, params ...string) ([]Value, error) {
	out := make([]Value, len(params))
	if len(a.Pos) > len(params) {
		return nil, typeError("%s() takes at most %d arguments, got %d", fn, len(params), len(a.Pos))
	}
	for i := range out {
		out[i] = missing
	}
	copy(out, a.Pos)
	for _, k := range a.Named {
		i := slices.IndexFunc(params, func(p string) bool { return strings.TrimSuffix(p, "?") == k.Name })
		if i < 0 {
			return nil, typeError("%s() got an unexpected keyword argument '%s'", fn, k.Name)
		}
		if out[i] != missing {
			return nil, typeError("%s() got multiple values for argument '%s'", fn, k.Name)
		}
		out[i] = k.Value
	}
	for i, p := range params {
		if out[i] == missing && !strings.HasSuffix(p, "?") {
			return nil, typeError("%s() is missing the argument '%s'", fn, p)
		}
	}
	return out, nil
}

// A functionType is a filter, test or method: x | name(args), x is name(args),
// x.name(args).
type functionType struct {
	Params []string // a final "?" marks an optional one; see [Args.Bind]
	noKw   bool     // the parameters cannot be named
	dyed   bool     // it takes texts as they are traced: see [takesDyed]
	Fn     func(m *Machine, x Value, a []Value) (Value, error)
	raw    func(m *Machine, x Value, a *Args) (Value, error) // instead of fn
}

// Apply runs f on x with arguments; name is for messages.
func (f *functionType) Apply(m *Machine, name string, x Value, a *Args) (Value, error) {
	if !f.dyed {
		x, a = m.meantAll(x, a)
	}
	if f.raw != nil {
		return f.raw(m, x, a)
	}
	if f.noKw && len(a.Named) > 0 {
		return nil, typeError("%s() takes no keyword arguments", name)
	}
	vals, err := a.Bind(name, f.Params...)
	if err != nil {
		return nil, err
	}
	return f.Fn(m, x, vals)
}

// makeFunc makes a Func with parameters, separated by spaces.
func makeFunc(params string, fn func(m *Machine, x Value, a []Value) (Value, error)) *functionType {
	return &functionType{Params: strings.Fields(params), Fn: fn}
}

// newPositional is def for methods that CPython writes in C.
func newPositional(params string, fn func(m *Machine, x Value, a []Value) (Value, error)) *functionType {
	f := makeFunc(params, fn)
	f.noKw = true
	return f
}

// newRaw makes a Func that receives its arguments unparsed.
func newRaw(fn func(m *Machine, x Value, a *Args) (Value, error)) *functionType {
	return &functionType{raw: fn}
}

// isCallable is Python's callable().
func isCallable(v Value) bool {
	switch v.(type) {
	case *function, caller, *undefined:
		return true
	}
	return false
}

// Call calls any value.
func (m *Machine) Call(fn Value, a *Args) (Value, error) {
	switch fn := fn.(type) {
	case *function:
		return fn.Call(m, a)
	case caller:
		return fn.Call(m, a)
	case *undefined:
		return nil, fn.Err()
	}
	return nil, typeError("'%s' object is not callable", typeName(fn))
}

// Take removes a keyword argument.
func (a *Args) Take(name string) Value {
	i := slices.IndexFunc(a.Named, func(k Keyword) bool { return k.Name == name })
	if i < 0 {
		return missing
	}
	v := a.Named[i].Value
	a.Named = slices.Delete(slices.Clone(a.Named), i, i+1)
	return v
}
