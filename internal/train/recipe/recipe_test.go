package recipe

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/internal/spelling"
)

const least = "[data]\nfiles = [\"a.txt\"]\n[train]\nsteps = 100\n"

func TestDefaults(t *testing.T) {
	t.Parallel()
	r, err := Parse([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	if r.Model.Hidden != 256 || r.Model.Heads != 4 || r.Model.KVHeads != 4 || r.Model.FFN != 704 || r.Model.Context != 256 || r.Schedule.Floor != 0.1 || *r.Optimizer.Clip != 1 {
		t.Errorf("%+v", r)
	}
	if eval, save := r.Train.Every(); eval != 5 || save != 5 {
		t.Errorf("every %d and %d steps", eval, save)
	}
	if rule := r.Optimizer.Rule(); rule != (grad.AdamW{Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8}) {
		t.Errorf("%+v", rule)
	}
	r.SetSteps(7)
	if r.Train.Steps != 7 {
		t.Error("steps are not set")
	}
	for text, want := range map[string]grad.UpdateRule{
		"kind = \"muon\"\ndecay = 0.1": grad.Muon{Momentum: 0.95, Iterations: 5, Decay: 0.1, Rest: grad.AdamW{Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-8, Decay: 0.1}},
		"kind = \"lion\"":              grad.Lion{Beta1: 0.9, Beta2: 0.99},
		"kind = \"sgd\"\nmomentum = 0": grad.SGD{},
	} {
		r, err := Parse([]byte(least + "[optimizer]\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Optimizer.Rule(); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// Every fault is named, and unknown keys with the nearest known one.
func TestFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[optimizer]\nlearningrate = 1":        "unknown key optimizer.learningrate; the nearest is optimizer.",
		"[optimizer]\nbeta_2 = 1":              "unknown key optimizer.beta_2; the nearest is optimizer.beta2",
		"[optimiser]\nrate = 1":                "unknown key optimiser; the nearest is optimizer",
		"[model]\nwarmup = 3":                  "unknown key model.warmup; the nearest is schedule.warmup",
		"[model]\nhidden = 30\nheads = 4":      "model.hidden is 30, want a multiple of 2 × heads, 8",
		"[model]\nhidden = \"x\"":              "incompatible types",
		"[model\n":                             "line 6",
		"[optimizer]\nkind = \"adam\"":         "want one of adamw, muon, lion, sgd",
		"[schedule]\ncurve = \"cos\"":          "cosine",
		"[tokenizer]\nfile = \"x\"":            "belong together",
		"[optimizer]\nkind=\"sgd\"\noffload=1": "incompatible types",
	} {
		_, err := Parse([]byte(least + text))
		if !errors.Is(err, ErrRecipe) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, err := Parse(nil)
	for _, want := range []string{"data.files", "train.steps"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing: %v does not say %q", err, want)
		}
	}
}

// Every field has a key and help that describes its default.
func TestKeys(t *testing.T) {
	t.Parallel()
	help := Help()
	for _, k := range keys() {
		if k.Help == "" || strings.HasSuffix(k.Name, ".") || !strings.Contains(help, k.Help) {
			t.Errorf("%+v", k)
		}
		if got := nearest(k.Name, names()); got != k.Name {
			t.Errorf("the nearest to %s is %s", k.Name, got)
		}
	}
	if n := reflect.TypeFor[Recipe]().NumField(); strings.Count(help, "\n[") != n {
		t.Errorf("help has not %d tables", n)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(path, []byte(least), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Data.Files[0] != filepath.Join(dir, "a.txt") || r.Train.Out != filepath.Join(dir, "out") || r.Model.From != "" {
		t.Errorf("%+v", r)
	}
	if _, err := Read(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(least))
	f.Add([]byte("[model]\nhiden = 3\n[x.y]\nz = [1, {a = 2}]"))
	for _, text := range hostile {
		f.Add([]byte(least + text[:min(len(text), 1000)]))
	}
	f.Add([]byte("[optimizer]\nclip = nan\nmomentum = inf"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil && !errors.Is(err, ErrRecipe) {
			t.Errorf("%v", err)
		}
		if err == nil {
			r.Optimizer.Rule()
			r.Train.Every()
		}
	})
}

var update = flag.Bool("update", false, "rewrite the keys in docs/training.md")

// The manual has the keys that there are.
func TestManual(t *testing.T) {
	t.Parallel()
	path := filepath.Join(golden.Root(t), "docs", "training.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-update -->\n", "<!-- end of keys -->"
	before, rest, ok1 := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("the manual has no place for keys")
	}
	want := before + begin + "```" + Help() + "```\n" + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if string(b) != want {
		t.Error("docs/training.md has other keys: rerun with -update")
	}
}

// TestFixed: what may change when a run is resumed are settings that there are, and no
// other is left out.
func TestFixed(t *testing.T) {
	const may = "optimizer.rate optimizer.clip schedule.curve schedule.warmup schedule.decay schedule.floor train.steps train.eval_every train.eval_batches train.patience " +
		"train.min_gain train.save_every train.keep train.bad_steps train.threads train.out train.budget train.recompute tokenizer.template lora.merge"
	if names := strings.Fields(may); len(names) != len(free) || slices.ContainsFunc(names, func(s string) bool { return !free[s] }) {
		t.Errorf("%v may change", free)
	}
	fixed, err := (&Recipe{}).Fixed()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys() {
		if _, ok := fixed[k.Name]; ok == free[k.Name] {
			t.Errorf("%s: fixed %t, free %t", k.Name, ok, free[k.Name])
		}
	}
	if len(fixed)+len(free) != len(keys()) {
		t.Errorf("%d settings are fixed and %d free, of %d", len(fixed), len(free), len(keys()))
	}
}

// TestUsed: a default that is written out is the same run as one that is not.
func TestUsed(t *testing.T) {
	fixed := func(text string) map[string]string {
		t.Helper()
		r, err := Parse([]byte(least + text))
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Fixed()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	folder := func() string {
		dir, header := t.TempDir(), `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   `
		weights := string([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}) + header + "x"
		for name, s := range map[string]string{"config.json": "{}", "model.safetensors": weights} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for what, texts := range map[string][2]string{
		"adamw":   {"", "temperature = 0.05\n[optimizer]\nbeta1 = 0.9\nbeta2 = 0.95\nepsilon = 1e-8\nmomentum = 0.95\niterations = 5"},
		"lion":    {"[optimizer]\nkind = 'lion'", "[optimizer]\nkind = 'lion'\nbeta1 = 0.9\nbeta2 = 0.99"},
		"sgd":     {"[optimizer]\nkind = 'sgd'", "[optimizer]\nkind = 'sgd'\nmomentum = 0.9"},
		"offload": {"[optimizer]\noffload = true", "precision = 'bf16'\n[optimizer]\noffload = true"},
		"lora":    {"[model]\nfrom = '" + folder() + "'\n[lora]\nrank = 4", "[model]\nfrom = '" + folder() + "'\nhidden = 32\n[lora]\nrank = 4\nalpha = 8\ntargets = 'all-linear'"},
		"memory":  {"[model]\narchitecture = 'mag'", "[model]\narchitecture = 'mag'\n[memory]\nperiods = [1, 4]\nchunk = 32"},
	} {
		if s := spelling.Changes(fixed(texts[0]), fixed(texts[1])); s != "" {
			t.Errorf("%s: %s", what, s)
		}
	}
	const want = "optimizer.beta2 is 0.5 and was 0.95"
	if s := spelling.Changes(fixed(""), fixed("[optimizer]\nbeta2 = 0.5")); s != want {
		t.Errorf("%q, want %q", s, want)
	}
}
