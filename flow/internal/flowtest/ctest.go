package flowtest

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"atenia/internal/golden"
)

var cache struct {
	sync.Mutex
	dir   string
	built map[string]error
}

// Main runs the tests of a package and removes what they built.
func Main(m *testing.M) int {
	code := m.Run()
	if cache.dir != "" {
		os.RemoveAll(cache.dir)
	}
	return code
}

// Compiler returns the command of the C or, for c++, the C++ compiler.
func Compiler(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatalf("C nodes are tested with %s, which is not here", name)
		}
		t.Skipf("SKIPPED: nodes in C are not tested, there is no %s", name)
	}
	return path
}

// Library builds a node library from a file named relative to the package and
// returns its path. Flags may be definitions.
func Library(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return build(t, source, ".amp.so", append([]string{"-std=c99", "-O1", "-fPIC", "-shared", "-ffp-contract=off"}, flags...))
}

// Plugins builds a file of CLAP plug-ins and returns its path.
func Plugins(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return build(t, source, ".clap", append([]string{"-std=c99", "-O1", "-fPIC", "-shared", "-ffp-contract=off"}, flags...))
}

// Copy copies a library, so that the copy has separate variables.
func Copy(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// Program builds a program in C and returns its path.
func Program(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return build(t, source, "", flags)
}

// Include returns the folder of amp.h.
func Include(t testing.TB) string { return filepath.Join(golden.Root(t), "include") }

func build(t testing.TB, source, suffix string, flags []string) string {
	t.Helper()
	gcc := Compiler(t, "gcc")
	abs, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	fmt.Fprint(h, abs, flags)
	cache.Lock()
	defer cache.Unlock()
	if cache.dir == "" {
		if cache.dir, err = os.MkdirTemp("", "atenia-nodes"); err != nil {
			t.Fatal(err)
		}
		cache.built = map[string]error{}
	}
	base := strings.TrimSuffix(filepath.Base(source), ".c")
	path := filepath.Join(cache.dir, fmt.Sprintf("%s-%x%s", base, h.Sum64(), suffix))
	err, done := cache.built[path]
	if !done {
		args := append([]string{"-Wall", "-Wextra", "-pedantic", "-I", Include(t)}, flags...)
		out, err2 := exec.Command(gcc, append(args, "-o", path, abs)...).CombinedOutput()
		if err = err2; err == nil && len(out) > 0 {
			err = fmt.Errorf("the compiler warns")
		}
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		cache.built[path] = err
	}
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return path
}
