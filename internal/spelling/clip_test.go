package spelling

import "testing"

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
