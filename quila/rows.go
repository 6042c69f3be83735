package quila

import (
	"cmp"
	"slices"

	"atenia/quila/internal/conform"
	"atenia/quila/internal/conform/plans"
)

// rows are all rows of the suite, by section.
func rows() []conform.Row {
	all := slices.Concat(plans.Rows())
	slices.SortStableFunc(all, func(a, b conform.Row) int { return cmp.Compare(a.Section, b.Section) })
	return all
}
