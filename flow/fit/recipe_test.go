package fit

import "testing"

// FuzzRecipe: no text of a recipe panics.
func FuzzRecipe(f *testing.F) {
	f.Add([]byte("graph = \"a\"\nin = { x = \"b\" }\ntarget = \"c\"\n[[param]]\nname = \"a*.b\"\n"))
	f.Add([]byte("sizes = [1, 2]\nin = [1]\nrate = nan\nsteps = -1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRecipe(b, "dir")
		if err == nil && (r.Graph == "" || len(r.Target) == 0) {
			t.Errorf("%+v", r)
		}
	})
}
