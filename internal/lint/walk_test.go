package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestMain runs the tests in the root of the repository, so that they read and
// report paths relative to it.
func TestMain(m *testing.M) {
	if err := enterRoot(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The trees of all files live until the end, so that the collector would only
	// mark them again and again.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// enterRoot changes to the next folder upwards that has a go.mod. Whatever reads
// files does it again: the go tool, which keeps the results of tests until their
// files change, learns only while tests run in which folder these are.
func enterRoot() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return os.Chdir(dir)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return fmt.Errorf("no go.mod above the tests")
		}
		dir = up
	}
}

// walkGo calls f with the path of every Go file of the repository that the go
// tool would build, tests and the module of the tools included: none under
// testdata or in folders whose names begin with a dot or an underscore.
func walkGo(f func(file string) error) error { return walk(".go", f) }

// walk calls f with the path of every file whose name ends so, in the same
// folders.
func walk(suffix string, f func(file string) error) error {
	if err := enterRoot(); err != nil {
		return err
	}
	return filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.IsDir() {
			if n == "testdata" || n != "." && (n[0] == '.' || n[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, suffix) {
			return nil
		}
		return f(file)
	})
}

// parsed holds the files that tests have parsed: most tests read most of them.
var parsed = map[string]*ast.File{}

// positions are those of all files.
var positions = token.NewFileSet()

// parseFile parses a file with its comments, once for all tests, which must not
// change what it returns. Tests that run in parallel must not call it.
func parseFile(file string) (*ast.File, error) {
	if f := parsed[file]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(positions, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	parsed[file] = f
	return f, nil
}

// readFile reads a file of the repository.
func readFile(name string) ([]byte, error) {
	if err := enterRoot(); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}
