package conform_test

import (
	"context"
	"fmt"

	"atenia/quila/conform"
)

// One row, by its id.
func Example() {
	for _, r := range (conform.Suite{Only: []string{"BLINK-SER"}}).Run(context.Background()) {
		fmt.Println(r.ID, r.State)
	}
	// Output: BLINK-SER pass
}
