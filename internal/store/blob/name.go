package blob

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	longestID   = 180 // bytes of an id used in a file name unchanged
	longestStem = 160 // bytes kept of a longer or unsafe id
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

// isSafe reports whether an id can be used as a file name unchanged.
func isSafe(id string) bool { return len(id) <= longestID && safe(id) == id }

// suffixed returns the file name of an id whose safe form other ids may share.
func suffixed(id string) string {
	stem := safe(id)
	return fmt.Sprintf("%s-x%016x", stem[:min(len(stem), longestStem)], xxh3.HashString(id))
}

// nameOf returns the part of a file name that stands for an id. It is unique,
// except that names differing only in case collide on some file systems.
func nameOf(id string) string {
	if isSafe(id) {
		return id
	}
	return suffixed(id)
}
