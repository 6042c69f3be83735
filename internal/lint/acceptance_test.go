package lint

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/acceptance.json and docs/families.md")

const acceptanceFile = "docs/acceptance.json"

// An acceptance is a row of docs/acceptance.json: a test that proves a
// requirement, or why there is none yet.
type acceptance struct {
	ID    string `json:"-"`
	Test  string `json:"test,omitempty"`
	Later string `json:"later,omitempty"`
}

// acceptanceRows reads docs/acceptance.json, in its order.
func acceptanceRows(t *testing.T) []acceptance {
	t.Helper()
	b, err := readFile(acceptanceFile)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var rows []acceptance
	for d.More() {
		id, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		r := acceptance{ID: fmt.Sprint(id)}
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	return rows
}

// TestAcceptanceTable checks docs/acceptance.json: every row names an existing
// test function, or the reason why there is none. tools/acceptance checks on
// the output of a whole run that the tests and their subtests passed.
func TestAcceptanceTable(t *testing.T) {
	have := testFunctions(t)
	for _, r := range acceptanceRows(t) {
		name, _, _ := strings.Cut(r.Test, "/")
		switch {
		case (r.Test == "") == (r.Later == ""):
			t.Errorf("%s: give either a test or a reason why there is none yet", r.ID)
		case r.Test != "" && !have[name]:
			t.Errorf("%s: there is no %s", r.ID, name)
		}
	}
}

// TestAcceptanceNames compares docs/acceptance.json with the names of tests: a
// subtest with a requirement's id proves it. Rows of tests with other names,
// and reasons for missing tests, are written by hand. With -update it writes
// the file:
//
//	go test ./internal/lint -run TestAcceptanceNames -update
func TestAcceptanceNames(t *testing.T) {
	rows := acceptanceRows(t)
	named, doors := subtests(t, rows), doorTests(t)
	var text strings.Builder
	text.WriteString("{\n")
	for i, r := range rows {
		tests := named[r.ID]
		switch top, _, _ := strings.Cut(r.Test, "/"); {
		case len(tests) > 0 && !slices.Contains(tests, top) && !throughDoor(t, r.Test, doors[top]): // or one of several, or one at a door, chosen by hand
			r.Test, r.Later = tests[0]+"/"+r.ID, ""
		case len(tests) == 0 && strings.HasSuffix(r.Test, "/"+r.ID):
			t.Errorf("%s: there is no %s: name another test, or say why there is none", r.ID, r.Test)
		}
		var row bytes.Buffer
		e := json.NewEncoder(&row)
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
		line := strings.Replace(strings.TrimSpace(row.String()), `":"`, `": "`, 1)
		comma := ","
		if i == len(rows)-1 {
			comma = ""
		}
		fmt.Fprintf(&text, "  %q: %s%s\n", r.ID, line, comma)
	}
	text.WriteString("}\n")
	if *update {
		if err := os.WriteFile(acceptanceFile, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := readFile(acceptanceFile)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(string(b), "\n"), strings.Split(text.String(), "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s:%d: %s\nthe tests' names say %s\nwrite it with -update", acceptanceFile, i+1, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d lines, want %d", acceptanceFile, len(got), len(want))
	}
}

// subtests returns the test functions, sorted, that have a subtest of the name
// of an id: those in which the id stands as a string, or that use a table in
// which it does.
func subtests(t *testing.T, rows []acceptance) map[string][]string {
	t.Helper()
	ids := map[string]bool{}
	for _, r := range rows {
		ids[r.ID] = true
	}
	found := map[string]map[string]bool{}
	note := func(id, test string) {
		if found[id] == nil {
			found[id] = map[string]bool{}
		}
		found[id][test] = true
	}
	tables := map[string]map[string][]string{} // ids by variable, by folder
	bodies := map[string][]*ast.FuncDecl{}     // tests by folder
	eachTestFile(t, func(dir string, f *ast.File) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") {
					bodies[dir] = append(bodies[dir], d)
					for _, id := range namesIn(d, ids) {
						note(id, d.Name.Name)
					}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && len(v.Names) == 1 {
						if tables[dir] == nil {
							tables[dir] = map[string][]string{}
						}
						tables[dir][v.Names[0].Name] = namesIn(v, ids)
					}
				}
			}
		}
	})
	for dir, tests := range bodies {
		for _, fn := range tests {
			ast.Inspect(fn, func(n ast.Node) bool {
				if x, ok := n.(*ast.Ident); ok {
					for _, id := range tables[dir][x.Name] {
						note(id, fn.Name.Name)
					}
				}
				return true
			})
		}
	}
	for _, id := range conformanceRows(t) {
		if ids[id] {
			note(id, "TestConformance")
		}
	}
	all := map[string][]string{}
	for id, tests := range found {
		all[id] = slices.Sorted(maps.Keys(tests))
	}
	return all
}

// conformanceRows returns the ids of the rows of the conformance suite that
// TestConformance runs as subtests: those that have a check and are not slow.
func conformanceRows(t *testing.T) (ids []string) {
	t.Helper()
	err := walkGo(func(file string) error {
		if !strings.HasPrefix(filepath.ToSlash(file), "quila/conform/") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parseFile(file)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && len(c.Args) > 1 { // row(id, …) where rows have much in common
				fn, ok1 := c.Fun.(*ast.Ident)
				id, ok2 := c.Args[0].(*ast.BasicLit)
				if ok1 && ok2 && fn.Name == "row" {
					if name, err := strconv.Unquote(id.Value); err == nil {
						ids = append(ids, name)
					}
				}
			}
			l, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			fields := map[string]ast.Expr{}
			for _, e := range l.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok {
						fields[key.Name] = kv.Value
					}
				}
			}
			if id, ok := fields["ID"].(*ast.BasicLit); ok && fields["Check"] != nil && fields["Slow"] == nil {
				name, err := strconv.Unquote(id.Value)
				if err == nil {
					ids = append(ids, name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// namesIn returns the ids that stand as strings in a declaration.
func namesIn(node ast.Node, ids map[string]bool) (names []string) {
	ast.Inspect(node, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil && ids[s] {
				names = append(names, s)
			}
		}
		return true
	})
	return names
}

// eachTestFile calls f with every test file and its folder.
func eachTestFile(t *testing.T, f func(dir string, file *ast.File)) {
	t.Helper()
	err := walkGo(func(file string) error {
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parseFile(file)
		if err == nil {
			f(filepath.ToSlash(filepath.Dir(file)), parsed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testFunctions returns the names of all tests, fuzz targets and benchmarks of
// the repository.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	eachTestFile(t, func(_ string, f *ast.File) {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				have[fn.Name.Name] = true
			}
		}
	})
	return have
}
