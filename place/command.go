package place

import (
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/spelling"
)

// A RunFlag is a flag of "atenia run", without the dashes.
type RunFlag struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Switch bool   `json:"switch,omitempty"` // it is on, and has no value
	Path   bool   `json:"path,omitempty"`   // the value is that of a file or folder
}

// String returns the flag as it is typed, quoted for a shell.
func (f RunFlag) String() string { return spelling.Flag(f.Name, f.Value, f.Switch) }

// WithRAM returns a budget with another size of RAM.
func WithRAM(budget, ram string) string {
	parts := slices.DeleteFunc(strings.Split(budget, ","), func(s string) bool { return s == "" || strings.HasPrefix(s, "ram=") })
	return strings.Join(append([]string{"ram=" + ram}, parts...), ",")
}

// excluded are the flags that make no sense beside another one that is advised.
var excluded = map[string][]string{
	"budget":    {"no-stream", "no-mmap", "plan"}, // the plan is of another
	"no-mmap":   {"no-stream"},
	"speculate": {"draft"},
}

// command returns the call that runs the model again with the flags that the run had, but
// for those that are changed; one without a value that is no switch is left out.
func (r *LastRun) command(changes ...RunFlag) string { return runCommand(r.Model, r.Flags, changes) }

func runCommand(model string, had, changes []RunFlag) string {
	flags := slices.Clone(had)
	for _, c := range changes {
		set := c.Value != "" || c.Switch
		flags = slices.DeleteFunc(flags, func(f RunFlag) bool { return f.Name == c.Name || set && slices.Contains(excluded[c.Name], f.Name) })
		if set {
			flags = append(flags, c)
		}
	}
	s := "atenia run " + spelling.Shell(model)
	for _, f := range flags {
		s += " " + f.String()
	}
	return s
}

// flag returns the value of a flag of the run, and whether it had it.
func (r *LastRun) flag(name string) (string, bool) {
	for _, f := range r.Flags {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// within returns the flag of a budget of so much RAM, with what else the run's had.
func (r *LastRun) within(ram string) RunFlag {
	had, _ := r.flag("budget")
	return RunFlag{Name: "budget", Value: WithRAM(had, ram)}
}

// Embedded names the model inside the program, which is no path.
const Embedded = "atenia-story"

// SeenFrom lets paths that are relative to the folder of the run lead to the same files from
// another folder.
func (r *LastRun) SeenFrom(folder string) {
	if r.Folder == "" || folder == r.Folder {
		return
	}
	move := func(path *string) {
		if !filepath.IsAbs(*path) {
			*path = filepath.Join(r.Folder, *path)
		}
	}
	if r.Model != Embedded {
		move(&r.Model)
	}
	flags := [][]RunFlag{r.Flags}
	if r.Lesser != nil {
		flags = append(flags, r.Lesser.Flags)
	}
	for i := range r.Fewer {
		flags = append(flags, r.Fewer[i].Flags)
	}
	for _, all := range flags {
		for i := range all {
			if all[i].Path {
				move(&all[i].Value)
			}
		}
	}
}
