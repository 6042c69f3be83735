package spelling

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun: "1 token", "2 tokens", "0 entries". The
// noun may begin with other words, as in "cached entry".
func Count[N ~int | ~int32 | ~int64 | ~uint64](n N, noun string) string {
	return fmt.Sprint(n, " ", plural(n, noun))
}

// plural returns the form of a noun that follows a number.
func plural[N ~int | ~int32 | ~int64 | ~uint64](n N, noun string) string {
	switch stem, y := strings.CutSuffix(noun, "y"); {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "matrix"):
		return strings.TrimSuffix(noun, "ix") + "ices"
	case y && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}
