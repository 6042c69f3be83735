package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// TestGoldenExplain: explain says of learned tables what the reference implementation of the
// decision core says, and takes the same arguments and files.
func TestGoldenExplain(t *testing.T) {
	dir := golden.Family(t, "hybrid")
	t.Run("cli", func(t *testing.T) { goldenArguments(t, filepath.Join(dir, "cli.json")) })
	t.Run("explain", func(t *testing.T) { goldenSentences(t, filepath.Join(dir, "explain.json")) })
}

func goldenArguments(t *testing.T, path string) {
	var cases []struct {
		ID    string
		Input struct {
			Args     []string
			Learning []byte `json:"learning_file"`
		}
		Expected struct {
			Exit   int
			Stdout *string
			Prefix string `json:"stdout_prefix"`
			Stderr string
		}
	}
	golden.JSON(t, path, &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		file := filepath.Join(t.TempDir(), "learning")
		if c.Input.Learning != nil {
			if err := os.WriteFile(file, c.Input.Learning, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		code, out, errs := runExplain(append(slices.Clone(c.Input.Args), "--learning="+file)...)
		want := c.Expected
		if code != want.Exit || errs != want.Stderr || !strings.HasPrefix(out, want.Prefix) || want.Stdout != nil && out != *want.Stdout {
			t.Errorf("%s: %q: exit %d, %q, %q; want %d, %q…, %q", c.ID, c.Input.Args, code, out, errs, want.Exit, want.Prefix, want.Stderr)
		}
	}
}

// A learnedContext is a context of a table and of what is asked about it.
type learnedContext struct {
	GPU  bool `json:"gpu_available"`
	VRAM int  `json:"vram_band"`
	RAM  int  `json:"ram_band"`
}

// A goldenSentence is what is to be said of a context; nothing is learned about it without.
type goldenSentence struct {
	Explanation json.RawMessage
	Structured  *struct {
		Backend    json.RawMessage `json:"recommended_backend"`
		Confidence json.RawMessage
		Factors    []struct {
			Kind   string
			Weight json.RawMessage
			Parts  []string `json:"description_contains"`
		}
	}
	Narrative *struct{ P1, P2, P3, Narrative *string } // nil: free text
}

func goldenSentences(t *testing.T, path string) {
	var cases []struct {
		ID    string
		Input struct {
			Table []struct {
				learnedContext
				Backend        string
				Count, Success uint32
				Score          int64 `json:"score_sum"`
				Drift          uint32
			}
			Contexts []learnedContext
		}
		Expected struct{ Contexts []goldenSentence }
	}
	golden.JSON(t, path, &cases)
	said := 0
	for _, c := range cases {
		text := "ATENIA_SELFTRAINER_V1\n"
		for _, r := range c.Input.Table {
			text += fmt.Sprintf("gpu_avail=%d;vram_band=%d;ram_band=%d;backend=%s;count=%d;success=%d;score_sum=%d;drift=%d\n",
				map[bool]int{true: 1}[r.GPU], r.VRAM, r.RAM, strings.ToLower(r.Backend), r.Count, r.Success, r.Score, r.Drift)
		}
		file := filepath.Join(t.TempDir(), "learning")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for i, x := range c.Input.Contexts {
			code, out, errs := runExplain("--json", "--learning="+file, fmt.Sprintf("--gpu-available=%v", x.GPU), fmt.Sprintf("--vram-band=%d", x.VRAM), fmt.Sprintf("--ram-band=%d", x.RAM))
			if code != 0 || errs != "" {
				t.Fatalf("%s: exit %d, %s", c.ID, code, errs)
			}
			if c.Expected.Contexts[i].sameAs(t, fmt.Sprint(c.ID, ", context ", i), out) {
				said++
			}
		}
	}
	if said == 0 {
		t.Error("nothing was explained")
	}
}

// sameAs compares what explain --json printed, and reports whether there was something to say.
func (want *goldenSentence) sameAs(t *testing.T, name, out string) bool {
	t.Helper()
	var got struct {
		Learned     bool
		Explanation json.RawMessage
		Structured  struct {
			Backend    json.RawMessage `json:"recommended_backend"`
			Confidence json.RawMessage
			Factors    []struct {
				Kind        string
				Weight      json.RawMessage
				Description string
			}
		}
		Narrative string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	if got.Learned != (want.Narrative != nil) {
		t.Errorf("%s: something was learned: %v", name, got.Learned)
		return got.Learned
	}
	if !got.Learned {
		return false
	}
	if g, w := canonical(t, got.Explanation), canonical(t, want.Explanation); g != w {
		t.Errorf("%s: explanation %s, want %s", name, g, w)
	}
	n, paragraphs := want.Narrative, strings.Split(got.Narrative, "\n\n")
	for k, p := range []*string{n.P1, n.P2, n.P3} {
		if len(paragraphs) != 3 || p != nil && paragraphs[k] != *p && (!strings.HasSuffix(*p, " ") || !strings.HasPrefix(paragraphs[k], *p)) {
			t.Errorf("%s: paragraph %d of %q, want %q", name, k+1, paragraphs, *p)
		}
	}
	if n.Narrative != nil && got.Narrative != *n.Narrative {
		t.Errorf("%s: %q, want %q", name, got.Narrative, *n.Narrative)
	}
	s := want.Structured
	if canonical(t, got.Structured.Backend) != canonical(t, s.Backend) || canonical(t, got.Structured.Confidence) != canonical(t, s.Confidence) || len(got.Structured.Factors) != len(s.Factors) {
		t.Fatalf("%s: %+v, want %+v", name, got.Structured, s)
	}
	for k, f := range s.Factors {
		g := got.Structured.Factors[k]
		if g.Kind != f.Kind || canonical(t, g.Weight) != canonical(t, f.Weight) {
			t.Errorf("%s: factor %s %s, want %s %s", name, g.Kind, g.Weight, f.Kind, f.Weight)
		}
		for _, part := range f.Parts {
			if !strings.Contains(g.Description, part) {
				t.Errorf("%s: %s: %q, want %q in it", name, f.Kind, g.Description, part)
			}
		}
	}
	return true
}

// canonical prints JSON with its numbers as 32-bit floats.
func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if m, ok := v.(map[string]any); ok {
		if c, ok := m["confidence"].(float64); ok {
			m["confidence"] = strconv.FormatFloat(c, 'g', -1, 32)
		}
		return fmt.Sprint(m)
	}
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 32)
	}
	return fmt.Sprint(v)
}
