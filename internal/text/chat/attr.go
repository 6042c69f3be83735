package chat

import (
	"maps"
	"math/big"
	"strings"
	"unicode/utf8"
)

// attr is x.name: an attribute first, then an item, else undefined.
func attr(m *Machine, x Value, name string) (Value, error) {
	v, ok, err := attribute(m, x, name)
	if err != nil || ok {
		return v, err
	}
	if d, ok := x.(*Map); ok { // as itemOf, without making a value of the name
		v, ok := d.get(name)
		if err := m.Step(len(name)/32 + 4); err != nil || ok {
			return v, err
		}
	} else if v, ok, err := itemOf(m, x, name); err != nil || ok {
		return v, err
	}
	return noAttribute(x, name), nil
}

// item is x[key]: an item first, then an attribute, else undefined.
func item(m *Machine, x, key Value) (Value, error) {
	key = m.meant(key)
	v, ok, err := itemOf(m, x, key)
	if err != nil || ok {
		return v, err
	}
	name, ok := text(key)
	if !ok {
		s, err := m.Repr(key)
		if err != nil {
			return nil, err
		}
		return &undefined{Kind: kindUndefined, Msg: describe(x) + " has no element " + s}, nil
	}
	if v, ok, err := attribute(m, x, name); err != nil || ok {
		return v, err
	}
	return noAttribute(x, name), nil
}

// noAttribute is the value of an attribute that x does not have.
func noAttribute(x Value, name string) *undefined {
	return &undefined{Kind: kindUndefined, Msg: name, of: x, lacks: true}
}

// itemOf is Python's x[key]; ok is false where that raises TypeError or LookupError.
func itemOf(m *Machine, x, key Value) (v Value, ok bool, err error) {
	switch x := x.(type) {
	case *undefined:
		return nil, false, x.Err()
	case *Map:
		v, ok, err := m.Lookup(x, key)
		if r, bad := err.(*RuntimeError); bad && r.Kind == kindType {
			err = nil // what cannot be a key is not there
		}
		return v, ok, err
	case keyed:
		v, ok = x.Item(key)
		return v, ok, nil
	}
	i, isInt := smallInt(key)
	if s, ok := text(x); ok { // whose characters are counted
		if err := m.Read(s); err != nil {
			return nil, false, err
		}
	}
	n, sized := length(x)
	if !isInt || !sized {
		return nil, false, nil
	}
	if i < 0 {
		i += int64(n)
	}
	if i < 0 || i >= int64(n) {
		return nil, false, nil
	}
	switch x := x.(type) {
	case *List:
		return x.Items[i], true, nil
	case *Tuple:
		return x.Items[i], true, nil
	case *intRange:
		return x.Start + i*x.Step, true, nil
	case byteString:
		return int64(x[i]), true, nil
	case string, Markup:
		s, _ := text(x)
		c := s[runeOffset(s, int(i)):]
		_, size := utf8.DecodeRuneInString(c)
		return like(x, c[:size]), true, m.Step(len(s) / 32)
	}
	return nil, false, nil
}

// runeOffset is the byte offset of code point i, at most len(s).
func runeOffset(s string, i int) int {
	if i <= 0 {
		return 0
	}
	for off := range s {
		if i == 0 {
			return off
		}
		i--
	}
	return len(s)
}

// objectAttrs are attributes that every Python object has; the sandbox hides them.
const objectAttrs = `__class__ __doc__ __init__ __new__ __repr__ __str__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
	__getattribute__ __setattr__ __delattr__ __dir__ __format__ __reduce__ __reduce_ex__ __sizeof__ __subclasshook__ __init_subclass__ __getstate__`

