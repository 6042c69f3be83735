package filter

import (
	"fmt"

	"atenia/internal/chat/method"
	"atenia/internal/chat/object"
)

// Table holds the filters of Jinja 3.1 by name, with tojson as transformers
// defines it. Text ones are in filtertext.go, sequence ones in filterseq.go.
var Table map[string]*object.Func

// refusedFilters are left out, each for its reason.
var refusedFilters = map[string]string{
	"random": "a prompt must be the same every time",
	"urlize": "prompts are not HTML",
	"pprint": "it is a debugging aid whose layout is not fixed",
}

// The tables refer to functions that look into the tables, so that they cannot
// be literals; filters use string methods.
func init() {
	defineTests()
	defineFilters()
}

func defineFilters() {
	Table = map[string]*object.Func{
		"abs": object.NewFunc("", absFilter), "round": object.NewFunc("precision? method?", roundFilter), "int": object.NewFunc("default? base?", intFilter),
		"float": object.NewFunc("default?", floatFilter), "filesizeformat": object.NewFunc("binary?", fileSize),

		"upper": textual("upper"), "lower": textual("lower"), "capitalize": textual("capitalize"), "trim": textual("strip"),
		"title": object.NewFunc("", titleFilter), "center": object.NewFunc("width?", centerFilter), "replace": object.NewFunc("old new count?", replaceFilter),
		"string": object.NewFunc("", stringFilter), "format": object.NewRaw(formatFilter), "indent": object.NewFunc("width? first? blank?", indentFilter),
		"truncate": object.NewFunc("length? killwords? end? leeway?", truncateFilter), "wordcount": object.NewFunc("", wordCount),
		"wordwrap":  object.NewFunc("width? break_long_words? wrapstring? break_on_hyphens?", wordWrap),
		"urlencode": object.NewFunc("", urlEncode), "striptags": object.NewFunc("", method.StripTags), "xmlattr": object.NewFunc("autospace?", xmlAttr),
		"e": object.NewFunc("", escapeFilter), "escape": object.NewFunc("", escapeFilter), "forceescape": object.NewFunc("", forceEscape), "safe": object.NewFunc("", safeFilter),
		"tojson": object.NewFunc("ensure_ascii? indent? separators? sort_keys?", tojson),

		"default": object.NewFunc("default_value? boolean?", defaultFilter), "d": object.NewFunc("default_value? boolean?", defaultFilter),
		"attr": object.NewFunc("name", attrFilter),

		"length": object.NewFunc("", lengthFilter), "count": object.NewFunc("", lengthFilter), "first": object.NewFunc("", firstFilter), "last": object.NewFunc("", lastFilter),
		"list": object.NewFunc("", listFilter), "reverse": object.NewFunc("", reverseFilter), "join": object.NewFunc("d? attribute?", joinFilter),
		"sum": object.NewFunc("attribute? start?", sumFilter), "min": object.NewFunc("case_sensitive? attribute?", extreme(-1)), "max": object.NewFunc("case_sensitive? attribute?", extreme(1)),
		"sort": object.NewFunc("reverse? case_sensitive? attribute?", sortFilter), "unique": object.NewFunc("case_sensitive? attribute?", uniqueFilter),
		"groupby": object.NewFunc("attribute default? case_sensitive?", groupBy), "batch": object.NewFunc("linecount fill_with?", batchFilter), "slice": object.NewFunc("slices fill_with?", sliceFilter),
		"items": object.NewFunc("", itemsFilter), "dictsort": object.NewFunc("case_sensitive? by? reverse?", dictSort),
		"map": object.NewRaw(mapFilter), "select": object.NewRaw(selector(true, false)), "reject": object.NewRaw(selector(false, false)),
		"selectattr": object.NewRaw(selector(true, true)), "rejectattr": object.NewRaw(selector(false, true)),
	}
}

func flag(v object.Value) bool { return v != object.Missing && object.Truth(v) }

// given replaces a missing argument.
func given(v, def object.Value) object.Value {
	if v == object.Missing {
		return def
	}
	return v
}

func defaultFilter(_ *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	if _, ok := x.(*object.Undefined); ok || flag(a[1]) && !object.Truth(x) {
		return given(a[0], ""), nil
	}
	return x, nil
}

func attrFilter(m *object.Machine, x object.Value, a []object.Value) (object.Value, error) {
	name, ok := object.Text(a[0])
	if !ok {
		return nil, object.TypeError("attribute name must be string, not '%s'", object.TypeName(a[0]))
	}
	v, ok, err := method.Attribute(m, x, name)
	if err != nil || ok {
		return v, err
	}
	return method.NoAttribute(x, name), nil
}

func lengthFilter(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	if o, ok := x.(object.Sized); ok {
		n, err := o.Size(m)
		return int64(n), err
	}
	s, _ := object.Text(x)
	if err := m.Read(s); err != nil {
		return nil, err
	}
	n, ok := object.Length(x)
	if !ok {
		return nil, object.TypeError("object of type '%s' has no len()", object.TypeName(x))
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
