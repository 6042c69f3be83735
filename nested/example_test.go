package nested_test

import (
	"fmt"

	"atenia/nested"
	"atenia/nested/rule"
)

// A model with two levels is built on a stream of pairs: the second level
// learns every fourth chunk.
func Example() {
	m, err := nested.New[float32](nested.Config{Rule: rule.Delta, Vocab: 8, Width: 16, Heads: 2, Window: 4, Periods: []int{1, 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := m.NewBuilder(nested.BuildConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	chunk := nested.Chunk{IDs: []int32{1, 2, 1, 2, 1, 2}, Targets: []int32{2, 1, 2, 1, 2, 1}}
	first := 0.0
	for range 30 {
		report, err := b.Step([]nested.Chunk{chunk}, 0.5)
		if err != nil {
			fmt.Println(err)
			return
		}
		if report.Step == 0 {
			first = report.Loss
		}
		if report.Step == 29 {
			fmt.Println("learned:", report.Loss < first/4)
		}
	}
	pulse := b.Conductor().Pulse(nested.Build)
	fmt.Println(pulse, "in phase", pulse.Phase())
	// Output:
	// learned: true
	// step 30 build #. in phase build
}
