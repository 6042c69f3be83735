package chat

import (
	"maps"
	"slices"
)

// Registries returns the names available to templates, by kind, for the test that
// requires a row for each.
func Registries() map[string][]string {
	var methods []string
	for name := range stringMethods {
		methods = append(methods, "str."+name)
	}
	return map[string][]string{
		"filters": slices.Collect(maps.Keys(filters)),
		"tests":   slices.Collect(maps.Keys(tests)),
		"globals": append(slices.Collect(maps.Keys(globals)), "strftime_now"),
		"methods": methods,
	}
}
