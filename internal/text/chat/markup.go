package chat

import (
	"html"
	"regexp"
	"strings"
)

// markupMethods are those that Markup has and str has not.
var markupMethods = map[string]*functionType{
	"striptags": makeFunc("", stripTags),
	"unescape": makeFunc("", func(m *Machine, x Value, _ []Value) (Value, error) {
		s, _ := text(x)
		return html.UnescapeString(s), m.Alloc(len(s))
	}),
	"escape": makeFunc("s", func(m *Machine, _ Value, a []Value) (Value, error) {
		s, err := m.Escape(a[0])
		return s, err
	}),
}

var (
	commentRE = regexp.MustCompile(`(?s)<!--.*?-->`)
	tagRE     = regexp.MustCompile(`(?s)<.*?>`)
)

// stripTags drops comments and tags, joins white space and unescapes the rest.
func stripTags(m *Machine, x Value, _ []Value) (Value, error) {
	s, err := m.Str(x)
	if err != nil {
		return nil, err
	}
	if err := m.Alloc(4 * len(s)); err != nil {
		return nil, err
	}
	s = m.plain(s) // a list has texts
	s = tagRE.ReplaceAllString(commentRE.ReplaceAllString(s, ""), "")
	s = strings.Join(strings.FieldsFunc(s, isSpace), " ")
	return html.UnescapeString(s), nil
}
