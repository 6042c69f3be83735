package compile

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/plan"
)

var update = flag.Bool("update", false, "rewrite testdata from the golden cases")

// TestStructure compiles the configurations under testdata/structure, without
// tensors, and compares the normalized configuration and both plans with those in
// the file. A file has sections "-- name --": config.json is the input.
func TestStructure(t *testing.T) {
	if *update {
		collectStructure(t)
	}
	files, err := filepath.Glob("testdata/structure/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			input, _, ok := strings.Cut(strings.TrimPrefix(string(want), "-- config.json --\n"), "-- config --\n")
			if !ok {
				t.Fatal("no section config")
			}
			got := structure(t, []byte(input))
			if *update {
				if err := os.WriteFile(path, got, 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if line, a, b := firstDifference(string(want), string(got)); line > 0 {
				t.Errorf("%s:%d:\nwant %s\ngot  %s\n(-update rewrites; review the difference)", path, line, a, b)
			}
		})
	}
}

// collectStructure writes a file for every golden case that compiles.
func collectStructure(t *testing.T) {
	root := golden.Family(t, "parity")
	for _, name := range golden.Dirs(t, root) {
		d := open(t, filepath.Join(root, name))
		if d.Packed != "" { // its configuration alone is not one of these: the packing is
			continue
		}
		if _, err := Compile(d, Options{}); err != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join("testdata/structure", name+".txt"), structure(t, d.Config), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func structure(t *testing.T, config []byte) []byte {
	t.Helper()
	m, err := Compile(&file.Description{Format: file.HuggingFace, Config: config}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "-- config.json --\n%s\n", bytes.TrimSpace(config))
	c := m.Config
	c.Layers = nil
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "-- config --\n%s\n", text)
	for i, l := range m.Config.Layers {
		fmt.Fprintf(&b, "layer %d: %+v\n", i, l)
	}
	for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
		if m.Plans.ByMode(mode) == nil { // an encoder does not decode
			continue
		}
		fmt.Fprintf(&b, "-- %s --\n", mode)
		if err := plan.Print(&b, m.Plans.ByMode(mode), plan.PrintOptions{Fold: true}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func firstDifference(a, b string) (line int, x, y string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		x, y := "(end)", "(end)"
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		if x != y {
			return i + 1, x, y
		}
	}
	return 0, "", ""
}

// TestStructureCoversFamilies checks that every family has a file.
func TestStructureCoversFamilies(t *testing.T) {
	var have []string
	files, _ := filepath.Glob("testdata/structure/*.txt")
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if bytes.Contains(b, []byte(fmt.Sprintf("\"Family\": %q", f.ID))) {
				have = append(have, f.ID)
			}
		}
	}
	for _, f := range families {
		if !slices.Contains(have, f.ID) {
			t.Errorf("no file for family %s", f.ID)
		}
	}
}
