package golden

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// EnvVar names the environment variable that points tests at other cases.
const EnvVar = "ATENIA_GOLDEN"

// Family returns the folder that holds the cases of the named family, for
// example "tokenizers" or "gguf/models". With ATENIA_GOLDEN set, a family
// absent there skips the test. A folder without entries always fails: a test
// over an empty corpus proves nothing.
func Family(t testing.TB, name string) string {
	t.Helper()
	root, chosen := os.Getenv(EnvVar), true
	if root == "" {
		root, chosen = filepath.Join(Root(t), "testdata", "golden"), false
	}
	dir := filepath.Join(root, filepath.FromSlash(name))
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) && chosen {
		t.Skipf("no family %q in %s=%s", name, EnvVar, root)
	}
	if err != nil {
		t.Fatalf("golden family %q: %v", name, err)
	}
	if len(entries) == 0 {
		t.Fatalf("golden family %q: %s is empty", name, dir)
	}
	return dir
}

// Root returns the root of the repository: the nearest parent of the working
// directory that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = up
	}
}

// Dirs returns the names of the folders in dir, sorted, and fails when there
// is none.
func Dirs(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatalf("no cases in %s", dir)
	}
	return names
}

// JSON decodes the file into v or fails the test.
func JSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
