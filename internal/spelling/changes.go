package spelling

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Changes says in words which keys have another value now, with both values, in the
// order of their names: "a is 2 and was 1, b …"; "" = none has.
func Changes(was, now map[string]string) string {
	keys := maps.Clone(was)
	maps.Copy(keys, now)
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		a, had := was[k]
		b, has := now[k]
		switch {
		case a == b: // what is not there is as what is empty: it may be new
		case !had:
			out = append(out, fmt.Sprintf("%s is %s and was not there", k, b))
		case !has:
			out = append(out, fmt.Sprintf("%s is not there and was %s", k, a))
		default:
			out = append(out, fmt.Sprintf("%s is %s and was %s", k, b, a))
		}
	}
	return strings.Join(out, ", ")
}
