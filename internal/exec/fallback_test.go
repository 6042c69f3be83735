package exec

import (
	"errors"
	"testing"
)

// A kernel that fails ends its step: it is not tried again or elsewhere, what
// comes after it does not run, and the next step begins at the beginning.
func TestNoRuntimeFallback(t *testing.T) {
	for name, s := range map[string]*Step{"plain": {}, "counted": {Counters: &Counters{}}} {
		t.Run(name, func(t *testing.T) {
			var ran []int
			var fault error
			var p []bound
			for i := range 4 {
				p = append(p, emptyProgram(1, func(*Step) error {
					ran = append(ran, i)
					if i == 2 {
						return fault
					}
					return nil
				})...)
			}
			fault = errors.New("fault")
			if err := execute(p, s); !errors.Is(err, fault) || len(ran) != 3 || ran[2] != 2 {
				t.Errorf("%v after instructions %v", err, ran)
			}
			ran, fault = nil, nil
			if err := execute(p, s); err != nil || len(ran) != 4 || ran[0] != 0 {
				t.Errorf("the next step: %v after instructions %v", err, ran)
			}
		})
	}
}
