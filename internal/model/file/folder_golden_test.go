package file

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden"
)

// family is golden.Family, except that it skips while the repository has no
// copy of the family: this package tests itself on files that it writes.
func family(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv(golden.EnvVar) == "" {
		if _, err := os.Stat(filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(name))); err != nil {
			t.Skipf("no copy of %s: %v", name, err)
		}
	}
	return golden.Family(t, name)
}

// Every Hugging Face folder of the parity cases opens with either spelling of
// its configuration and holds exactly the tensors that its list names.
func TestGoldenFolders(t *testing.T) {
	dir := family(t, "parity")
	for _, name := range golden.Dirs(t, dir) {
		t.Run(name, func(t *testing.T) {
			d, err := Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := d.ReadVocabularies(); err != nil {
				t.Fatal(err)
			}
			if len(d.Config) == 0 || len(d.Files["tokenizer.json"]) == 0 {
				t.Error("config or tokenizer is empty")
			}
			const v5 = "config.v5.json"
			if _, err := os.Stat(filepath.Join(dir, name, v5)); err == nil {
				e, err := Open(filepath.Join(dir, name), ConfigName(v5), HeaderOnly())
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				if slices.Equal(d.Config, e.Config) {
					t.Error("the option chose the same configuration")
				}
			}
			if _, err := os.Stat(filepath.Join(dir, name, "tensors.json")); err != nil {
				return // a compact copy may leave the list out
			}
			var want map[string]struct {
				Shape []int
				DType string
				File  string
			}
			golden.JSON(t, filepath.Join(dir, name, "tensors.json"), &want)
			stored := map[string]*Tensor{} // of the files, also those that matrices are made from
			for i := range d.Tensors {
				for _, s := range d.Tensors[i].Stored() {
					stored[s.Name] = s
				}
			}
			if len(stored) != len(want) {
				t.Errorf("%d tensors, want %d", len(stored), len(want))
			}
			for name, w := range want {
				g, ok := stored[name]
				if !ok || !slices.Equal(g.View.Shape, w.Shape) || g.View.DType.String() != w.DType || filepath.Base(g.File) != w.File {
					t.Errorf("%s: got %+v, want %+v", name, g, w)
				}
			}
		})
	}
}
