package exec

import (
	"errors"
	"testing"

	"atenia/internal/plan"
)

func emptyProgram(n int, k Kernel) []bound {
	ins := &plan.Instruction{Op: plan.OpNorm}
	p := make([]bound, n)
	for i := range p {
		p[i] = bound{run: k, ins: ins}
	}
	return p
}

func TestExecuteStopsAtError(t *testing.T) {
	calls := 0
	bad := errors.New("bad")
	p := emptyProgram(5, func(*Step) error {
		if calls++; calls == 3 {
			return bad
		}
		return nil
	})
	err := execute(p, &Step{})
	if se, ok := errors.AsType[*stepError](err); !ok || se.Index != 2 || !errors.Is(err, bad) || calls != 3 {
		t.Fatalf("%v after %d calls", err, calls)
	}
}

// BenchmarkDispatch is the cost of the loop itself, without and with counters.
func BenchmarkDispatch(b *testing.B) {
	for name, s := range map[string]*Step{"counters-off": {}, "counters-on": {Counters: &Counters{}}} {
		b.Run(name, func(b *testing.B) {
			p := emptyProgram(400, func(*Step) error { return nil })
			for b.Loop() {
				if err := execute(p, s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/400, "ns/instruction")
		})
	}
}
