package chat

import (
	"fmt"
)

// filters holds the filters of Jinja 3.1 by name, with tojson as transformers
// defines it. Text ones are in filtertext.go, sequence ones in filterseq.go.
var filters map[string]*functionType

// refusedFilters are left out, each for its reason.
var refusedFilters = map[string]string{
	"random": "a prompt must be the same every time",
	"urlize": "prompts are not HTML",
	"pprint": "it is a debugging aid whose layout is not fixed",
}

func defineFilters() {
	filters = map[string]*functionType{
		"abs": makeFunc("", absFilter), "round": makeFunc("precision? method?", roundFilter), "int": makeFunc("default? base?", intFilter),
		"float": makeFunc("default?", floatFilter), "filesizeformat": makeFunc("binary?", fileSize),

		"upper": textual("upper"), "lower": textual("lower"), "capitalize": textual("capitalize"), "trim": textual("strip"),
		"title": makeFunc("", titleFilter), "center": makeFunc("width?", centerFilter), "replace": makeFunc("old new count?", replaceFilter),
		"string": makeFunc("", stringFilter), "format": newRaw(formatFilter), "indent": makeFunc("width? first? blank?", indentFilter),
		"truncate": makeFunc("length? killwords? end? leeway?", truncateFilter), "wordcount": makeFunc("", wordCount),
		"wordwrap":  makeFunc("width? break_long_words? wrapstring? break_on_hyphens?", wordWrap),
		"urlencode": makeFunc("", urlEncode), "striptags": makeFunc("", stripTags), "xmlattr": makeFunc("autospace?", xmlAttr),
		"e": makeFunc("", escapeFilter), "escape": makeFunc("", escapeFilter), "forceescape": makeFunc("", forceEscape), "safe": makeFunc("", safeFilter),
		"tojson": makeFunc("ensure_ascii? indent? separators? sort_keys?", tojson),

		"default": makeFunc("default_value? boolean?", defaultFilter), "d": makeFunc("default_value? boolean?", defaultFilter),
		"attr": makeFunc("name", attrFilter),

		"length": makeFunc("", lengthFilter), "count": makeFunc("", lengthFilter), "first": makeFunc("", firstFilter), "last": makeFunc("", lastFilter),
		"list": makeFunc("", listFilter), "reverse": makeFunc("", reverseFilter), "join": makeFunc("d? attribute?", joinFilter),
		"sum": makeFunc("attribute? start?", sumFilter), "min": makeFunc("case_sensitive? attribute?", extreme(-1)), "max": makeFunc("case_sensitive? attribute?", extreme(1)),
		"sort": makeFunc("reverse? case_sensitive? attribute?", sortFilter), "unique": makeFunc("case_sensitive? attribute?", uniqueFilter),
		"groupby": makeFunc("attribute default? case_sensitive?", groupBy), "batch": makeFunc("linecount fill_with?", batchFilter), "slice": makeFunc("slices fill_with?", sliceFilter),
		"items": makeFunc("", itemsFilter), "dictsort": makeFunc("case_sensitive? by? reverse?", dictSort),
		"map": newRaw(mapFilter), "select": newRaw(selector(true, false)), "reject": newRaw(selector(false, false)),
		"selectattr": newRaw(selector(true, true)), "rejectattr": newRaw(selector(false, true)),
	}
}

func flag(v Value) bool { return v != missing && truth(v) }

// given replaces a missing argument.
func given(v, def Value) Value {
	if v == missing {
		return def
	}
	return v
}

func defaultFilter(_ *Machine, x Value, a []Value) (Value, error) {
	if _, ok := x.(*undefined); ok || flag(a[1]) && !truth(x) {
		return given(a[0], ""), nil
	}
	return x, nil
}

func attrFilter(m *Machine, x Value, a []Value) (Value, error) {
	name, ok := text(a[0])
	if !ok {
		return nil, typeError("attribute name must be string, not '%s'", typeName(a[0]))
	}
	v, ok, err := attribute(m, x, name)
	if err != nil || ok {
		return v, err
	}
	return noAttribute(x, name), nil
}

func lengthFilter(m *Machine, x Value, _ []Value) (Value, error) {
	if o, ok := x.(sized); ok {
		n, err := o.Size(m)
		return int64(n), err
	}
	s, _ := text(x)
	if err := m.Read(s); err != nil {
		return nil, err
	}
	n, ok := length(x)
	if !ok {
		return nil, typeError("object of type '%s' has no len()", typeName(x))
	}
	return int64(n), nil
}

// unknown says that there is no such filter or test.
func unknown(kind, name string) string {
	if why, ok := refusedFilters[name]; ok && kind == "filter" {
		return fmt.Sprintf("the filter %q is not supported: %s", name, why)
	}
	return fmt.Sprintf("no %s named %q", kind, name)
}
