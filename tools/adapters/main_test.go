package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/plan"
)

// The committed file is what the generator writes today.
func TestAdapterTableIsCurrent(t *testing.T) {
	for pkg, constraint := range map[string]string{"exec": "", "record": "Float"} {
		want, err := generate(pkg, constraint, plan.Specs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "..", "internal", pkg, "zadapters.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("internal/%s/zadapters.go is not what plan.Specs generates; run go generate ./internal/%[1]s", pkg)
		}
	}
}

// A backend that forgets an opcode, or swaps two adapters, does not build. The
// type checker of the standard library says so without running the go tool.
func TestMissingAdapterDoesNotBuild(t *testing.T) {
	for _, tc := range []struct {
		dir, want string // want "" = it builds
	}{
		{"complete", ""},
		{"missing", "not enough arguments in call to NewAdapterTable"},
		{"swapped", "cannot use attention"},
	} {
		t.Run(tc.dir, func(t *testing.T) {
			err := check(t, tc.dir)
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// A new opcode in the table breaks the call that was complete.
func TestNewOpcodeDoesNotBuild(t *testing.T) {
	specs := *plan.Specs
	specs[36] = &plan.OpSpec{Op: 36, Name: "new_op"}
	src, err := generate("complete", "", &specs)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkWith(t, "complete", src); err == nil || !strings.Contains(err.Error(), "newOp") && !strings.Contains(err.Error(), "not enough arguments") {
		t.Fatalf("got %v", err)
	}
}

func check(t *testing.T, dir string) error {
	src, err := generate("complete", "", plan.Specs)
	if err != nil {
		t.Fatal(err)
	}
	return checkWith(t, dir, src)
}

// checkWith type-checks the contract every executor declares, a table from
// testdata, and generated source, as one package.
func checkWith(t *testing.T, dir string, generated []byte) error {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	add := func(name string, src any) {
		f, err := parser.ParseFile(fset, name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	add("contract.go", "package complete\ntype Bind struct{}\ntype Step struct{}\ntype Kernel func(*Step) error\ntype Adapter func(*Bind) (Kernel, error)\ntype AdapterTable [256]Adapter\n")
	add("zadapters.go", generated)
	add(filepath.Join("testdata", dir, "table.go"), nil)
	conf := types.Config{}
	_, err := conf.Check("complete", fset, files, nil)
	return err
}

func TestNames(t *testing.T) {
	for in, want := range map[string][2]string{
		"lm_head":                  {"LMHead", "lmHead"},
		"ffn":                      {"FFN", "ffn"},
		"moe":                      {"MoE", "moe"},
		"vision_deepstack_extract": {"VisionDeepstackExtract", "visionDeepstackExtract"},
	} {
		if got := camel(in); got != want[0] || lower(got) != want[1] {
			t.Errorf("%s: %s, %s", in, got, lower(got))
		}
	}
}
