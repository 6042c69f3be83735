package quila_test

import (
	"fmt"

	"atenia/quila"
	"atenia/quila/config"
)

// A plan costs nothing: it is computed from the configuration alone.
func ExampleNewPlan() {
	c, err := config.Profile("13b")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := quila.NewPlan(c, config.Devices{Count: 4, Bytes: 80e9, NVLink: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, u := range p.Deployment.Uses {
		fmt.Printf("%s: %d devices\n", u.Name, u.Needs)
	}
	// Output:
	// inference without the library: 1 devices
	// inference with the library: 4 devices
	// training: 8 devices
}
