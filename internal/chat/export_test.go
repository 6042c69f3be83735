package chat

import (
	"maps"
	"slices"

	"atenia/internal/chat/filter"
	"atenia/internal/chat/method"
)

// Registries returns the names of what templates can use, by kind, for the
// test that wants a row about each.
func Registries() map[string][]string {
	var methods []string
	for name := range method.Strings {
		methods = append(methods, "str."+name)
	}
	return map[string][]string{
		"filters": slices.Collect(maps.Keys(filter.Table)),
		"tests":   slices.Collect(maps.Keys(filter.Tests)),
		"globals": append(slices.Collect(maps.Keys(globals)), "strftime_now"),
		"methods": methods,
	}
}
