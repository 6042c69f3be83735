// Acceptance reads the output of "go test -json" and checks that every test
// named in docs/acceptance.json ran and passed: a test that is missing, was
// skipped or failed is reported with its acceptance id.
//
//	(go test -json ./... && go -C tools test -json ./...) | go run -C tools ./acceptance ../docs/acceptance.json
//
// Its own output is what "go test" without -json prints: a line for each package,
// and what a test that failed wrote.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// An event is one line of "go test -json".
type event struct{ Action, Package, Test, Output string }

// An entry is one acceptance row: a test that proves it, or why there is none.
type entry struct {
	Test  string `json:"test,omitempty"`
	Later string `json:"later,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | acceptance docs/acceptance.json")
		os.Exit(2)
	}
	b, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = run(os.Stdin, os.Stdout, b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
}

// run checks the table against a stream of events.
func run(in io.Reader, out io.Writer, table []byte) error {
	var rows map[string]entry
	if err := json.Unmarshal(table, &rows); err != nil {
		return err
	}
	result := map[string]string{}  // test → last of pass, fail, skip
	wrote := map[string][]string{} // package and test → its output until its result is known
	failed := 0
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) != nil { // a compiler's message
			fmt.Fprintln(out, sc.Text())
			continue
		}
		switch e.Action {
		case "output", "build-output":
			if e.Test == "" {
				if e.Output != "PASS\n" { // which only -v says
					io.WriteString(out, e.Output)
				}
			} else {
				k := e.Package + " " + e.Test
				wrote[k] = append(wrote[k], e.Output)
			}
		case "pass", "fail", "skip":
			if e.Action == "fail" {
				failed++
				tell(out, wrote, e.Package, e.Test)
			}
			if e.Test != "" {
				delete(wrote, e.Package+" "+e.Test)
				if result[e.Test] != "fail" {
					result[e.Test] = e.Action
				}
			}
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d tests or packages failed", failed)
	}
	return verdict(out, rows, result)
}

// tell writes what a test that failed has written; with test "", which stands for the
// whole package, what its tests have that did not come to an end.
func tell(out io.Writer, wrote map[string][]string, pkg, test string) {
	for _, k := range slices.Sorted(maps.Keys(wrote)) {
		if k == pkg+" "+test || test == "" && strings.HasPrefix(k, pkg+" ") {
			io.WriteString(out, strings.Join(wrote[k], ""))
		}
	}
}

func verdict(out io.Writer, rows map[string]entry, result map[string]string) error {
	bad, built := 0, 0
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		test := rows[id].Test
		if test == "" {
			continue
		}
		built++
		if got := result[test]; got != "pass" {
			bad++
			if got == "" {
				got = "missing"
			}
			fmt.Fprintf(out, "%s: %s: %s\n", id, test, got)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d acceptance rows are not proved", bad, built)
	}
	fmt.Fprintf(out, "acceptance: %d rows proved, %d for later\n", built, len(rows)-built)
	return nil
}
