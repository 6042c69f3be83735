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
		var functions []string
		m.pkg(t, path.Dir(file)).functions(func(name string, fn *ast.FuncDecl) {
			if path.Base(m.fset.Position(fn.Pos()).Filename) == path.Base(file) {
				functions = append(functions, name)
			}
		})
		if found++; !slices.Contains(functions, w[1]) {
			t.Errorf("CONTRIBUTING.md finds %s in %s, which has %q", w[1], file, functions)
		}
	}
	if found < 5 {
		t.Errorf("CONTRIBUTING.md names %d functions, want those of five questions", found)
	}
	for _, w := range regexp.MustCompile("`([a-z0-9_/]+\\.(?:go|s))`").FindAllStringSubmatch(section, -1) {
		if _, err := os.Stat(w[1]); err != nil {
			t.Error(err)
		}
	}
}
