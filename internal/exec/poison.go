package exec

import (
	"math"
	"slices"

	"atenia/internal/plan"
)

// Built with -tags invariants, registers and scratch hold NaN before they are written, and
// registers after their last reader has run: an instruction that reads one too early or too
// late, or whose buffer another lives in, is seen in what it computes.

// poisonBits is a NaN that no kernel makes.
const poisonBits = 0x7fc0dead

// poison fills memory of registers.
func poison(buf []float32) {
	if len(buf) == 0 {
		return
	}
	buf[0] = math.Float32frombits(poisonBits)
	for n := 1; n < len(buf); n *= 2 {
		copy(buf[n:], buf[:n])
	}
}

// die is what an instruction is followed by: what it was the last to read is gone.
func (b *bound) die() {
	for _, r := range b.kills {
		poison(r.buf)
	}
}

// mortal gives each instruction the registers that die after it, but for those that an
// output of it was written into.
func mortal(all []bound, c *plan.CompiledPlan, regs []*register) {
	if !invariants {
		return
	}
	for i := range all {
		for r, reg := range regs {
			if len(reg.buf) == 0 || !c.Live.Kills(i, plan.RegisterRef(r)) {
				continue
			}
			if !slices.ContainsFunc(all[i].out, func(o *register) bool { return len(o.buf) > 0 && &o.buf[0] == &reg.buf[0] }) {
				all[i].kills = append(all[i].kills, reg)
			}
		}
	}
}