// hiddenAttrs are the names of the types templates get hold of that begin with
// an underscore, or tell about a generator, each with the types that have them.
var hiddenAttrs = map[string]string{
	"__abs__ __ceil__ __divmod__ __float__ __floor__ __floordiv__ __int__ __neg__ __pos__ __pow__ __rdivmod__ __rfloordiv__ __round__ __rpow__ __rtruediv__ __truediv__ __trunc__": "int bool float",

	"__add__ __mul__ __rmul__": "str bytes list tuple int bool float Markup", "__and__ __rand__ __rxor__ __xor__": "int bool dict_keys dict_items",
	"__bool__": "int bool float NoneType range", "__bytes__": "bytes", "__class_getitem__": "list tuple dict", "__delitem__ __setitem__": "list dict",
	"__contains__": "str bytes list tuple dict range dict_keys dict_items Markup",
	"__del__ __next__ gi_code gi_frame gi_running gi_suspended gi_yieldfrom": "generator",
	"__getformat__": "float", "__getitem__": "str bytes list tuple dict range Markup", "__getnewargs__": "str bytes tuple int bool float Markup",
	"__html__ __html_format__ __slots__": "Markup", "__iadd__ __imul__": "list", "__index__ __invert__ __lshift__ __rlshift__ __rrshift__ __rshift__": "int bool",
	"__ior__": "dict", "__iter__": "str bytes list tuple dict range dict_keys dict_items dict_values generator Markup",
	"__len__": "str bytes list tuple dict range dict_keys dict_items dict_values Markup", "__mod__ __rmod__": "str bytes int bool float Markup",
	"__or__ __ror__": "dict int bool dict_keys dict_items", "__radd__": "int bool float Markup", "__reversed__": "list dict range dict_keys dict_items dict_values",
	"__rsub__ __sub__": "int bool float dict_keys dict_items",

	"__dict__": "Macro function", "__globals__ __code__": "function", "__call__": "Macro function builtin_function_or_method", "__self__ __text_signature__": "builtin_function_or_method",
	"__name__ __qualname__": "builtin_function_or_method function generator", "__module__": "Macro builtin_function_or_method Markup",
}

// unsafeAttrs maps each of objectAttrs, hiddenAttrs and mutators to its types, or "" for all.
var unsafeAttrs = func() map[string]string {
	out := map[string]string{}
	for names, types := range hiddenAttrs {
		for name := range strings.FieldsSeq(names) {
			out[name] = types
		}
	}
	maps.Copy(out, mutators)
	for name := range strings.FieldsSeq(objectAttrs) {
		out[name] = ""
	}
	return out
}()

// mutators are the methods that an immutable sandbox rejects.
var mutators = map[string]string{
	"append": "list", "insert": "list", "sort": "list", "reverse": "list", "extend": "list", "remove": "list",
	"clear": "list dict", "pop": "list dict", "popitem": "dict", "setdefault": "dict", "update": "dict",
}

func isUnsafe(name, typ string) bool {
	types, ok := unsafeAttrs[name]
	if !ok || types == "" {
		return ok
	}
	for t := range strings.FieldsSeq(types) {
		if t == typ {
			return true
		}
	}
	return false
}

// attribute is Python's getattr behind the sandbox; ok is false for AttributeError.
func attribute(m *Machine, x Value, name string) (v Value, ok bool, err error) {
	if err := m.Alloc(len(name)); err != nil { // for looking it up, or for the message
		return nil, false, err
	}
	typ := typeName(x)
	if _, ok := x.(*namespace); !ok {
		if isUnsafe(name, typ) {
			return &undefined{Kind: kindSecurity, Msg: "access to attribute " + repr(name) + " of " + repr(typ) + " object is unsafe."}, true, nil
		}
	}
	if v, ok := refusedMethod(typ, name); ok {
		return v, true, nil
	}
	switch x := x.(type) {
	case *undefined:
		return nil, false, x.Err()
	case byteString:
		f, ok := bytesMethods[name]
		return boundMethod(m, name, x, f), ok, nil
	case string, Markup:
		f, ok := stringMethods[name]
		if _, safe := x.(Markup); safe && !ok {
			f, ok = markupMethods[name]
		}
		return boundMethod(m, name, x, f), ok, nil
	case *List:
		f, ok := listMethods[name]
		return boundMethod(m, name, x, f), ok, nil
	case *Tuple:
		for i, field := range x.Fields {
			if field == name {
				return x.Items[i], true, nil
			}
		}
		f, ok := tupleMethods[name]
		return boundMethod(m, name, x, f), ok, nil
	case *Map:
		f, ok := dictMethods[name]
		return boundMethod(m, name, x, f), ok, nil
	case bool, int64, *big.Int, float64:
		return numberAttr(m, x, name)
	case *namespace:
		v, ok := x.Attrs.Get(name)
		return v, ok, nil
	case object:
		return x.Attr(m, name)
	case *intRange:
		return rangeAttr(x, name)
	}
	return nil, false, nil
}

