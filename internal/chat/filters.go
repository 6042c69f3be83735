package chat

// filters holds the filters of Jinja 3.1 by name, with tojson as transformers
// defines it. Text ones are in filtertext.go, sequence ones in filterseq.go.
var filters map[string]*filter

// refusedFilters are left out, each for its reason.
var refusedFilters = map[string]string{
	"random": "a prompt must be the same every time",
	"urlize": "prompts are not HTML",
	"pprint": "it is a debugging aid whose layout is not fixed",
}

// The tables refer to functions that look into the tables, so that they cannot
// be literals; filters use string methods.
func init() {
	defineStringMethods()
	defineMethods()
	defineTests()
	defineFilters()
	defineGlobals()
}

func defineFilters() {
	filters = map[string]*filter{
		"abs": def("", absFilter), "round": def("precision? method?", roundFilter), "int": def("default? base?", intFilter),
		"float": def("default?", floatFilter), "filesizeformat": def("binary?", fileSize),

		"upper": textual("upper"), "lower": textual("lower"), "capitalize": textual("capitalize"), "trim": textual("strip"),
		"title": def("", titleFilter), "center": def("width?", centerFilter), "replace": def("old new count?", replaceFilter),
		"string": def("", stringFilter), "format": raw(formatFilter), "indent": def("width? first? blank?", indentFilter),
		"truncate": def("length? killwords? end? leeway?", truncateFilter), "wordcount": def("", wordCount),
		"wordwrap":  def("width? break_long_words? wrapstring? break_on_hyphens?", wordWrap),
		"urlencode": def("", urlEncode), "striptags": def("", stripTags), "xmlattr": def("autospace?", xmlAttr),
		"e": def("", escapeFilter), "escape": def("", escapeFilter), "forceescape": def("", forceEscape), "safe": def("", safeFilter),
		"tojson": def("ensure_ascii? indent? separators? sort_keys?", tojson),

		"default": def("default_value? boolean?", defaultFilter), "d": def("default_value? boolean?", defaultFilter),
		"attr": def("name", attrFilter),

		"length": def("", lengthFilter), "count": def("", lengthFilter), "first": def("", firstFilter), "last": def("", lastFilter),
		"list": def("", listFilter), "reverse": def("", reverseFilter), "join": def("d? attribute?", joinFilter),
		"sum": def("attribute? start?", sumFilter), "min": def("case_sensitive? attribute?", extreme(-1)), "max": def("case_sensitive? attribute?", extreme(1)),
		"sort": def("reverse? case_sensitive? attribute?", sortFilter), "unique": def("case_sensitive? attribute?", uniqueFilter),
		"groupby": def("attribute default? case_sensitive?", groupBy), "batch": def("linecount fill_with?", batchFilter), "slice": def("slices fill_with?", sliceFilter),
		"items": def("", itemsFilter), "dictsort": def("case_sensitive? by? reverse?", dictSort),
		"map": raw(mapFilter), "select": raw(selector(true, false)), "reject": raw(selector(false, false)),
		"selectattr": raw(selector(true, true)), "rejectattr": raw(selector(false, true)),
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

func defaultFilter(_ *machine, x Value, a []Value) (Value, error) {
	if _, ok := x.(*undefined); ok || flag(a[1]) && !truth(x) {
		return given(a[0], ""), nil
	}
	return x, nil
}

func attrFilter(m *machine, x Value, a []Value) (Value, error) {
	name, ok := text(a[0])
	if !ok {
		return nil, typeError("attribute name must be string, not '%s'", typeName(a[0]))
	}
	v, ok, err := m.attribute(x, name)
	if err != nil || ok {
		return v, err
	}
	return noAttribute(x, name), nil
}

func lengthFilter(m *machine, x Value, _ []Value) (Value, error) {
	if l, ok := x.(*loop); ok {
		n, err := l.length(m)
		return int64(n), err
	}
	n, ok := length(x)
	if !ok {
		return nil, typeError("object of type '%s' has no len()", typeName(x))
	}
	return int64(n), nil
}
