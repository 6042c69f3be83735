package lint

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// openClauses is how many clauses of docs/clauses.md act and have no test that goes through a
// door. It only falls.
const openClauses = 0

// TestClauses: each clause of the seeds names a test that exists behind a door, or a page
// that says why there is none.
func TestClauses(t *testing.T) {
	doors := doorTests(t)
	b, err := os.ReadFile("docs/clauses.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`^\[[^\]]+\]\(([\w/.-]+\.md)(#[\w-]+)?\)$`)
	rows, open := 0, 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || strings.HasPrefix(line, "| section") {
			continue
		}
		rows++
		last := strings.TrimSuffix(cells[3], " |")
		if why, ok := strings.CutPrefix(last, "open: "); ok && why != "" {
			open++
			continue
		}
		for _, name := range strings.Split(last, ", ") {
			if m := link.FindStringSubmatch(name); m != nil {
				if _, err := os.Stat(path.Join("docs", m[1])); err != nil {
					t.Errorf("%s: %v", cells[1], err)
				}
			} else if len(doors[name]) == 0 {
				t.Errorf("%s: no test %q behind a door", cells[1], name)
			}
		}
	}
	if rows < 140 || open != openClauses {
		t.Errorf("%d clauses, %d of them open; want 140 or more, and %d (lower the figure when it falls)", rows, open, openClauses)
	}
}
