package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

func Sum(v []int) (n int) {
	for i, x := range v {
		if i < 3 && x != 0 {
			n += x * 2
		}
		clamp(&n)
	}
	return -n
}

func clamp(n *int) {
	if *n > 100 {
		*n = 100
	}
}
`

// TestSites: each kind of error is offered, and what it writes is what it says.
func TestSites(t *testing.T) {
	list, err := sitesOf("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, s.fn+": "+s.what)
	}
	want := []string{
		"Sum: i < 3 && x != 0 → !(i < 3 && x != 0)", "Sum: i < 3 → i <= 3", "Sum: i < 3 → i >= 3", "Sum: 3 → 4", "Sum: i < 3 && x != 0 → i < 3 || x != 0",
		"Sum: x != 0 → x == 0", "Sum: 0 → 1", "Sum: n += x * 2 → n -= x * 2", "Sum: n += x * 2 → _ = x * 2", "Sum: x * 2 → x / 2", "Sum: 2 → 3",
		"Sum: clamp(&n) → _ = &n", "Sum: -n → n",
		"clamp: *n > 100 → *n >= 100", "clamp: *n > 100 → *n <= 100", "clamp: 100 → 101", "clamp: *n = 100 → _ = 100", "clamp: 100 → 101",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if last := list[len(list)-1]; last.what != "100 → 101" || last.nth != 2 || source[last.lo:last.hi] != "100" {
		t.Errorf("the last site is %v, number %d", &last, last.nth)
	}
}

// TestPlant runs a module whose test finds some errors and not others.
func TestPlant(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module p\n\ngo 1.26\n",
		"p.go":   source,
		"p_test.go": `package p

import "testing"

func TestSum(t *testing.T) {
	if got := Sum([]int{1, 0, 2, 40}); got != -6 {
		t.Fatal(got)
	}
}
`,
		"excused.tsv": "# why\np.go\tclamp\t*n > 100 → *n >= 100\t1\tthe same value is written\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	o := options{run: runner{root: dir, tests: []string{"./..."}}, packages: []string{"./..."}, least: 0.95, excused: filepath.Join(dir, "excused.tsv"), out: &out}
	err := o.plantAll(t.Context())
	if err == nil || !strings.Contains(err.Error(), "want 95.0 %") {
		t.Errorf("the error is %v", err)
	}
	text := out.String()
	for _, want := range []string{
		"excused\tp.go:14: clamp: *n > 100 → *n >= 100\tthe same value is written\n",
		"survived\tp.go:8: Sum: clamp(&n) → _ = &n\t1\n", // no sum is over 100
		"survived\tp.go:15: clamp: 100 → 101\t2\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	for _, found := range []string{"i < 3 → i <= 3", "-n → n", "x * 2 → x / 2", "2 → 3"} {
		if strings.Contains(text, found) {
			t.Errorf("%q was not found:\n%s", found, text)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "p.go")); err != nil || string(b) != source {
		t.Error("the file has changed", err)
	}
	o.run.root, o.least = dir, 0
	if err := o.plantAll(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFailing: tests that fail by themselves say nothing about errors.
func TestFailing(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": source, "p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) { t.Fatal() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := options{run: runner{root: dir, tests: []string{"./..."}}, packages: []string{"./..."}, out: &bytes.Buffer{}}
	if err := o.plantAll(t.Context()); err == nil || !strings.Contains(err.Error(), "without an error planted") {
		t.Errorf("the error is %v", err)
	}
}
