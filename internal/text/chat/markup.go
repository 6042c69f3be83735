package chat

import (
	"html"
	"regexp"
	"strings"
)

// markupMethods are those that Markup has and str has not.
var markupMethods = map[string]*Func{
	"striptags": NewFunc("", StripTags),
	"unescape": NewFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
		s, _ := Text(x)
		return html.UnescapeString(s), m.Alloc(len(s))
	}),
	"escape": NewFunc("s", func(m *Machine, _ Value, a []Value) (Value, error) {
		s, err := m.Escape(a[0])
		return s, err
	}),
}

var (
	commentRE = regexp.MustCompile(`(?s)<!--.*?-->`)
	tagRE     = regexp.MustCompile(`(?s)<.*?>`)
)

// StripTags drops comments and tags, joins white space and unescapes the rest.
func StripTags(m *Machine, x Value, _ []Value) (Value, error) {
	s, err := m.Str(x)
	if err != nil {
		return nil, err
	}
	if err := m.Alloc(4 * len(s)); err != nil {
		return nil, err
	}
	s = m.plain(s) // a list has texts
	s = tagRE.ReplaceAllString(commentRE.ReplaceAllString(s, ""), "")
	s = strings.Join(strings.FieldsFunc(s, IsSpace), " ")
	return html.UnescapeString(s), nil
}
