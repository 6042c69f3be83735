package lint

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// pathInText finds paths of this repository in the code of a document.
var pathInText = regexp.MustCompile("`(?:\\./)?((?:internal|flow|nested|grad|tensor|cmd|tools|examples|docs|plan|tier)/[A-Za-z0-9_./-]*)[` ]")

// TestPathsInDocuments: what documents call by its path is there.
func TestPathsInDocuments(t *testing.T) {
	found := 0
	err := walk(".md", func(file string) error {
		b, err := readFile(file)
		if err != nil {
			return err
		}
		for _, m := range pathInText.FindAllStringSubmatch(string(b), -1) {
			found++
			path := strings.TrimRight(strings.TrimSuffix(m[1], "/..."), "./")
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s names %s, which is not there", file, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no document names a path")
	}
}
