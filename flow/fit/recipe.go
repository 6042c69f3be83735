package fit

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"atenia/flow/graph"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/internal/toml"
)

// ErrRecipe matches errors of [ParseRecipe].
var ErrRecipe = errors.New("bad recipe of a fit")

// A Recipe is a file that describes a fit: which graph should make which sound of
// which, and what may change. `atenia flow fit` runs it.
//
//	graph  = "equaliser.json"    # relative to the recipe's folder, as all files
//	in     = "dry.wav"           # or { left = "a.wav", right = "b.wav" }: by Input node
//	target = "wet.wav"           # by Probe node
//	loss   = "spectral"          # or mse
//	out    = "fitted.json"       # the graph with what was found
//
//	[[param]]
//	name     = "band*.f0"
//	positive = true
//
// Zero fields have the default that their comment names.
type Recipe struct {
	Graph  string `toml:"graph"`
	In     Files  `toml:"in"`
	Target Files  `toml:"target"`
	Loss   string `toml:"loss"`  // "mse" (the default) or "spectral"
	Sizes  []int  `toml:"sizes"` // frames of the spectra ([DefaultSizes])
	Out    string `toml:"out"`   // "fitted.json"

	Steps  int     `toml:"steps"`  // 200
	Rate   float64 `toml:"rate"`   // of learning, 0.05
	Last   float64 `toml:"last"`   // rate of the last step relative to Rate, 0.01
	Enough float64 `toml:"enough"` // loss at which fitting stops, 0

	Seconds    float64 `toml:"seconds"`    // how much of the files is used, 0 = all
	SampleRate float64 `toml:"samplerate"` // base frames per second, 0 = that of the files
	Block      int     `toml:"block"`      // frames in a block, 64
	// Checkpoint is how many blocks lie between saved states, from which calls are
	// computed again; 0 or -1 = the square root of the number of blocks, 1 = every call
	// is kept.
	Checkpoint int `toml:"checkpoint"`

	// Params are free; none = all numbers that have a gradient.
	Params []RecipeParam `toml:"param"`
}

// A RecipeParam names free parameters.
type RecipeParam struct {
	Name     string  `toml:"name"`     // NODE.PARAMETER, with * and ? as in file names
	Positive bool    `toml:"positive"` // as [Param]
	Scale    float64 `toml:"scale"`    // as [Param]
}

// Files are names of files by node. A recipe may have one name alone, whose node is "":
// the only one.
type Files map[string]string

// UnmarshalTOML takes a name or a table of names.
func (f *Files) UnmarshalTOML(v any) error {
	*f = Files{}
	switch v := v.(type) {
	case string:
		(*f)[""] = v
		return nil
	case map[string]any:
		for node, file := range v {
			name, ok := file.(string)
			if !ok {
				return fmt.Errorf("%s: want the name of a file", spelling.Clip(node, 80))
			}
			(*f)[node] = name
		}
		return nil
	}
	return errors.New("want the name of a file, or names by node")
}

// ReadRecipe reads a recipe's file, which must be a regular one. Errors about its
// content match [ErrRecipe].
func ReadRecipe(name string) (*Recipe, error) {
	b, err := durable.ReadRegular(name, toml.Most)
	if err != nil {
		return nil, err
	}
	r, err := ParseRecipe(b, filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// ParseRecipe reads a recipe, fills in defaults and makes its files relative to dir.
// Errors match [ErrRecipe] and name every fault.
func ParseRecipe(b []byte, dir string) (*Recipe, error) {
	r := &Recipe{}
	unknown, err := toml.Decode(b, r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecipe, err)
	}
	var errs []error
	for i, k := range unknown {
		if i == 10 {
			errs = append(errs, errors.New("and more unknown keys"))
			break
		}
		errs = append(errs, fmt.Errorf("unknown key %s", spelling.Clip(strings.Join(k, "."), 80)))
	}
	if err := errors.Join(append(errs, r.complete()...)...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecipe, err)
	}
	within := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	r.Graph, r.Out = within(r.Graph), within(r.Out)
	for _, f := range []Files{r.In, r.Target} {
		for node, name := range f {
			f[node] = within(name)
		}
	}
	return r, nil
}

// complete fills in defaults and returns the faults.
func (r *Recipe) complete() (errs []error) {
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if r.Loss == "" {
		r.Loss = "mse"
	}
	if r.Out == "" {
		r.Out = "fitted.json"
	}
	if r.Block == 0 {
		r.Block = graph.DefaultBlock
	}
	need(r.Graph != "", "graph: want the file of a graph")
	need(len(r.Target) > 0, "target: want the sound that the graph should make")
	need(r.Loss == "mse" || r.Loss == "spectral", "loss: %q, want mse or spectral", spelling.Clip(r.Loss, 80))
	need(len(r.Sizes) == 0 || r.Loss == "spectral", "sizes: for loss = \"spectral\" alone")
	need(r.Block >= 1, "block: %d, want 1 or more", r.Block)
	need(r.Steps >= 0, "steps: %d, want 1 or more", r.Steps)
	need(r.Checkpoint >= -1, "checkpoint: %d, want -1 or more", r.Checkpoint)
	for _, v := range []struct {
		key string
		x   float64
	}{{"rate", r.Rate}, {"last", r.Last}, {"enough", r.Enough}, {"seconds", r.Seconds}, {"samplerate", r.SampleRate}} {
		need(v.x >= 0 && v.x-v.x == 0, "%s: %g, want a finite number of 0 or more", v.key, v.x)
	}
	for i, p := range r.Params {
		_, err := path.Match(p.Name, "")
		need(p.Name != "" && err == nil, "param %d: name %q, want NODE.PARAMETER", i+1, spelling.Clip(p.Name, 80))
	}
	return errs
}

// Free returns the parameters of a linked graph that the recipe frees, in the order of
// the graph. If several entries name one, the last counts. Errors match [ErrParam].
func (r *Recipe) Free(l *graph.Linked) (free []Param, err error) {
	if len(r.Params) == 0 {
		free = All(l)
	}
	used := make([]bool, len(r.Params))
	for i := range l.Nodes {
		n := &l.Nodes[i]
		for _, s := range n.Spec.Params {
			name := n.Name + "." + s.Name
			k := -1
			for j, p := range r.Params {
				if ok, _ := path.Match(p.Name, name); ok || p.Name == name {
					k, used[j] = j, true
				}
			}
			if k >= 0 {
				free = append(free, Param{Node: n.Name, Name: s.Name, Positive: r.Params[k].Positive, Scale: r.Params[k].Scale})
			}
		}
	}
	if k := slices.Index(used, false); k >= 0 {
		return nil, fmt.Errorf("%w: %s: the graph has no such parameter", ErrParam, r.Params[k].Name)
	}
	if len(free) == 0 {
		return nil, fmt.Errorf("%w: the graph has none", ErrParam)
	}
	return free, nil
}
