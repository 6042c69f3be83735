package route

import (
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory/lane"
)

func newTimeline(m lane.TimelineMode) (*lane.Timeline, *lane.Lines) {
	lines := new(lane.Lines)
	return lane.NewTimeline(m, lines), lines
}

// field collects a field of all lines that start with the word.
func field(lines []string, word, name string) (out []string) {
	for _, l := range lines {
		if !strings.HasPrefix(l, word+" ") {
			continue
		}
		for f := range strings.FieldsSeq(l) {
			if v, ok := strings.CutPrefix(f, name+"="); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
