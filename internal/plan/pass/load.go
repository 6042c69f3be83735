package pass

import (
	"fmt"
	"io"

	"atenia/internal/plan"
)

// Check proves a compiled plan that came from somewhere else: the structure,
// the states and the liveness it carries. It is what [Compile] establishes, and
// nothing less may reach an executor.
func Check(c *plan.CompiledPlan) error {
	if err := validatePlan(&c.Plan); err != nil {
		return err
	}
	if err := checkDescriptors(c.Plan.States); err != nil {
		return err
	}
	return recheckPlan(c)
}

// LoadText reads a plan text and checks it.
func LoadText(r io.Reader) (*plan.CompiledPlan, error) {
	c, err := plan.ParseText(r)
	if err != nil {
		return nil, err
	}
	if err := Check(c); err != nil {
		return nil, err
	}
	return c, nil
}

// LoadJSON reads the JSON form of a model's plans and checks every plan and
// every handoff between them.
func LoadJSON(data []byte) (*plan.ModelPlans, error) {
	m, err := plan.ParseJSON(data)
	if err != nil {
		return nil, err
	}
	for mode := range plan.NumModes {
		if c := m.ByMode(mode); c != nil {
			if err := Check(c); err != nil {
				return nil, fmt.Errorf("%s plan: %w", mode, err)
			}
		}
	}
	if err := CheckHandoffs(m); err != nil {
		return nil, err
	}
	return m, nil
}
