package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What documents, comments and messages name is there: a reader who follows a
// word and finds nothing stops believing the others.

var (
	linkInText  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeInText  = regexp.MustCompile("`[^`\n]*`")
	heading     = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks: every relative link of a document leads to a file, and what stands
// behind "#" to one of its headings.
func TestLinks(t *testing.T) {
	checkDocuments(t, func(file, text string) (found int) {
		for _, m := range linkInText.FindAllStringSubmatch(codeInText.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], ":") { // of the web
				continue
			}
			found++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s links to %s, which has no such heading", file, m[1])
			}
		}
		return found
	})
}

// anchors are the names by which web pages of a document call its headings.
func anchors(t *testing.T, file string) map[string]bool {
	b, err := readFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(string(b), -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

var publicCount = regexp.MustCompile(`(?i)\bpublic\b[^.\n]*?\b(\d+) packages\b|\b(\d+) (?:public packages|packages are public)\b`)

// TestPackagesCounted: where a document counts the public packages, it counts
// those there are.
func TestPackagesCounted(t *testing.T) {
	checkDocuments(t, func(file, text string) (found int) {
		for _, m := range publicCount.FindAllStringSubmatch(text, -1) {
			found++
			if n := m[1] + m[2]; n != strconv.Itoa(len(public)) {
				t.Errorf("%s counts %s public packages; there are %d", file, n, len(public))
			}
		}
		return found
	})
}

// checkDocuments calls f with every document; it returns how much it found.
func checkDocuments(t *testing.T, f func(file, text string) int) {
	t.Helper()
	found := 0
	if err := walk(".md", func(file string) error {
		b, err := readFile(file)
		found += f(file, string(b))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("nothing was found to check")
	}
}

var goFile = regexp.MustCompile(`[\w./*-]*[\w*]\.go\b`)

// TestFilesInComments: a Go file that a comment names lies in the folder of the
// comment, or where its path says.
func TestFilesInComments(t *testing.T) {
	found := 0
	eachFile(t, func(file string, f *ast.File, at func(token.Pos) token.Position) {
		if strings.HasPrefix(filepath.Base(file), "z") {
			return
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:") {
					continue
				}
				for _, name := range goFile.FindAllString(c.Text, -1) {
					if strings.HasPrefix(name, "_") || strings.Contains(name, "//") { // an ending, a web page
						continue
					}
					found++
					here, _ := filepath.Glob(filepath.Join(filepath.Dir(file), name))
					there, _ := filepath.Glob(name)
					if len(here)+len(there) == 0 {
						t.Errorf("%s names %s, which is not there", at(c.Pos()), name)
					}
				}
			}
		}
	})
	if found == 0 {
		t.Error("no comment names a file")
	}
}

// foreignFlags are of other programs, which documents and messages name.
var foreignFlags = map[string]string{
	"bigendian": "llama.cpp's converter", "outtype": "llama.cpp's converter", "sentence-transformers-dense-modules": "llama.cpp's converter",
	"chat-template": "llama-server", "no-warmup": "llama-bench", "n-depth": "llama-bench", "kl-divergence": "llama-perplexity",
	"no-binary": "pip", "no-deps": "pip", "help": "cobra", "version": "cobra",
	"compact": "tools/goldencases", "perturb": "tools/goldencases",
}

var flagInText = regexp.MustCompile(`(?:^|[^\w-])--([a-z][a-z0-9-]+)`)

// TestFlagsInWords: a --flag that a document or a message of the product names
// is one of the command line's.
func TestFlagsInWords(t *testing.T) {
	known, used := map[string]bool{}, map[string]bool{}
	type mention struct{ where, flag string }
	var named []mention
	eachFile(t, func(file string, f *ast.File, at func(token.Pos) token.Position) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "tools") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name := registered(n); name != "" && strings.HasPrefix(file, "internal/cli") {
					known[name] = true
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					for _, m := range flagInText.FindAllStringSubmatch(n.Value, -1) {
						named = append(named, mention{at(n.Pos()).String(), m[1]})
					}
				}
			}
			return true
		})
	})
	checkDocuments(t, func(file, text string) int {
		for i, line := range strings.Split(text, "\n") {
			for _, m := range flagInText.FindAllStringSubmatch(line, -1) {
				named = append(named, mention{fmt.Sprintf("%s:%d", file, i+1), m[1]})
			}
		}
		return len(named)
	})
	for _, m := range named {
		if foreignFlags[m.flag] != "" {
			used[m.flag] = true
		} else if !known[m.flag] {
			t.Errorf("%s names --%s, which no command has", m.where, m.flag)
		}
	}
	for flag := range foreignFlags {
		if !used[flag] {
			t.Errorf("foreignFlags has --%s, which nothing names", flag)
		}
	}
}

// registered is the name of the flag that a call adds to a command, or "".
func registered(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !flagMaker.MatchString(sel.Sel.Name) {
		return ""
	}
	for _, arg := range call.Args[:min(2, len(call.Args))] {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name, _ := strconv.Unquote(lit.Value)
			return name
		}
	}
	return ""
}

var flagMaker = regexp.MustCompile(`^(?:Bool|String|StringArray|StringSlice|Int|Int64|Uint|Uint64|Float64|Float32|IntSlice|Float64Slice|Duration|Count|Func|BoolFunc)?(?:Var)?P?F?$`)

// eachFile parses every Go file, with its tests.
func eachFile(t *testing.T, f func(file string, tree *ast.File, at func(token.Pos) token.Position)) {
	t.Helper()
	if err := walkGo(func(file string) error {
		tree, err := parseFile(file)
		if err == nil {
			f(filepath.ToSlash(file), tree, positions.Position)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
