package atenia_test

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// walkGo calls f with the path of every Go file of the module, tests included,
// that the go tool would look at: nothing under testdata or in folders whose
// names begin with a dot or an underscore.
func walkGo(f func(file string) error) error {
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
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		return f(file)
	})
}
