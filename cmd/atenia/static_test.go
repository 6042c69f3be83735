//go:build linux && (amd64 || arm64)

package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatic: with -tags static nothing of the system is linked, not even libc,
// and the binary runs in an empty root. Without the tag libraries can be
// loaded, which needs an interpreter; only CI checks that binary, because it
// takes another build.
func TestStatic(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	// Reading the file makes the test's cached result depend on it.
	if _, err := os.ReadFile("../../internal/machine/library/load_none.go"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tags    string
		dynamic bool
	}{{"static", false}, {"", true}} {
		if c.dynamic && os.Getenv("ATENIA_CI") == "" {
			continue
		}
		bin := filepath.Join(t.TempDir(), "atenia")
		cmd := exec.Command("go", "build", "-tags", c.tags, "-o", bin, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
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
