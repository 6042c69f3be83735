package pool

import (
	"testing"

	"atenia/internal/machine/cpu"
)

// TestDelayOutlivesPool: how long workers had no processor is still in the sum of the
// process once they have ended: a run is judged by it when its pool is closed.
func TestDelayOutlivesPool(t *testing.T) {
	if _, known := cpu.Delay(); !known {
		t.Skip("this system does not count delays")
	}
	for range 8 {
		p := New(8)
		p.Do(idle{})
		before, _ := cpu.Delay()
		p.Close()
		if after, _ := cpu.Delay(); after.All < before.All || after.Computing < before.Computing {
			t.Fatalf("threads of the process were delayed for %v, and after workers ended for %v", before, after)
		}
	}
}

// idle is a task that does nothing.
type idle struct{}

func (idle) Run(int, int) {}
