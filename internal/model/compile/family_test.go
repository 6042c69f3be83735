package compile

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/plan"
)

// parallel is a family that is not published: attention and feed-forward
// layer read the same norm and are added together.
var parallel = Family{
	ID: "parallel-test", ModelTypes: []string{"parallel_test"}, Arch: "parallel-test", ReadsArch: true,
	Defaults: Defaults{NormEps: 1e-5, Theta: 1e4, Act: "silu", QKVBias: Absent, OutBias: Absent, FFNBias: Absent},
	Prologue: embedText,
	Mixers: map[string]plan.Program{mixAttention: {
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm"}, Tag: "attn_norm"},
		{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: attentionWeights, Tag: "attn"},
		{Op: plan.OpFFN, Out: "f", In: []string{"n"}, W: ffnWeights, Tag: "ffn"},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}, Tag: "attn_add"},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "f"}, Tag: "ffn_add"},
	}},
	FFNs:     map[string]plan.Program{ffnDense: nil},
	Epilogue: headText,
	Weights:  llamaWeights,
}

// TestOnboardingModelsOnly adds a family by a literal alone, from a
// configuration to plans and back through a GGUF header.
func TestOnboardingModelsOnly(t *testing.T) {
	reg := index(append([]*Family{&parallel}, families...))
	m, err := reg.compile(&file.Description{Format: file.HuggingFace, Config: []byte(`{"model_type": "parallel_test", ` + small + `}`)}, Options{NoFuse: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Plans.Decode.Plan.Instructions); n != 1+4*5+2 {
		t.Errorf("%d instructions in\n%s", n, m.Plans.Decode)
	}
	if _, ok := m.Weights["blk.0.ffn_norm"]; ok {
		t.Error("a weight that no program names was bound")
	}
	if x, err := m.GGUF(); err != nil || x.Arch != "parallel-test" {
		t.Errorf("export: %v", err)
	}
	if _, err := fromJSON(`{"model_type": "parallel_test"}`); err == nil {
		t.Error("the family leaked into the published registry")
	}
}

// TestFamiliesAreWhole: every family defines the names in its programs, and every
// architecture that is written can be read.
func TestFamiliesAreWhole(t *testing.T) {
	for _, f := range families {
		c := &Config{Family: f.ID, Source: HuggingFace, QKVBias: Present, OutBias: Present, FFNBias: Present, QKNorm: true}
		for mixer := range f.Mixers {
			for ffn := range f.FFNs {
				c.Layers = append(c.Layers, Layer{Mixer: mixer, FFN: ffn})
			}
		}
		b := &binder{c: c, fam: f}
		ids, err := b.ids()
		if err != nil {
			t.Errorf("%s: %v", f.ID, err)
		}
		for _, id := range ids {
			for _, o := range append(id.spec.HF, id.spec.GGUF...) {
				for _, expr := range []string{id.spec.Shape, o.Of} {
					if expr == "" {
						continue
					}
					if _, err := c.shape(expr); err != nil {
						t.Errorf("%s: weight %s: %v", f.ID, id.spec.ID, err)
					}
				}
			}
		}
		if r := published.archs[f.Arch]; r == nil {
			t.Errorf("%s: nothing reads architecture %s", f.ID, f.Arch)
		} else if r.Reorders != f.Reorders {
			t.Errorf("%s and %s disagree about rows of q and k", f.ID, r.ID)
		}
		if _, ok := actAliases[f.Defaults.Act]; !ok {
			t.Errorf("%s: activation %q", f.ID, f.Defaults.Act)
		}
	}
}

// otherMeanings are names that opcodes, mathematics or the language use too.
var otherMeanings = map[string]bool{"mamba": true, "mamba2": true, "clip": true, "phi": true}

// TestNoFamilyBelowCompile reads every identifier and string of the packages
// that run plans and finds no model family in them.
func TestNoFamilyBelowCompile(t *testing.T) {
	names := map[string]bool{}
	add := func(n string) {
		if n = strings.ToLower(n); !otherMeanings[n] {
			names[n] = true
		}
	}
	for _, f := range families {
		add(f.ID)
		add(f.Arch)
		for _, m := range f.ModelTypes {
			add(m)
		}
	}
	for n := range knownModelTypes {
		add(n)
	}
	for n := range knownArchs {
		add(n)
	}
	root := golden.Root(t)
	files := 0
	for _, dir := range []string{"plan", "internal/exec", "internal/kernel"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, hit := range familyNames(src, names) {
				t.Errorf("%s: %s", path, hit)
			}
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if files == 0 {
		t.Fatal("no files read")
	}
	if len(familyNames([]byte(`package p; var gemmaScale = "is qwen2"`), names)) != 2 {
		t.Error("the search finds nothing")
	}
}

// familyNames returns the identifiers and strings that hold a name as a word.
func familyNames(src []byte, names map[string]bool) (hits []string) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, nil, 0)
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return hits
		case token.IDENT, token.STRING:
			for _, word := range words(lit) {
				if names[word] {
					hits = append(hits, lit)
				}
			}
		}
	}
}

// words splits at characters other than letters and digits, and at capitals:
// "gemmaScale" has "gemma" and "scale".
func words(s string) (out []string) {
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			out = append(out, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	lower := false
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && lower:
			flush()
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	flush()
	return out
}
