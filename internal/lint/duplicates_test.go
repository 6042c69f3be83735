package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxShared is how many lines one after the other two places may have in
// common. Ten are one idea written twice.
const maxShared = 9

// sharedYet are pairs of files that share more, and why.
var sharedYet = map[[2]string]string{}

// A codeLine is a line that counts for duplicates: not empty, no comment, no
// import and no brace alone.
type codeLine struct {
	text string
	at   int
}

// TestNoDuplicates: no two places of hand-written code share ten lines. Tests
// and generated files (z*) are exempt.
func TestNoDuplicates(t *testing.T) {
	type spot struct {
		file string
		at   int // index of its first line among those of the file
	}
	lines := map[string][]codeLine{}
	seen := map[string]spot{}
	excused := map[[2]string]bool{}
	err := walkGo(func(file string) error {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.Base(file), "z") {
			return nil
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		all := codeLines(string(b))
		lines[file] = all
		for i := 0; i+maxShared < len(all); i++ {
			var window strings.Builder
			for _, l := range all[i : i+maxShared+1] {
				fmt.Fprintln(&window, l.text)
			}
			first, ok := seen[window.String()]
			if !ok || first.file == file && i <= first.at+maxShared {
				seen[window.String()] = spot{file, i}
				continue
			}
			pair := [2]string{first.file, file}
			if sharedYet[pair] != "" {
				excused[pair] = true
				continue
			}
			n := maxShared + 1
			for i+n < len(all) && first.at+n < len(lines[first.file]) && all[i+n].text == lines[first.file][first.at+n].text {
				n++
			}
			t.Errorf("%s:%d has %d lines of %s:%d: write them once", file, all[i].at, n, first.file, lines[first.file][first.at].at)
			i += n - 1
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 {
		t.Fatal("no files found")
	}
	for pair := range sharedYet {
		if !excused[pair] {
			t.Errorf("%s and %s share nothing now: take them out of the table", pair[0], pair[1])
		}
	}
}

// codeLines returns the lines of a file that count.
func codeLines(text string) (all []codeLine) {
	inImport, inComment := false, false
	at := 0
	for line := range strings.Lines(text) {
		at++
		line = strings.TrimSpace(line)
		switch {
		case inComment:
			inComment = !strings.Contains(line, "*/")
		case strings.HasPrefix(line, "/*"):
			inComment = !strings.Contains(line, "*/")
		case inImport:
			inImport = line != ")"
		case line == "import (":
			inImport = true
		case strings.HasPrefix(line, "//"), strings.HasPrefix(line, "import "), strings.Trim(line, "{}(),") == "":
		default:
			all = append(all, codeLine{line, at})
		}
	}
	return all
}
