package toolbox

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible spells out what a terminal would not show as it is: a model or a server could
// hide with it what it does.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "<%U>", r)
		}
	}
	return b.String()
}
