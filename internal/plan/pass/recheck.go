package pass

import (
	"math/bits"

	"atenia/internal/plan"
)

// recheck establishes liveness a second time, by counting uses instead of
// looking for the last one, and compares. It shares no code with the liveness
// step, and a plan read from a file goes through it in that step's place.
func recheck(s *state) error { return recheckPlan(&s.c) }

// recheckPlan verifies the LastRead, KillAfter and PeakRegisters of a compiled
// plan. The plan inside must have passed [validatePlan]. Errors match
// [plan.ErrInvalidPlan].
func recheckPlan(c *plan.CompiledPlan) error {
	p := &c.Plan
	words := (len(p.Registers) + 63) / 64
	if len(c.Live.LastRead) != len(p.Registers) || len(c.Live.KillAfter) != len(p.Instructions) {
		return invalid(plan.Whole, "liveness of %d registers and %d instructions, want %d and %d",
			len(c.Live.LastRead), len(c.Live.KillAfter), len(p.Registers), len(p.Instructions))
	}
	k := checker{c: c, uses: make([]int, len(p.Registers)), alive: make([]bool, len(p.Registers))}
	for i := range p.Instructions {
		if n := len(c.Live.KillAfter[i]); n != words {
			return invalid(i, "kill set of %d words, want %d", n, words)
		}
		for _, r := range p.Instructions[i].In {
			k.uses[r]++
		}
	}
	for _, r := range p.Outputs {
		k.uses[r]++ // the caller's read, which never comes before the end
	}
	for _, r := range p.Inputs {
		k.birth(r)
	}
	for i := range p.Instructions {
		if err := k.step(i); err != nil {
			return err
		}
	}
	if k.most != int(c.PeakRegisters) {
		return invalid(plan.Whole, "peak of %d registers, want %d", c.PeakRegisters, k.most)
	}
	return k.lastReads()
}

// checker replays a plan with nothing but a count of the uses still to come.
type checker struct {
	c           *plan.CompiledPlan
	uses        []int // register → reads still to come
	alive       []bool
	count, most int
}

func (k *checker) birth(r plan.RegisterRef) {
	k.alive[r] = true
	k.count++
	k.most = max(k.most, k.count)
}

func (k *checker) step(i int) error {
	in := &k.c.Plan.Instructions[i]
	for _, r := range in.In {
		if !k.alive[r] {
			return invalid(i, "r%d is read after it died", r)
		}
		k.uses[r]--
	}
	for _, r := range in.Out {
		k.birth(r)
	}
	// Every register this instruction touched for the last time dies now.
	due := 0
	for _, rs := range [][]plan.RegisterRef{in.In, in.Out} {
		for _, r := range rs {
			if k.alive[r] && k.uses[r] == 0 {
				if !k.c.Live.Kills(i, r) {
					return invalid(i, "r%d has no use left and lives on", r)
				}
				k.alive[r] = false
				k.count--
				due++
			}
		}
	}
	killed := 0
	for _, w := range k.c.Live.KillAfter[i] {
		killed += bits.OnesCount64(w)
	}
	if killed != due {
		return invalid(i, "%d registers die, want %d", killed, due)
	}
	return nil
}

// lastReads walks backwards: the first read met is the last one.
func (k *checker) lastReads() error {
	p := &k.c.Plan
	seen := make([]bool, len(p.Registers))
	for i := len(p.Instructions) - 1; i >= 0; i-- {
		for _, r := range p.Instructions[i].In {
			if !seen[r] && k.c.Live.LastRead[r] != uint32(i) {
				return invalid(i, "last read of r%d is given as %d", r, int32(k.c.Live.LastRead[r]))
			}
			seen[r] = true
		}
	}
	for r, read := range seen {
		if !read && k.c.Live.LastRead[r] != plan.NeverRead {
			return invalid(plan.Whole, "r%d is never read and has a last read", r)
		}
	}
	return nil
}
