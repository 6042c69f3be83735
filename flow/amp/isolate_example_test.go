//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"fmt"

	"atenia/flow/amp"
)

// A library runs in a child that is the program itself, with arguments at which
// its main function calls [amp.Serve].
func ExampleStartProcess() {
	p, err := amp.StartProcess("filters.amp.so", amp.ProcessConfig{Command: []string{"/proc/self/exe", "-test.run=^$"}})
	if err != nil { // the tests' program serves at other arguments
		fmt.Println("no node host")
		return
	}
	defer p.Close()
	fmt.Println(p.Status().Ready)
	// Output: no node host
}
