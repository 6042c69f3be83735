package place

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"atenia/internal/spelling"
)

// Matches reports whether a name of the tensor matches: its own, or one that it
// has in the files of the model.
func (t *Tensor) Matches(re *regexp.Regexp) bool {
	return re.MatchString(t.Name) || slices.ContainsFunc(t.Sources, re.MatchString)
}

// InFiles returns what the tensor is called in the files of the model, "" if
// that is its name.
func (t *Tensor) InFiles() string {
	switch n := len(t.Sources); {
	case n == 0 || n == 1 && t.Sources[0] == t.Name:
		return ""
	case n > 2:
		return fmt.Sprintf("%s and %d more", t.Sources[0], n-1)
	}
	return strings.Join(t.Sources, ", ")
}

// Called returns the name of the tensor, and that in the files of the model.
func (t *Tensor) Called() string {
	if s := t.InFiles(); s != "" {
		return t.Name + " (" + s + ")"
	}
	return t.Name
}

// mostNear is how many names are suggested.
const mostNear = 3

// noSuchName says that no tensor matches a pattern, and which names are near.
func noSuchName(pattern string, ts []Placed) string {
	const text = "no tensor has such a name"
	if near := nearest(pattern, ts); len(near) > 0 {
		return text + "; near it are " + strings.Join(near, ", ")
	}
	for i := range ts {
		if len(ts[i].Sources) > 0 {
			return text + "; a name is " + ts[i].Called()
		}
	}
	return text
}

// nearest returns the names that differ least from a pattern, read as a name.
func nearest(pattern string, ts []Placed) (near []string) {
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`\^$()[]*+?|`, r) {
			return -1
		}
		return r
	}, pattern))
	type candidate struct {
		name string
		off  int
	}
	var all []candidate
	for i := range ts {
		for _, n := range append([]string{ts[i].Name}, ts[i].Sources...) {
			if off := spelling.Distance(name, strings.ToLower(n)); off <= max(1, len(name)/4) {
				all = append(all, candidate{n, off})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.off, b.off) })
	for _, c := range all {
		if len(near) < mostNear && !slices.Contains(near, c.name) {
			near = append(near, c.name)
		}
	}
	return near
}

// Why explains the tensors whose names match a regular expression: their own, or
// those in the files of the model. If there are none, the error suggests names.
func (p *Placement) Why(pattern string) (out []Decision, err error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	for i := range p.Tensors {
		if p.Tensors[i].Matches(re) {
			out = append(out, p.Decision(i))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q: %s", pattern, noSuchName(pattern, p.Tensors))
	}
	return out, nil
}
