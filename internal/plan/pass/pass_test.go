package pass

import (
	"fmt"
	"testing"

	"atenia/internal/plan"
)

// build returns a toy plan before any pass.
func build(t testing.TB, name string, mode plan.Mode, layers int) *plan.ExecutionPlan {
	t.Helper()
	p, err := toyPlan(name, mode, layers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compile returns a toy plan after all of them.
func compile(t testing.TB, name string, mode plan.Mode, layers int, opt Options) *plan.CompiledPlan {
	t.Helper()
	c, err := Compile(build(t, name, mode, layers), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eachToy runs f for every model, mode and choice of fusion.
func eachToy(t *testing.T, f func(*testing.T, string, plan.Mode, Options)) {
	for _, name := range toyNames {
		for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
			if mode == plan.ModeDecode && !toyDecodes(name) {
				continue
			}
			for _, noFuse := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/nofuse=%v", name, mode, noFuse), func(t *testing.T) { f(t, name, mode, Options{NoFuse: noFuse}) })
			}
		}
	}
}

// The verifier holds after every step, whichever comes next.
func TestVerifierAfterEveryStep(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		s := &state{opt: opt, c: plan.CompiledPlan{Plan: *build(t, name, mode, 5)}}
		for _, st := range steps {
			if err := st.run(s); err != nil {
				t.Fatalf("%s: %v", st.Name, err)
			}
			if st.Name == "fuse" {
				continue // leaves gaps in the numbering, closed by the step after it
			}
			if err := validatePlan(&s.c.Plan); err != nil {
				t.Fatalf("after %s: %v", st.Name, err)
			}
		}
	})
}
