package nested

import (
	"fmt"
	"slices"
	"strings"
)

// A ConfigError says which field of a [Config] is invalid and why.
type ConfigError struct {
	Field string // as named in config.json
	Why   string
}

// Error implements error.
func (e *ConfigError) Error() string { return e.Field + ": " + e.Why }

// Is reports whether target is [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// enumName, enumText and enumOf convert enumerations to and from text by one
// table of names.
func enumName[E ~uint8](e E, names []string) string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("%d", uint8(e))
}

func enumText[E ~uint8](e E, names []string) ([]byte, error) {
	if int(e) >= len(names) {
		return nil, &ConfigError{Field: "value", Why: fmt.Sprintf("%d has no name", uint8(e))}
	}
	return []byte(names[e]), nil
}

func enumOf[E ~uint8](field, name string, names []string) (E, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, &ConfigError{Field: field, Why: fmt.Sprintf("%q is not one of %s", name, strings.Join(names, ", "))}
	}
	return E(i), nil
}