// boundMethod binds a method to its object.
func boundMethod(_ *Machine, name string, x Value, f *functionType) Value {
	if f == nil {
		return nil
	}
	return &function{Name: name, Method: true, Call: func(m *Machine, a *Args) (Value, error) { return f.Apply(m, name, x, a) }}
}

// slice is x[start:stop:step].
func slice(m *Machine, x Value, bounds [3]Value) (Value, error) {
	n, ok := length(x)
	if u, isU := x.(*undefined); isU {
		return nil, u.Err()
	}
	switch x.(type) {
	case string, Markup, byteString, *List, *Tuple, *intRange:
	case *Map:
		return nil, typeError("unhashable type: 'slice'")
	default:
		ok = false
	}
	if !ok {
		return nil, typeError("'%s' object is not subscriptable", typeName(x))
	}
	start, stop, step, count, err := sliceBounds(n, bounds)
	if err != nil {
		return nil, err
	}
	if r, ok := x.(*intRange); ok {
		return &intRange{Start: r.Start + int64(start)*r.Step, Stop: r.Start + int64(stop)*r.Step, Step: r.Step * int64(step), N: int64(count)}, nil
	}
	if b, ok := x.(byteString); ok {
		if err := m.Alloc(count); err != nil {
			return nil, err
		}
		out := make([]byte, count)
		for i := range out {
			out[i] = b[start+i*step]
		}
		return byteString(out), nil
	}
	if s, ok := text(x); ok {
		if err := m.Alloc(len(s)); err != nil {
			return nil, err
		}
		return like(x, sliceString(s, start, step, count)), nil
	}
	if err := m.Alloc(16 * count); err != nil {
		return nil, err
	}
	var from []Value
	switch x := x.(type) {
	case *List:
		from = x.Items
	case *Tuple:
		from = x.Items
	}
	items := make([]Value, count)
	for i := range items {
		items[i] = from[start+i*step]
	}
	if _, ok := x.(*Tuple); ok {
		return &Tuple{Items: items}, nil
	}
	return &List{Items: items}, nil
}

func sliceString(s string, start, step, count int) string {
	if count == 0 {
		return ""
	}
	if step == 1 {
		from := runeOffset(s, start)
		return s[from : from+runeOffset(s[from:], count)]
	}
	runes := []rune(s)
	out := make([]rune, count)
	for i := range out {
		out[i] = runes[start+i*step]
	}
	return string(out)
}

// sliceBounds follows slice.indices: count elements from start, before stop,
// by step.
func sliceBounds(n int, b [3]Value) (start, stop, step, count int, err error) {
	var v [3]int64
	var set [3]bool
	for i, x := range b {
		if x == nil {
			continue
		}
		if v[i], set[i] = smallInt(x); !set[i] {
			return 0, 0, 0, 0, typeError("slice indices must be integers or None or have an __index__ method")
		}
	}
	if !set[2] {
		v[2] = 1
	}
	if v[2] == 0 {
		return 0, 0, 0, 0, valueError("slice step cannot be zero")
	}
	lo, hi := int64(0), int64(n)
	if v[2] < 0 {
		lo, hi = -1, int64(n)-1
	}
	for i := range 2 {
		if !set[i] {
			v[i] = lo
			if (i == 0) == (v[2] < 0) {
				v[i] = hi
			}
			continue
		}
		if v[i] < 0 {
			v[i] += int64(n)
		}
		v[i] = min(max(v[i], lo), hi)
	}
	step64 := min(max(v[2], -int64(n)-1), int64(n)+1)
	d := v[1] - v[0]
	if step64 > 0 && d > 0 {
		count = int((d-1)/step64) + 1
	} else if step64 < 0 && d < 0 {
		count = int((-d-1)/-step64) + 1
	}
	return int(v[0]), int(v[1]), int(step64), count, nil
}
