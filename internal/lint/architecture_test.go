package lint

import (
	"fmt"
	"go/doc"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// section returns what stands between two lines of a document: a comment that
// begins a part and one that ends it.
func section(t *testing.T, text, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "<!-- "+name+" -->\n")
	part, _, end := strings.Cut(rest, "<!-- end of "+name+" -->\n")
	if !ok || !end {
		t.Fatalf("ARCHITECTURE.md has no part %q", name)
	}
	return part
}

// synopsis returns the first sentence of a package's essay, without its name.
func synopsis(p *lintPackage) string {
	for _, f := range p.files {
		if f.Doc != nil {
			s := new(doc.Package).Synopsis(f.Doc.Text())
			s = strings.TrimPrefix(s, "Package "+f.Name.Name+" ")
			return strings.TrimSuffix(s, ".")
		}
	}
	return ""
}

// TestArchitectureRooms: ARCHITECTURE.md lists the packages that there are, each
// by the first sentence of its essay. Run with -update to write the list.
func TestArchitectureRooms(t *testing.T) {
	b, err := readFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	m := module(t)
	wings := map[string][]string{}
	for dir, p := range m.pkgs {
		if strings.HasPrefix(dir, "tools/") {
			continue // a module of its own
		}
		if synopsis(p) == "" {
			t.Errorf("%s has no essay", dir)
		}
		wings[wingOf(dir)] = append(wings[wingOf(dir)], dir)
	}
	want := "\n| wing | what its head says | rooms |\n|---|---|---|\n"
	for _, wing := range slices.Sorted(maps.Keys(wings)) {
		var says string
		var rooms []string
		for _, dir := range slices.Sorted(slices.Values(wings[wing])) {
			if dir == wing {
				says = strings.ReplaceAll(synopsis(m.pkgs[dir]), "|", `\|`)
				continue
			}
			rooms = append(rooms, strings.TrimPrefix(dir, wing+"/"))
		}
		if wing == "." {
			wing = "atenia"
		}
		want += fmt.Sprintf("| `%s` | %s | %s |\n", wing, says, strings.Join(rooms, ", "))
	}
	want += "\n"
	got := section(t, string(b), "rooms")
	if got == want {
		return
	}
	if *update {
		text := strings.Replace(string(b), "<!-- rooms -->\n"+got, "<!-- rooms -->\n"+want, 1)
		if err := os.WriteFile("ARCHITECTURE.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("the rooms of ARCHITECTURE.md are not those of the module: go test ./internal/lint -run Architecture -update")
}

// TestArchitectureArrows: every arrow of the drawing of ARCHITECTURE.md is an
// import, "a ──▶ b c" that of b and of c by a.
func TestArchitectureArrows(t *testing.T) {
	b, err := readFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]bool{}
	for _, e := range importsOfOurs(t) {
		imports[e.from+" "+e.to] = true
	}
	name := func(s string) string {
		if s == "atenia" {
			return "."
		}
		return s
	}
	arrows := 0
	for line := range strings.Lines(section(t, string(b), "arrows")) {
		from, to, ok := strings.Cut(line, "──▶")
		if !ok {
			continue
		}
		for _, dst := range strings.Fields(to) {
			arrows++
			if src := strings.TrimSpace(from); !imports[name(src)+" "+name(dst)] {
				t.Errorf("%s does not import %s", src, dst)
			}
		}
	}
	if arrows == 0 {
		t.Error("the drawing has no arrow")
	}
}

// wingOf returns the wing that a package is in: the folder in internal, or at the root.
func wingOf(dir string) string {
	first, rest, below := strings.Cut(dir, "/")
	if first == "internal" && below {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}

// TestArchitectureIsATour: it is read in one sitting.
func TestArchitectureIsATour(t *testing.T) {
	b, err := readFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(b), "\n"); lines > 200 || len(b) > 24<<10 {
		t.Errorf("ARCHITECTURE.md has %d lines and %d bytes, at most 200 and 24 KiB", lines, len(b))
	}
}
