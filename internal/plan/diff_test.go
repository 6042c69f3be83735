package plan

import (
	"slices"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	for _, tc := range []struct{ x, y, want string }{
		{"", "", ""},
		{"a b c", "a b c", ""},
		{"a b c d", "a c x d", "- b,+ x"},
		{"a", "", "- a"},
		{"", "a b", "+ a,+ b"},
		{"a b a b", "b a b a", "- a,+ a"},
		{"x y", "u v", "- x,- y,+ u,+ v"},
	} {
		if got := strings.Join(lineDiff(strings.Fields(tc.x), strings.Fields(tc.y)), ","); got != tc.want {
			t.Errorf("%q to %q: got %q, want %q", tc.x, tc.y, got, tc.want)
		}
	}
}

// Lists too long for the table are still compared at both ends.
func TestLinesTooLong(t *testing.T) {
	x := slices.Repeat([]string{"a", "b"}, 3000)
	y := slices.Repeat([]string{"b", "a"}, 3000)
	if got := lineDiff(append(x, "end"), append(y, "end")); len(got) != 12000 {
		t.Errorf("%d lines", len(got))
	}
}
