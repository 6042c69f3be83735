package conform

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// A Suite says which rows run, and how.
type Suite struct {
	Only []string // ids, or their beginnings; all if empty
	Slow bool     // also rows that take minutes
	// Log receives lines of progress; nil discards them.
	Log func(format string, args ...any)
	// Each is called with every result as soon as it is there.
	Each func(Result)
}

// Run runs the rows one after another, in the order of the specification. A row
// that is slow is skipped unless Slow is set or Only names it.
func (s Suite) Run(ctx context.Context) []Result {
	var out []Result
	for _, r := range rows() {
		named := slices.ContainsFunc(s.Only, func(id string) bool { return strings.HasPrefix(r.ID, id) })
		if len(s.Only) > 0 && !named {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		res := Result{ID: r.ID, Section: r.Section, What: r.What, State: Skipped, Figure: "takes minutes: --slow"}
		if !r.Slow || s.Slow || named {
			res = r.Run(ctx, options{Log: s.Log})
		}
		if s.Each != nil {
			s.Each(res)
		}
		out = append(out, res)
	}
	return out
}

// rows are all rows of the suite, by section.
func rows() []experiment {
	all := slices.Concat(neuronRows(), firingRows(), gridRows(), portRows(), boundaryRows(), storeRows(),
		contextRows(), callRows(), indexRows(), learningRows(), fileRows(), planRows())
	slices.SortStableFunc(all, func(a, b experiment) int { return cmp.Compare(a.Section, b.Section) })
	return joined(all)
}

// joined makes one row of those that check two sides of a requirement, such as
// training and files.
func joined(all []experiment) []experiment {
	var out []experiment
	for _, r := range all {
		i := slices.IndexFunc(out, func(o experiment) bool { return o.ID == r.ID })
		if i < 0 {
			out = append(out, r)
			continue
		}
		first, second := out[i].Check, r.Check
		out[i].What += "; " + r.What
		out[i].Slow = out[i].Slow || r.Slow
		out[i].Check = func(t *report) {
			first(t)
			second(t)
		}
	}
	return out
}
