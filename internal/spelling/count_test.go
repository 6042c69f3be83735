package spelling

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{1, "token", "1 token"}, {0, "token", "0 tokens"}, {2, "token", "2 tokens"},
		{1, "entry", "1 entry"}, {2, "entry", "2 entries"}, {3, "key", "3 keys"},
		{1, "matrix", "1 matrix"}, {29, "matrix", "29 matrices"},
		{2, "pass", "2 passes"}, {2, "batch", "2 batches"}, {2, "busy process", "2 busy processes"},
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
