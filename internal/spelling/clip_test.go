package spelling

import (
	"strings"
	"testing"
)

func TestSprintf(t *testing.T) {
	long := strings.Repeat("\u20ac", 1000)
	shown := strings.Repeat("\u20ac", 13) + "\u2026"
	for _, c := range []struct {
		format string
		arg    any
		want   string
	}{
		{"%q", "a", `"a"`}, {"%q", long, `"` + shown + `"`}, {"%s", long, long}, {"%v", 3, "3"},
		{"%.5s", []byte(long), shown[:15]}, {"%.40s", []byte(long), shown}, {"%.20q", []byte(long), `"` + shown + `"`}, {"%.40s", long, shown},
	} {
		if got := Sprintf(c.format, c.arg); got != c.want {
			t.Errorf("%s of %.20v: %.60q, want %.60q", c.format, c.arg, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		s    string
		most int
		want string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aéb", 2, "a…"}} {
		if got := Clip(c.s, c.most); got != c.want {
			t.Errorf("%q at %d bytes: %q, want %q", c.s, c.most, got, c.want)
		}
	}
}
