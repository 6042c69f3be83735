package blob

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	longestID   = 180 // bytes of an id that stands in a file name as it is
	longestStem = 160 // bytes of one that does not
)

// safe replaces every code point outside [A-Za-z0-9_-].
func safe(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
}

// isSafe reports whether an id can stand in a file name as it is.
func isSafe(id string) bool { return len(id) <= longestID && safe(id) == id }

// suffixed returns the name of an id that shares its safe one with others.
func suffixed(id string) string {
	stem := safe(id)
	return fmt.Sprintf("%s-x%016x", stem[:min(len(stem), longestStem)], xxh3.HashString(id))
}

// nameOf returns the part of a file name that stands for an id. No two ids
// have the same, but those that differ only in case are one name to some file
// systems.
func nameOf(id string) string {
	if isSafe(id) {
		return id
	}
	return suffixed(id)
}
