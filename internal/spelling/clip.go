package spelling

import "strings"

// Clip returns a text of which a message shows at most so many bytes: what is longer
// ends in "…".
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
