package compile

import "slices"

// windowGroups are sets of layers with equal windows. Their caches free positions at
// the same time and can share pages. Layers without a window come first.
type windowGroups struct {
	Windows []int // of each group; 0 = all
	Layers  []int // number of layers in each group
	Of      []int // layer → group
	Ordinal []int // layer → position in its group
}

// sortWindows groups the windows of layers.
func sortWindows(windows []int) windowGroups {
	var g windowGroups
	for _, w := range windows {
		if !slices.Contains(g.Windows, w) {
			g.Windows = append(g.Windows, w)
		}
	}
	if i := slices.Index(g.Windows, 0); i > 0 {
		g.Windows = slices.Insert(slices.Delete(g.Windows, i, i+1), 0, 0)
	}
	g.Layers = make([]int, len(g.Windows))
	for _, w := range windows {
		i := slices.Index(g.Windows, w)
		g.Of = append(g.Of, i)
		g.Ordinal = append(g.Ordinal, g.Layers[i])
		g.Layers[i]++
	}
	return g
}
