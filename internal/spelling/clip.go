package spelling

import (
	"fmt"
	"strconv"
	"strings"
)

// Clip returns a text of which a message shows at most so many bytes: what is longer
// ends in "…".
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// mostQuoted is how many bytes of somebody else's words a message shows.
const mostQuoted = 40

// Line returns a name on one line, with what cannot be printed as Go writes it.
func Line(name string) string {
	q := strconv.Quote(name)
	return q[1 : len(q)-1]
}

// Quotable returns what a message shows of somebody else's words: whoever sends a name of
// megabytes must not get it into logs.
func Quotable(s string) string { return Clip(s, mostQuoted) }

// Sprintf is [fmt.Sprintf] which shows of texts and bytes with the verb q, or with a
// precision, what [Quotable] does.
func Sprintf(format string, args ...any) string {
	for i, a := range args {
		switch s := a.(type) {
		case string:
			args[i] = quoted(s)
		case []byte:
			args[i] = quoted(s[:min(len(s), mostQuoted+1)])
		}
	}
	return fmt.Sprintf(format, args...)
}

// A quoted text is cut by the verb q and by a precision, which counts letters, not bytes.
type quoted string

// Format implements [fmt.Formatter].
func (q quoted) Format(f fmt.State, verb rune) {
	s := string(q)
	if _, cut := f.Precision(); cut || verb == 'q' {
		s = Quotable(s)
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), s)
}
