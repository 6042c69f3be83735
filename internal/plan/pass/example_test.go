package pass_test

import (
	"errors"
	"fmt"
	"strings"

	"atenia/internal/plan"
	"atenia/internal/plan/pass"
)

// A plan with a false annotation is rejected: here r1 is marked dead one
// instruction before its last reader.
func ExampleLoadText() {
	_, err := pass.LoadText(strings.NewReader(`plan mode=prefill instructions=2 registers=4 peak=3 states=0 weights=0
input r0:x[tokens,64]
input r1:a[tokens,64]
0 L0 residual_add r0!,r1! -> r2:y[tokens,64] {scale=1}
1 L0 residual_add r2!,r1 -> r3:z[tokens,64] {scale=1}
output r3
`))
	fmt.Println(err, errors.Is(err, plan.ErrInvalidPlan))
	// Output: instruction 0: invalid plan: 2 registers die, want 1 true
}

// gpu is a backend that runs one slot at a time.
type gpu struct{}

func (gpu) Name() string { return "gpu" }
func (gpu) Capability(plan.Opcode) (pass.AdapterCapability, bool) {
	return pass.AdapterCapability{MaxBatch: 1}, true
}

// cpu is one that takes any batch.
type cpu struct{}

func (cpu) Name() string { return "cpu" }
func (cpu) Capability(plan.Opcode) (pass.AdapterCapability, bool) {
	return pass.AdapterCapability{Batch: true}, true
}

// Routing chooses one backend for a whole plan and keeps the reasons.
func ExampleRoute() {
	c, err := pass.LoadText(strings.NewReader(`plan mode=decode instructions=1 registers=3 peak=3 states=0 weights=0
input r0:x[slots,64]
input r1:a[slots,64]
0 L0 residual_add r0!,r1! -> r2:y[slots,64] {scale=1}
output r2
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := pass.Route(c, 4, gpu{}, cpu{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Backend.Name())
	fmt.Println(r.Rejected[0])
	// Output:
	// cpu
	// gpu: instruction 0: batch size unsupported: residual_add with batch 4, at most 1
}
