package flow

import (
	"slices"
	"strings"
	"testing"
)

// TestStrandCut: voices side by side stay apart until they are mixed.
func TestStrandCut(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	var tasks []strandTask
	add := func(name string, level, cost int, needs ...int) {
		tasks = append(tasks, strandTask{Run: []func(){func() { order.WriteString(name) }}, Level: level, Cost: cost, Needs: needs})
	}
	add("s", 0, 1)
	add("a", 1, 10, 0)
	add("b", 1, 10, 0)
	add("A", 2, 10, 1)
	add("B", 2, 10, 2)
	add("m", 3, 10, 3, 4)
	var got []string
	for _, s := range cutStrands(tasks, 2, 5) {
		var strands []string
		for i := range s.Strands {
			order.Reset()
			s.Range(0, i, i+1)
			strands = append(strands, order.String())
		}
		got = append(got, strings.Join(strands, "|"))
	}
	if want := []string{"s", "aA|bB", "m"}; !slices.Equal(got, want) {
		t.Errorf("stretches %q, want %q", got, want)
	}
	if cutStrands(tasks, 2, 1000) != nil || cutStrands(tasks, 1, 0) != nil {
		t.Error("threads for what is not worth them")
	}
}
