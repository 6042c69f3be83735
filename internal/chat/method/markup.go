package method

import (
	"html"
	"regexp"
	"strings"

	"atenia/internal/chat/object"
)

// markupMethods are those that Markup has and str has not.
var markupMethods = map[string]*object.Func{
	"striptags": object.NewFunc("", StripTags),
	"unescape": object.NewFunc("", func(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
		s, _ := object.Text(x)
		return html.UnescapeString(s), m.Alloc(len(s))
	}),
	"escape": object.NewFunc("s", func(m *object.Machine, _ object.Value, a []object.Value) (object.Value, error) {
		s, err := m.Escape(a[0])
		return s, err
	}),
}

var (
	commentRE = regexp.MustCompile(`(?s)<!--.*?-->`)
	tagRE     = regexp.MustCompile(`(?s)<.*?>`)
)

// StripTags drops comments and tags, joins white space and unescapes the rest.
func StripTags(m *object.Machine, x object.Value, _ []object.Value) (object.Value, error) {
	s, err := m.Str(x)
	if err != nil {
		return nil, err
	}
	if err := m.Alloc(4 * len(s)); err != nil {
		return nil, err
	}
	s = tagRE.ReplaceAllString(commentRE.ReplaceAllString(s, ""), "")
	s = strings.Join(strings.FieldsFunc(s, object.IsSpace), " ")
	return html.UnescapeString(s), nil
}
