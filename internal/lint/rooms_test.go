package lint

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An edge is an import of one package of this repository by a file of another;
// a file that imports none has one edge to "".
type edge struct{ file, from, to string }

// importsOfOurs returns the imports of all files but tests, whatever their
// build constraints.
func importsOfOurs(t *testing.T) []edge {
	t.Helper()
	var edges []edge
	err := walkGo(func(file string) error {
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parseFile(file)
		if err != nil {
			return err
		}
		from := filepath.ToSlash(filepath.Dir(file))
		edges = append(edges, edge{file, from, ""})
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if to, ok := moduleDir(imp); ok {
				edges = append(edges, edge{file, from, to})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return edges
}

// matches reports whether a pattern covers a package: its folder, or with
// "/..." the folder and all below.
func matches(pkg, pattern string) bool {
	dir, below := strings.CutSuffix(pattern, "/...")
	return pkg == dir || below && strings.HasPrefix(pkg, dir+"/")
}

// matchesAny reports whether one of the patterns, with spaces between, covers a package.
func matchesAny(pkg, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool { return matches(pkg, p) })
}

// deepest returns the pattern with the most of a package's path among those
// that cover it, or "".
func deepest[V any](pkg string, patterns map[string]V) string {
	best, most := "", -1
	for p := range patterns {
		dir, below := strings.CutSuffix(p, "/...")
		depth := 2 * len(dir)
		if below {
			depth-- // the folder by its own name comes first
		}
		if depth > most && matches(pkg, p) {
			best, most = p, depth
		}
	}
	return best
}

// maxImports is how many packages of ours a package may import. More than that
// is a room that has no one idea, or a face without depth.
const maxImports = 10

// wideRooms import more, and why. The counts may only fall.
var wideRooms = map[string]struct {
	imports int
	why     string
}{
	".":                     {30, "the face: it joins everything"},
	"internal/cli":          {21, "the face: one command each"},
	"internal/bench":        {13, "it measures an engine from all sides: steps, kernels, the ring, the files, images, and a server's clients"},
	"internal/cli/flow":     {11, "the face of flow: one package for each of its formats and executors"},
	"internal/speech":       {11, "an ear joins the model and its steps, the sound's graph, the tokenizer and the states that they share"},
	"quila":                 {13, "the face of the neuron graph: files, calls, training"},
	"quila/conform":         {21, "it checks every room of the neuron graph"},
	"quila/internal/school": {12, "a school joins the network, what it is compared with, its corpus and its stages, and the stores that they fill"},
	"internal/train/fit":    {15, "a job joins the recipe, the data, the plan that inference runs, its tape, its adapters and the loop"},
	"internal/train/data":   {11, "data joins texts, and the encoders that show images and sounds"},
	"internal/engine":       {22, "the inside of the face: it joins the rooms that a model runs in"},
	"tools/mutate-files":    {26, "it calls the reader of every format"},
}

// smallRooms have one importer and fewer than smallRoom lines; each has a
// reason to be a package.
const smallRoom = 300

var smallRooms = map[string]string{
	"internal/model/embedded": "the bytes of the model inside the program, which its generator writes, and nothing else",
	"internal/golden":         "support of tests, which are its importers",
}

// TestRooms: a package imports few others of ours, and a small one with a
// single importer has a reason.
func TestRooms(t *testing.T) {
	imports, importers := map[string]map[string]bool{}, map[string]map[string]bool{}
	lines := map[string]int{}
	note := func(m map[string]map[string]bool, key, value string) {
		if m[key] == nil {
			m[key] = map[string]bool{}
		}
		m[key][value] = true
	}
	for _, e := range importsOfOurs(t) {
		if e.to != "" {
			note(imports, e.from, e.to)
			note(importers, e.to, e.from)
		} else if !strings.HasPrefix(filepath.Base(e.file), "z") {
			n, err := countLines(e.file)
			if err != nil {
				t.Fatal(err)
			}
			lines[e.from] += n
		}
	}
	if len(imports) == 0 {
		t.Fatal("no packages found")
	}
	for dir := range lines {
		n, wide := len(imports[dir]), wideRooms[dir]
		switch {
		case n > max(maxImports, wide.imports) && !strings.HasPrefix(dir, "cmd/"):
			t.Errorf("%s imports %d packages of ours, at most %d", dir, n, max(maxImports, wide.imports))
		case wide.imports > 0 && n < wide.imports:
			t.Errorf("%s imports %d packages of ours: say so in wideRooms, or take it out", dir, n)
		}
		small, why := len(importers[dir]) == 1 && lines[dir] < smallRoom, smallRooms[dir]
		switch {
		case small && why == "":
			t.Errorf("%s has %d lines and one importer, %v: merge the two, or give a reason in smallRooms", dir, lines[dir], slices.Collect(maps.Keys(importers[dir])))
		case !small && why != "":
			t.Errorf("%s has %d lines and %d importers: take it out of smallRooms", dir, lines[dir], len(importers[dir]))
		}
	}
	for dir := range smallRooms {
		if lines[dir] == 0 {
			t.Errorf("there is no %s: take it out of smallRooms", dir)
		}
	}
	for dir := range wideRooms {
		if lines[dir] == 0 {
			t.Errorf("there is no %s: take it out of wideRooms", dir)
		}
	}
}
