package lint

import (
	"bufio"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The size budget: code is split by noun or by step before it outgrows it.
const (
	maxFileLines     = 600
	maxFunctionLines = 120
)

// sizeExempt are files of any length that are plain tables.
var sizeExempt = map[string]bool{}

// TestSize holds every file and function to the size budget. Generated files
// (z*) and the tables named above are exempt.
func TestSize(t *testing.T) {
	files := 0
	err := walkGo(func(file string) error {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "z") {
			return checkGenerated(t, file)
		}
		if sizeExempt[filepath.ToSlash(file)] {
			return nil
		}
		files++
		n, err := countLines(file)
		if err != nil {
			return err
		}
		if n > maxFileLines {
			t.Errorf("%s has %d lines, at most %d: split it by noun or by step", file, n, maxFileLines)
		}
		return checkFunctions(t, file)
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("no files found")
	}
}

// checkGenerated checks that a file whose name says that it is generated says
// so inside: generators remove and rewrite all of that name.
func checkGenerated(t *testing.T, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	if !strings.HasPrefix(first, "// Code generated ") {
		t.Errorf("%s is named like a generated file but has no header of one", file)
	}
	return nil
}

func countLines(file string) (n int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		n++
	}
	return n, sc.Err()
}

func checkFunctions(t *testing.T, file string) error {
	f, err := parseFile(file)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		if n := positions.Position(fn.End()).Line - positions.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
			t.Errorf("%s: function %s has %d lines, at most %d", file, fn.Name.Name, n, maxFunctionLines)
		}
	}
	return nil
}
