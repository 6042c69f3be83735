package lint

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// insideRows is how many rows of docs/acceptance.json name a test that goes through no door. It
// only falls.
const insideRows = 87

// doorOf reports whether tests in a folder go through the binary, a public package or the tree.
func doorOf(dir string) bool {
	return dir == "internal/cli" || dir == "internal/lint" || !strings.Contains("/"+dir+"/", "/internal/")
}

// doorTests returns the folders of tests that go through a door, by the name of the test.
func doorTests(t *testing.T) map[string][]string {
	t.Helper()
	if err := enterRoot(); err != nil {
		t.Fatal(err)
	}
	doors := map[string][]string{}
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") || !doorOf(path.Dir(name)) {
			return err
		}
		b, err := os.ReadFile(name)
		for _, m := range test.FindAllSubmatch(b, -1) {
			doors[string(m[1])] = append(doors[string(m[1])], path.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return doors
}

// throughDoor reports whether a row's test, and the subtest that it names, are in one of the
// folders of its doors: several packages have a TestGraph.
func throughDoor(t *testing.T, test string, dirs []string) bool {
	t.Helper()
	_, sub, named := strings.Cut(test, "/")
	if !named {
		return len(dirs) > 0
	}
	sub = path.Base(sub)
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".go") {
				continue
			}
			b, err := os.ReadFile(path.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if text := string(b); strings.Contains(text, `"`+sub) || strings.Contains(text, `"`+strings.ReplaceAll(sub, "_", " ")) {
				return true
			}
		}
	}
	return false
}

// TestAcceptanceDoors: requirements are proved by tests that go through a door, but for a
// number that only falls.
func TestAcceptanceDoors(t *testing.T) {
	doors := doorTests(t)
	var inside []string
	for _, r := range acceptanceRows(t) {
		name, _, _ := strings.Cut(r.Test, "/")
		if r.Test != "" && !throughDoor(t, r.Test, doors[name]) {
			inside = append(inside, r.ID+" "+r.Test)
		}
	}
	if len(inside) != insideRows {
		t.Errorf("%d rows are proved inside, want %d (lower the figure when it falls):\n%s", len(inside), insideRows, strings.Join(inside, "\n"))
	}
}
