package pass

import (
	"testing"

	"atenia/internal/plan"
)

func TestRulesCoverEveryOpcode(t *testing.T) {
	for i, s := range plan.Specs {
		if (s == nil) != (rules[i] == nil) {
			t.Errorf("opcode %d: spec %v, rule %t", i, s, rules[i] != nil)
		}
	}
}
