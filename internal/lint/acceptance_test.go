package lint

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestAcceptanceTable checks docs/acceptance.json: every row names a test
// function that exists, or says why there is none yet. That the tests, down to
// their subtests, ran and passed is checked by tools/acceptance on the
// output of a whole run.
func TestAcceptanceTable(t *testing.T) {
	b, err := os.ReadFile("docs/acceptance.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows map[string]struct{ Test, Later string }
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	have := testFunctions(t)
	for id, r := range rows {
		name, _, _ := strings.Cut(r.Test, "/")
		switch {
		case (r.Test == "") == (r.Later == ""):
			t.Errorf("%s: give either a test or a reason why there is none yet", id)
		case r.Test != "" && !have[name]:
			t.Errorf("%s: there is no %s", id, name)
		}
	}
}

// testFunctions returns the names of all tests, fuzz targets and benchmarks of
// the module.
func testFunctions(t *testing.T) map[string]bool {
	have := map[string]bool{}
	err := walkGo(func(file string) error {
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				have[fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}
