package lint

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named finds "`Function` in `file`" in CONTRIBUTING.md, where file may be "there".
var named = regexp.MustCompile("`([A-Za-z0-9_.]+)`(?: in `([^`]+\\.go)`| there)")

// functionsOf returns the functions of a file.
func functionsOf(t *testing.T, m *lintModule, file string) (all []string) {
	t.Helper()
	m.pkg(t, path.Dir(file)).functions(func(name string, fn *ast.FuncDecl) {
		if path.Base(m.fset.Position(fn.Pos()).Filename) == path.Base(file) {
			all = append(all, name)
		}
	})
	return all
}

// TestWhereThingsAre: the functions that CONTRIBUTING.md shows a newcomer are
// where it says.
func TestWhereThingsAre(t *testing.T) {
	b, err := readFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## Where things are\n")
	m, file, found := module(t), "", 0
	for _, w := range named.FindAllStringSubmatch(section, -1) {
		if w[2] != "" {
			file = w[2]
		}
		functions := functionsOf(t, m, file)
		if found++; !slices.Contains(functions, w[1]) {
			t.Errorf("CONTRIBUTING.md finds %s in %s, which has %q", w[1], file, functions)
		}
	}
	if questions := strings.Count(section, "\n- "); found < 10 || questions < 10 {
		t.Errorf("CONTRIBUTING.md names %d functions of %d questions, want ten", found, questions)
	}
	for _, w := range regexp.MustCompile("`([a-z0-9_/]+\\.(?:go|s))`").FindAllStringSubmatch(section, -1) {
		if _, err := os.Stat(w[1]); err != nil {
			t.Error(err)
		}
	}
}

// step finds "`Function` in `file`" of a way in ARCHITECTURE.md.
var step = regexp.MustCompile("`([A-Za-z0-9_.]+)` in `([^`]+\\.go)`")

// TestWays: what a weight, a request, a gradient, a frame and a tick go through are functions
// that are where ARCHITECTURE.md says, in nine packages at most, and in none twice.
func TestWays(t *testing.T) {
	b, err := readFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## Five ways, function by function\n")
	section, _, _ = strings.Cut(section, "\n## ")
	m, ways := module(t), 0
	for line := range strings.Lines(section) {
		name, way, ok := strings.Cut(strings.TrimPrefix(line, "- "), ":")
		if !ok || !strings.HasPrefix(line, "- ") {
			continue
		}
		ways++
		var rooms []string
		for _, w := range step.FindAllStringSubmatch(way, -1) {
			dir := path.Dir(w[2])
			if !slices.Contains(functionsOf(t, m, w[2]), w[1]) {
				t.Errorf("%s: there is no %s in %s", name, w[1], w[2])
			}
			if len(rooms) > 0 && rooms[len(rooms)-1] == dir {
				continue
			}
			if slices.Contains(rooms, dir) {
				t.Errorf("%s goes through %s twice", name, dir)
			}
			rooms = append(rooms, dir)
		}
		if len(rooms) < 4 || len(rooms) > 9 {
			t.Errorf("%s goes through %d packages: %v", name, len(rooms), rooms)
		}
	}
	if ways != 5 {
		t.Errorf("ARCHITECTURE.md has %d ways, want those of a weight, a request, a gradient, a frame and a tick", ways)
	}
}
