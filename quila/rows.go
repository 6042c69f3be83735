package quila

import (
	"cmp"
	"slices"

	"atenia/quila/internal/conform"
	"atenia/quila/internal/conform/boundaries"
	"atenia/quila/internal/conform/calls"
	"atenia/quila/internal/conform/contexts"
	"atenia/quila/internal/conform/files"
	"atenia/quila/internal/conform/firing"
	"atenia/quila/internal/conform/grids"
	"atenia/quila/internal/conform/indexes"
	"atenia/quila/internal/conform/learning"
	"atenia/quila/internal/conform/neurons"
	"atenia/quila/internal/conform/plans"
	"atenia/quila/internal/conform/portrows"
	"atenia/quila/internal/conform/stores"
)

// rows are all rows of the suite, by section.
func rows() []conform.Row {
	all := slices.Concat(neurons.Rows(), firing.Rows(), grids.Rows(), portrows.Rows(), boundaries.Rows(), stores.Rows(),
		contexts.Rows(), calls.Rows(), indexes.Rows(), learning.Rows(), files.Rows(), plans.Rows())
	slices.SortStableFunc(all, func(a, b conform.Row) int { return cmp.Compare(a.Section, b.Section) })
	return joined(all)
}

// joined makes one row of those that check two sides of a requirement, such as
// training and files.
func joined(all []conform.Row) []conform.Row {
	var out []conform.Row
	for _, r := range all {
		i := slices.IndexFunc(out, func(o conform.Row) bool { return o.ID == r.ID })
		if i < 0 {
			out = append(out, r)
			continue
		}
		first, second := out[i].Check, r.Check
		out[i].What += "; " + r.What
		out[i].Slow = out[i].Slow || r.Slow
		out[i].Check = func(t *conform.T) {
			first(t)
			second(t)
		}
	}
	return out
}
