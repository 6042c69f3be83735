package pass

import (
	"fmt"
	"math/bits"
	"slices"

	"atenia/internal/plan"
)

// liveness finds the last reader of every register. Registers are written once,
// so one fact per register is enough; the register dies after that instruction
// and its buffer is free for the next output. Outputs of the plan never die. A
// register that nothing reads dies where it is written.
func liveness(s *state) error {
	p := &s.c.Plan
	words := (len(p.Registers) + 63) / 64
	live := plan.LivenessMap{
		LastRead:  slices.Repeat([]uint32{plan.NeverRead}, len(p.Registers)),
		KillAfter: make([][]uint64, len(p.Instructions)),
	}
	sets := make([]uint64, words*len(p.Instructions))
	producer := make([]int, len(p.Registers))
	for i := range p.Instructions {
		live.KillAfter[i], sets = sets[:words:words], sets[words:]
		for _, r := range p.Instructions[i].In {
			live.LastRead[r] = uint32(i)
		}
		for _, r := range p.Instructions[i].Out {
			producer[r] = i
		}
	}
	var byProducts []plan.RegisterRef
	isInput, isOutput := setOf(p.Inputs), setOf(p.Outputs)
	for r := range live.LastRead {
		ref := plan.RegisterRef(r)
		dies := int(live.LastRead[r])
		switch {
		case isOutput[ref]:
			continue
		case live.LastRead[r] == plan.NeverRead && isInput[ref]:
			s.note(true, "never_read", "input r%d (%s)", r, p.Registers[r].Name)
			continue
		case live.LastRead[r] == plan.NeverRead:
			dies = producer[r]
			if len(p.Instructions[dies].Out) > 1 {
				byProducts = append(byProducts, ref)
				break
			}
			s.note(true, "never_read", "r%d (%s)", r, p.Registers[r].Name)
		}
		live.KillAfter[dies][r/64] |= 1 << (r % 64)
	}
	// One of two outputs may be a by-product; the only one may not.
	switch n := len(byProducts); {
	case n == 1:
		s.note(false, "never_read", "r%d (%s)", byProducts[0], p.Registers[byProducts[0]].Name)
	case n > 1:
		s.note(false, "never_read", "r%d (%s) and %d more", byProducts[0], p.Registers[byProducts[0]].Name, n-1)
	}
	s.c.Live = live
	s.c.PeakRegisters = peak(p, &live)
	return nil
}

// peak is the largest number of registers that hold a value at one time. The
// inputs and outputs of an instruction exist together; the plan's inputs exist
// from the start.
func peak(p *plan.ExecutionPlan, live *plan.LivenessMap) uint16 {
	set := make([]uint64, (len(p.Registers)+63)/64)
	n := 0
	write := func(r plan.RegisterRef) {
		set[r/64] |= 1 << (r % 64)
		n++
	}
	for _, r := range p.Inputs {
		write(r)
	}
	most := n
	for i := range p.Instructions {
		for _, r := range p.Instructions[i].Out {
			write(r)
		}
		most = max(most, n)
		for w, dead := range live.KillAfter[i] {
			n -= bits.OnesCount64(set[w] & dead)
			set[w] &^= dead
		}
	}
	return uint16(most)
}

func setOf(rs []plan.RegisterRef) map[plan.RegisterRef]bool {
	m := make(map[plan.RegisterRef]bool, len(rs))
	for _, r := range rs {
		m[r] = true
	}
	return m
}

func (s *state) note(warn bool, code, format string, args ...any) {
	s.c.Diagnostics = append(s.c.Diagnostics, plan.PlanDiagnostic{Warn: warn, Code: code, Text: fmt.Sprintf(format, args...)})
}
