package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// wait finds what makes a test depend on the machine: time that passes, and the
// memory and the goroutines that a process happens to have.
var wait = regexp.MustCompile(`\btime\.(?:Sleep|After|AfterFunc)\(|\bcontext\.With(?:Timeout|Deadline)(?:Cause)?\(` +
	`|VmHWM|testing\.AllocsPerRun\(|\bruntime\.(?:ReadMemStats|NumGoroutine)\(|\bmetrics\.Read\(`)

// TestWaits: a test that sleeps, takes a time for too late, reads the memory of a
// process, or counts its goroutines or what all of it allocates stands in testdata/waits.txt with its
// reason. Tests wait for signs instead, and count, by package await. The list has
// the exact number of each file's lines: it shrinks by itself (-update), and grows
// by a line that is written by hand.
func TestWaits(t *testing.T) {
	const list = "internal/lint/testdata/waits.txt"
	b, err := readFile(list)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	counts := map[string]int{}
	for line := range strings.Lines(string(b)) {
		var n int
		var file string
		line = strings.TrimSpace(line)
		if _, err := fmt.Sscan(line, &n, &file); err != nil {
			t.Fatalf("%s: %q: %v", list, line, err)
		}
		_, reasons[file], _ = strings.Cut(line, file+" ")
		counts[file] = n
	}
	var lines []string
	err = walk("_test.go", func(file string) error {
		b, err := readFile(file)
		if err != nil || file == "internal/lint/waits_test.go" {
			return err
		}
		n := 0
		for line := range strings.Lines(string(b)) {
			if wait.MatchString(line) {
				n++
			}
		}
		if n > counts[file] || n > 0 && strings.TrimSpace(reasons[file]) == "" {
			t.Errorf("%s waits or measures in %d lines, %s allows %d: wait for a sign (package await), or give the reason there", file, n, list, counts[file])
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%d %s %s\n", n, file, strings.TrimSpace(reasons[file])))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(lines, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	golden.Text(t, list, strings.Join(lines, ""), *update)
}
