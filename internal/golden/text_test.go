package golden

import "testing"

func TestDiff(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"a\nb\nc", "a\nb\nc", ""},
		{"a\nb\nc", "a\nx\nc", "    2 - b\n    3 + x\n"},
		{"a\nc", "a\nb\nc", "    2 + b\n"},
		{"a\nb\nc\nd", "b\nd", "    1 - a\n    3 - c\n"},
	} {
		if got := diff(x.a, x.b); got != x.want {
			t.Errorf("%q to %q:\n%s", x.a, x.b, got)
		}
	}
}
