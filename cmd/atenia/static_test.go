//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden/await"
)

// TestStaticSources: with -tags static no package asks the system for a library, as one of
// the others does without it. [TestStatic] looks at the binary, which takes a whole build.
func TestStaticSources(t *testing.T) {
	for _, c := range []struct {
		tags    string
		dynamic bool
	}{{"static", false}, {"", true}} {
		var from []string
		for _, dir := range strings.Split(strings.TrimSpace(goTool(t, "list", "-deps", "-tags", c.tags,
			"-f", `{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, ".")), "\n") {
			if dir == "" {
				continue
			}
			b, err := os.ReadFile(dir)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte("\n//go:cgo_import_dynamic ")) {
				from = append(from, dir)
			}
		}
		if len(from) > 0 != c.dynamic {
			t.Errorf("tags %q: files that import libraries: %v", c.tags, from)
		}
	}
}

// goTool runs the go command on what is built without C.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var errs strings.Builder
	cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v: %s", args, err, errs.String())
	}
	return string(out)
}

// TestStatic: with -tags static nothing of the system is linked, not even libc,
// and the binary runs in an empty root. Without the tag libraries can be
// loaded, which needs an interpreter. Each takes a build of everything, so it is
// for the long run.
func TestStatic(t *testing.T) {
	if !await.Long() {
		t.Skip("it builds everything twice")
	}
	for _, c := range []struct {
		tags    string
		dynamic bool
	}{{"static", false}, {"", true}} {
		bin := filepath.Join(t.TempDir(), "atenia")
		goTool(t, "build", "-tags", c.tags, "-o", bin, ".")
		f, err := elf.Open(bin)
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := f.ImportedLibraries()
		if err != nil {
			t.Fatal(err)
		}
		interpreter := false
		for _, p := range f.Progs {
			interpreter = interpreter || p.Type == elf.PT_INTERP
		}
		f.Close()
		if interpreter != c.dynamic || len(libraries) > 0 != c.dynamic {
			t.Errorf("tags %q: interpreter %v, libraries %v", c.tags, interpreter, libraries)
		}
		for _, l := range libraries {
			if !strings.HasPrefix(l, "libc.so") && !strings.HasPrefix(l, "libdl.so") && !strings.HasPrefix(l, "libpthread.so") {
				t.Errorf("tags %q: it needs %s", c.tags, l)
			}
		}
	}
}
