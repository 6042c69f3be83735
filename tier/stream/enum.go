package stream

import "fmt"

// spell returns the name of an enum value.
func spell[E ~uint8](names []string, kind string, e E) string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("%s(%d)", kind, uint8(e))
}

// parse finds an enum value by its name.
func parse[E ~uint8](names []string, kind string, text []byte, e *E) error {
	for i, n := range names {
		if n == string(text) {
			*e = E(i)
			return nil
		}
	}
	return fmt.Errorf("no %s %q; there are %v", kind, text, names)
}
