package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/tape"
)

// A supported is a family's line in docs/families.md.
type supported struct {
	types, archs map[string]bool
	cases        []string
	untrained    map[string]bool // why some of its models cannot be trained
	trained      bool
}

// TestSupportTable: docs/families.md is made from the configurations that the
// tests of plans and of parity own (testdata/plans): what compiles, what is
// written as GGUF and read back, what can be trained.
func TestSupportTable(t *testing.T) {
	if err := enterRoot(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/plans/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no plans", err)
	}
	all := map[string]*supported{}
	for _, path := range files {
		var f struct {
			Config json.RawMessage `json:"config.json"`
		}
		golden.JSON(t, path, &f)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), f.Config, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := file.Open(dir, file.HeaderOnly())
		if err != nil {
			t.Fatal(err)
		}
		m, err := compile.Compile(d, compile.Options{})
		if err := errors.Join(err, d.Close()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		s := all[m.Family]
		if s == nil {
			s = &supported{types: map[string]bool{}, archs: map[string]bool{}, untrained: map[string]bool{}}
			all[m.Family] = s
		}
		var c struct {
			Type string `json:"model_type"`
		}
		if err := json.Unmarshal(f.Config, &c); err != nil {
			t.Fatal(err)
		}
		s.types[c.Type] = true
		if x, err := m.GGUF(); err == nil {
			s.archs[x.Arch] = true
		}
		if _, err := os.Stat(filepath.Join("testdata", "golden", "parity", name)); err == nil {
			name = "**" + name + "**"
		}
		s.cases = append(s.cases, name)
		s.train(t, m)
	}
	var b strings.Builder
	b.WriteString(`# Families of models

Made by TestSupportTable (` + "`go test ./internal/lint -run SupportTable -update`" + `) from the cases of the tests; do not edit.

A case is a small random model with logits of transformers. TestGoldenParity compares every row of logits within the case's tolerance: from config.json,
config.v5.json and the GGUF file that quantize writes, as one prompt and in steps. **Bold** cases are in this repository; the others are run from
ATENIA_GOLDEN. Training means gradients of all parameters, compared with finite differences by TestFamilies, and LoRA on all matrices (models of vectors and scores learn from pairs and labels); encoders of images and
sounds stay as they are, and the losses of sequences with these are compared with transformers', too.

| family | model_type | GGUF architecture | cases | training, LoRA |
|---|---|---|---|---|
`)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		s := all[id]
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", id, names(s.types), names(s.archs), strings.Join(s.cases, ", "), s.training())
	}
	golden.Text(t, filepath.Join("docs", "families.md"), b.String(), *update)

	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	count := regexp.MustCompile(`(\| families of models \| )\[\d+\]\([a-z/.]+\)`)
	if !count.Match(readme) {
		t.Fatal("README.md has no count of families")
	}
	golden.Text(t, "README.md", count.ReplaceAllString(string(readme), fmt.Sprintf("${1}[%d](docs/families.md)", len(all))), *update)
}

// train notes whether the model's plan has gradients.
func (s *supported) train(t *testing.T, m *compile.Model) {
	t.Helper()
	params, err := tape.NewParams[float32](m, nil)
	if err == nil {
		_, err = tape.New(m, params)
	}
	if e, ok := errors.AsType[*tape.UntrainedError](err); ok {
		s.untrained[e.Error()] = true
	} else if err != nil {
		s.untrained[strings.TrimSpace(err.Error())] = true
	} else {
		s.trained = true
	}
}

func (s *supported) training() string {
	why := names(s.untrained)
	switch {
	case why == "–":
		return "yes"
	case s.trained:
		return "yes, but: " + why
	}
	return "no: " + why
}

func names(set map[string]bool) string {
	if len(set) == 0 {
		return "–"
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
