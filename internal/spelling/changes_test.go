package spelling

import "testing"

func TestChanges(t *testing.T) {
	was := map[string]string{"heads": "2", "seed": "3", "gone": "x"}
	if s := Changes(was, was); s != "" {
		t.Errorf("equal: %q", s)
	}
	const want = "gone is not there and was x, heads is 4 and was 2, new is y and was not there"
	if s := Changes(was, map[string]string{"heads": "4", "seed": "3", "new": "y"}); s != want {
		t.Errorf("%q, want %q", s, want)
	}
}
