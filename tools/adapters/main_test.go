package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"atenia/internal/plan"
)

// The committed file is what the generator writes today.
func TestAdapterTableIsCurrent(t *testing.T) {
	want, err := generate("plan", plan.Specs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "internal", "plan", "zadapters.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("internal/plan/zadapters.go is not what plan.Specs generates; run go generate ./internal/plan")
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
		{"swapped", "of bindAttention does not match"},
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
	const free = 63
	if specs[free] != nil {
		t.Fatalf("%s has the number now: take another", specs[free].Name)
	}
	specs[free] = &plan.OpSpec{Op: free, Name: "new_op"}
	src, err := generate("complete", &specs)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkWith(t, "complete", src); err == nil || !strings.Contains(err.Error(), "newOp") && !strings.Contains(err.Error(), "not enough arguments") {
		t.Fatalf("got %v", err)
	}
}

func check(t *testing.T, dir string) error {
	src, err := generate("complete", plan.Specs)
	if err != nil {
		t.Fatal(err)
	}
	return checkWith(t, dir, src)
}

// checkWith type-checks what package plan declares for generated source, that
// source, and a table from testdata, as one package.
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
	add("contract.go", contract())
	add("zadapters.go", generated)
	add(filepath.Join("testdata", dir, "table.go"), nil)
	conf := types.Config{}
	_, err := conf.Check("complete", fset, files, nil)
	return err
}

// contract is the part of package plan that generated source mentions, with
// payloads that are empty.
func contract() string {
	var b strings.Builder
	b.WriteString(`package complete
type Adapter[B, K any] func(B, any) (K, error)
type AdapterTable[B, K any] [256]Adapter[B, K]
func adapter[B, K, P any](func(B, P) (K, error)) Adapter[B, K] { return nil }
func bareAdapter[B, K any](func(B) (K, error)) Adapter[B, K] { return nil }
`)
	seen := map[string]bool{}
	for _, s := range plan.Specs {
		if s == nil || s.Params == nil {
			continue
		}
		if name := reflect.TypeOf(s.Params()).Elem().Name(); !seen[name] {
			seen[name] = true
			b.WriteString("type " + name + " struct{}\n")
		}
	}
	return b.String()
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
