package lint

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readersFile is the table of all functions that read bytes from outside.
const readersFile = "docs/readers.json"

// A reading is a row: functions of a package that read one kind of input.
type reading struct {
	Format   string   `json:"format"`
	Package  string   `json:"package"`
	Readers  []string `json:"readers"`
	Limit    string   `json:"limit"`
	Fuzz     []string `json:"fuzz"`     // PACKAGE.FuzzName
	Campaign []string `json:"campaign"` // formats of tools/mutate-files
	Budget   string   `json:"budget"`
	Why      string   `json:"why"` // there is no fuzz target; in own: it is not outside
}

// opensOutside are the calls that bytes come in by. A function that makes one of
// them is a reader.
var opensOutside = map[string]bool{
	"os.Open": true, "os.OpenFile": true, "os.ReadFile": true, "fs.ReadFile": true, "io.ReadAll": true,
	"json.Unmarshal": true, "json.NewDecoder": true, "toml.Decode": true, "bufio.NewScanner": true, "bufio.NewReader": true, "binary.Read": true,
	"unix.Mmap": true, "syscall.Mmap": true, "image.Decode": true, "gif.DecodeAll": true, "zstd.NewReader": true,
	"durable.OpenRegular": true, "durable.ReadRegular": true, "durable.Open": true, "durable.OpenText": true,
}

// readerTable reads the table.
func readerTable(t *testing.T) (rows, own []reading) {
	t.Helper()
	b, err := readFile(readersFile)
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []reading `json:"rows"`
		Own  []reading `json:"own"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) == 0 || len(table.Own) == 0 {
		t.Fatal("no rows")
	}
	return table.Rows, table.Own
}

// outsideReaders returns the functions that read, as PACKAGE NAME, those of
// tests, tools and examples excepted.
func outsideReaders(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := walkGo(func(file string) error {
		dir := path.Dir(file)
		for _, skip := range []string{"tools", "examples", "internal/golden", "internal/golden/await", "internal/lint", "quila/conform"} {
			if dir == skip || strings.HasPrefix(dir, skip+"/") {
				return nil
			}
		}
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parseFile(file)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && readsOutside(fn.Body) {
				out[dir+" "+readerName(fn)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readsOutside(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && opensOutside[x.Name+"."+s.Sel.Name] {
				found = true
			}
		}
		return !found
	})
	return found
}

// readerName is the function's name after that of its receiver's type.
func readerName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if x, ok := typ.(*ast.IndexExpr); ok {
		typ = x.X
	}
	id, _ := typ.(*ast.Ident)
	return id.Name + "." + fn.Name.Name
}

// TestReaders compares docs/readers.json with the code: whatever reads bytes from
// outside is a row with a limit, a fuzz target and a budget, and no row names what
// is not there.
func TestReaders(t *testing.T) {
	code, fuzz, formats := outsideReaders(t), fuzzTargets(t), campaignFormats(t)
	rows, own := readerTable(t)
	listed, fuzzed, tried := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, r := range append(slices.Clone(rows), own...) {
		outside := i < len(rows)
		if outside && (r.Format == "" || r.Limit == "" || r.Budget == "" || len(r.Fuzz) == 0 && r.Why == "") || !outside && r.Why == "" {
			t.Errorf("%s %q: fields are missing", r.Package, r.Format)
		}
		for _, name := range r.Readers {
			key := r.Package + " " + name
			if !code[key] {
				t.Errorf("%s reads nothing", key)
			}
			listed[key] = true
		}
		for _, name := range r.Fuzz {
			if fuzzed[name] = true; !fuzz[name] {
				t.Errorf("%s: there is no %s", r.Format, name)
			}
		}
		for _, name := range r.Campaign {
			if tried[name] = true; !formats[name] {
				t.Errorf("%s: tools/mutate-files has no format %s", r.Format, name)
			}
		}
	}
	for key := range code {
		if !listed[key] {
			t.Errorf("%s reads bytes from outside and is not in %s", key, readersFile)
		}
	}
	for name := range formats {
		if !tried[name] {
			t.Errorf("no row names %s, a format of tools/mutate-files", name)
		}
	}
	parsers := regexp.MustCompile(`\.Fuzz.*(Parse|Read|Load|Open|File|Header|JSON|Restore|Index|Result)`)
	for name := range fuzz {
		if parsers.MatchString(name) && !fuzzed[name] && !strings.HasPrefix(name, "internal/machine/cpu.") && !strings.HasPrefix(name, "grad.") {
			t.Errorf("no row names %s", name)
		}
	}
}

// fuzzTargets returns all of them, as PACKAGE.FuzzName.
func fuzzTargets(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	target := regexp.MustCompile(`(?m)^func (Fuzz\w*)\(`)
	if err := walkGo(func(file string) error {
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		b, err := readFile(file)
		for _, m := range target.FindAllSubmatch(b, -1) {
			out[path.Dir(file)+"."+string(m[1])] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// campaignFormats returns the names in the table of tools/mutate-files.
func campaignFormats(t *testing.T) map[string]bool {
	t.Helper()
	b, err := readFile("tools/mutate-files/formats.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t\{name: "([a-z-]+)", weight`).FindAllSubmatch(b, -1) {
		out[string(m[1])] = true
	}
	if len(out) == 0 {
		t.Fatal("no formats")
	}
	return out
}

// TestSecurity: every promise of SECURITY.md names what proves it, tests that
// exist.
func TestSecurity(t *testing.T) {
	b, err := readFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	have, fuzz := testFunctions(t), fuzzTargets(t)
	for name := range fuzz {
		have[name[strings.LastIndexByte(name, '.')+1:]] = true
	}
	promised := 0
	name := regexp.MustCompile("`((?:Test|Fuzz)\\w+)(?:/[^`]*)?`")
	for line := range strings.Lines(string(b)) {
		proofs := name.FindAllStringSubmatch(line, -1)
		for _, m := range proofs {
			if !have[m[1]] {
				t.Errorf("there is no %s", m[1])
			}
		}
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		if promised++; len(proofs) == 0 {
			t.Errorf("no test proves %q", strings.TrimSpace(line))
		}
	}
	if promised < 10 {
		t.Errorf("%d promises", promised)
	}
}
