package conform

import (
	"testing"
)

// TestLinearisable: the check tells histories apart.
func TestLinearisable(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  bool
		calls []operation
	}{
		{"overlapping read of either value", true, []operation{{'p', 1, true, 1, 2}, {'p', 2, false, 3, 10}, {'g', 1, true, 4, 5}, {'g', 2, true, 6, 7}}},
		{"the old value after the new one", false, []operation{{'p', 1, true, 1, 2}, {'p', 2, false, 3, 10}, {'g', 2, true, 4, 5}, {'g', 1, true, 6, 7}}},
		{"a lost key", false, []operation{{'p', 1, true, 1, 2}, {'g', 0, false, 3, 4}}},
		{"deleted twice", false, []operation{{'p', 1, true, 1, 2}, {'d', 0, true, 3, 6}, {'d', 0, true, 4, 5}}},
		{"new twice, deleted between", true, []operation{{'p', 1, true, 1, 9}, {'p', 2, true, 2, 8}, {'d', 0, true, 3, 7}}},
	} {
		if got := linearisable(c.calls); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
