package recall_test

import (
	"fmt"

	"atenia/nested/recall"
	"atenia/nested/rule"
)

func Example() {
	r, err := recall.Run(recall.Options{Rule: rule.Delta, Seed: 1, Threads: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("nearly always right:", r.Accuracy > 0.95)
	// Output: nearly always right: true
}
