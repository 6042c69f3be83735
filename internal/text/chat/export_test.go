package chat

import (
	"maps"
	"slices"
)

// Registries returns the names available to templates, by kind, for the test that
// requires a row for each.
func Registries() map[string][]string {
	var methods []string
	for name := range StringMethods {
		methods = append(methods, "str."+name)
	}
	return map[string][]string{
		"filters": slices.Collect(maps.Keys(Filters)),
		"tests":   slices.Collect(maps.Keys(Tests)),
		"globals": append(slices.Collect(maps.Keys(globals)), "strftime_now"),
		"methods": methods,
	}
}
