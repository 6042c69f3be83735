package chat

import (
	"fmt"
)

// Filters holds the filters of Jinja 3.1 by name, with tojson as transformers
// defines it. Text ones are in filtertext.go, sequence ones in filterseq.go.
var Filters map[string]*Func

// refusedFilters are left out, each for its reason.
var refusedFilters = map[string]string{
	"random": "a prompt must be the same every time",
	"urlize": "prompts are not HTML",
	"pprint": "it is a debugging aid whose layout is not fixed",
}

func defineFilters() {
	Filters = map[string]*Func{
		"abs": NewFunc("", absFilter), "round": NewFunc("precision? method?", roundFilter), "int": NewFunc("default? base?", intFilter),
		"float": NewFunc("default?", floatFilter), "filesizeformat": NewFunc("binary?", fileSize),

		"upper": textual("upper"), "lower": textual("lower"), "capitalize": textual("capitalize"), "trim": textual("strip"),
		"title": NewFunc("", titleFilter), "center": NewFunc("width?", centerFilter), "replace": NewFunc("old new count?", replaceFilter),
		"string": NewFunc("", stringFilter), "format": NewRaw(formatFilter), "indent": NewFunc("width? first? blank?", indentFilter),
		"truncate": NewFunc("length? killwords? end? leeway?", truncateFilter), "wordcount": NewFunc("", wordCount),
		"wordwrap":  NewFunc("width? break_long_words? wrapstring? break_on_hyphens?", wordWrap),
		"urlencode": NewFunc("", urlEncode), "striptags": NewFunc("", StripTags), "xmlattr": NewFunc("autospace?", xmlAttr),
		"e": NewFunc("", escapeFilter), "escape": NewFunc("", escapeFilter), "forceescape": NewFunc("", forceEscape), "safe": NewFunc("", safeFilter),
		"tojson": NewFunc("ensure_ascii? indent? separators? sort_keys?", tojson),

		"default": NewFunc("default_value? boolean?", defaultFilter), "d": NewFunc("default_value? boolean?", defaultFilter),
		"attr": NewFunc("name", attrFilter),

		"length": NewFunc("", lengthFilter), "count": NewFunc("", lengthFilter), "first": NewFunc("", firstFilter), "last": NewFunc("", lastFilter),
		"list": NewFunc("", listFilter), "reverse": NewFunc("", reverseFilter), "join": NewFunc("d? attribute?", joinFilter),
		"sum": NewFunc("attribute? start?", sumFilter), "min": NewFunc("case_sensitive? attribute?", extreme(-1)), "max": NewFunc("case_sensitive? attribute?", extreme(1)),
		"sort": NewFunc("reverse? case_sensitive? attribute?", sortFilter), "unique": NewFunc("case_sensitive? attribute?", uniqueFilter),
		"groupby": NewFunc("attribute default? case_sensitive?", groupBy), "batch": NewFunc("linecount fill_with?", batchFilter), "slice": NewFunc("slices fill_with?", sliceFilter),
		"items": NewFunc("", itemsFilter), "dictsort": NewFunc("case_sensitive? by? reverse?", dictSort),
		"map": NewRaw(mapFilter), "select": NewRaw(selector(true, false)), "reject": NewRaw(selector(false, false)),
		"selectattr": NewRaw(selector(true, true)), "rejectattr": NewRaw(selector(false, true)),
	}
}

func flag(v Value) bool { return v != Missing && Truth(v) }

// given replaces a missing argument.
func given(v, def Value) Value {
	if v == Missing {
		return def
	}
	return v
}

func defaultFilter(_ *Machine, x Value, a []Value) (Value, error) {
	if _, ok := x.(*Undefined); ok || flag(a[1]) && !Truth(x) {
		return given(a[0], ""), nil
	}
	return x, nil
}

func attrFilter(m *Machine, x Value, a []Value) (Value, error) {
	name, ok := Text(a[0])
	if !ok {
		return nil, TypeError("attribute name must be string, not '%s'", TypeName(a[0]))
	}
	v, ok, err := Attribute(m, x, name)
	if err != nil || ok {
		return v, err
	}
	return NoAttribute(x, name), nil
}

func lengthFilter(m *Machine, x Value, _ []Value) (Value, error) {
	if o, ok := x.(Sized); ok {
		n, err := o.Size(m)
		return int64(n), err
	}
	s, _ := Text(x)
	if err := m.Read(s); err != nil {
		return nil, err
	}
	n, ok := Length(x)
	if !ok {
		return nil, TypeError("object of type '%s' has no len()", TypeName(x))
	}
	return int64(n), nil
}

// Unknown says that there is no such filter or test.
func Unknown(kind, name string) string {
	if why, ok := refusedFilters[name]; ok && kind == "filter" {
		return fmt.Sprintf("the filter %q is not supported: %s", name, why)
	}
	return fmt.Sprintf("no %s named %q", kind, name)
}
