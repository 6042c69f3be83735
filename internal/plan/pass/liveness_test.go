package pass

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/plan"
)

// bruteForce is liveness by its definition: a register is needed after
// instruction i if something later reads it or it is an output of the plan.
func bruteForce(p *plan.ExecutionPlan) (kills [][]plan.RegisterRef, last []uint32, most int) {
	neededAfter := func(r plan.RegisterRef, i int) bool {
		for _, in := range p.Instructions[i+1:] {
			if slices.Contains(in.In, r) {
				return true
			}
		}
		return slices.Contains(p.Outputs, r)
	}
	last = slices.Repeat([]uint32{plan.NeverRead}, len(p.Registers))
	live := slices.Clone(p.Inputs)
	most = len(live)
	for i, in := range p.Instructions {
		for _, r := range in.In {
			last[r] = uint32(i)
		}
		live = append(live, in.Out...)
		most = max(most, len(live))
		var dead []plan.RegisterRef
		for _, r := range append(slices.Clone(in.In), in.Out...) {
			if !neededAfter(r, i) && !slices.Contains(dead, r) {
				dead = append(dead, r)
			}
		}
		slices.Sort(dead)
		kills = append(kills, dead)
		live = slices.DeleteFunc(live, func(r plan.RegisterRef) bool { return slices.Contains(dead, r) })
	}
	return kills, last, most
}

func compareLiveness(t *testing.T, c *plan.CompiledPlan) {
	t.Helper()
	kills, last, most := bruteForce(&c.Plan)
	if !slices.Equal(last, c.Live.LastRead) || most != int(c.PeakRegisters) {
		t.Fatalf("last reads %v, want %v; peak %d, want %d\n%s", c.Live.LastRead, last, c.PeakRegisters, most, c)
	}
	for i := range kills {
		var got []plan.RegisterRef
		for r := range c.Plan.Registers {
			if c.Live.Kills(i, plan.RegisterRef(r)) {
				got = append(got, plan.RegisterRef(r))
			}
		}
		if !slices.Equal(got, kills[i]) {
			t.Fatalf("instruction %d kills %v, want %v\n%s", i, got, kills[i], c)
		}
	}
}

func TestLivenessEqualsBruteForce(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		compareLiveness(t, compile(t, name, mode, 5, opt))
	})
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		c, err := Compile(randomPlan(rng), Options{NoFuse: rng.IntN(2) == 0})
		if err != nil {
			t.Fatal(err)
		}
		compareLiveness(t, c)
	}
}

// Every register has one last read, or is an output, or is reported.
func TestLivenessNeverRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		c, err := Compile(randomPlan(rng), Options{})
		if err != nil {
			t.Fatal(err)
		}
		unread := 0
		for r, at := range c.Live.LastRead {
			if at == plan.NeverRead && !slices.Contains(c.Plan.Outputs, plan.RegisterRef(r)) {
				unread++
			}
		}
		said := 0
		for _, d := range c.Diagnostics {
			if d.Code == "never_read" {
				said++
				if _, more, ok := strings.Cut(d.Text, " and "); ok {
					n, _ := strconv.Atoi(strings.TrimSuffix(more, " more"))
					said += n
				}
			}
		}
		if said != unread {
			t.Fatalf("%d registers are never read, %d reported\n%s", unread, said, c)
		}
	}
}

// The peak of a plan does not grow with its depth.
func TestPeakIndependentOfDepth(t *testing.T) {
	for _, name := range toyNames {
		one, many := compile(t, name, plan.ModePrefill, 4, Options{}), compile(t, name, plan.ModePrefill, 48, Options{})
		if one.PeakRegisters != many.PeakRegisters {
			t.Errorf("%s: peak %d with 4 layers, %d with 48", name, one.PeakRegisters, many.PeakRegisters)
		}
	}
}

func TestRecheckMutations(t *testing.T) {
	for _, m := range []struct {
		name string
		edit func(c *plan.CompiledPlan)
	}{
		{"kill bit removed", func(c *plan.CompiledPlan) { c.Live.KillAfter[2][0] = 0 }},
		{"kill bit moved", func(c *plan.CompiledPlan) {
			c.Live.KillAfter[3][0] |= c.Live.KillAfter[2][0]
			c.Live.KillAfter[2][0] = 0
		}},
		{"killed early", func(c *plan.CompiledPlan) { c.Live.KillAfter[0][0] |= 1 << c.Plan.Instructions[0].Out[0] }},
		{"output killed", func(c *plan.CompiledPlan) {
			out := c.Plan.Outputs[0]
			c.Live.KillAfter[len(c.Live.KillAfter)-1][out/64] |= 1 << (out % 64)
		}},
		{"unknown register killed", func(c *plan.CompiledPlan) { c.Live.KillAfter[2][0] |= 1 << 63 }},
		{"last read moved", func(c *plan.CompiledPlan) { c.Live.LastRead[2]++ }},
		{"last read forgotten", func(c *plan.CompiledPlan) { c.Live.LastRead[2] = plan.NeverRead }},
		{"last read invented", func(c *plan.CompiledPlan) { c.Live.LastRead[c.Plan.Outputs[0]] = 1 }},
		{"peak too small", func(c *plan.CompiledPlan) { c.PeakRegisters-- }},
		{"peak too large", func(c *plan.CompiledPlan) { c.PeakRegisters++ }},
		{"a row of the map missing", func(c *plan.CompiledPlan) { c.Live.KillAfter = c.Live.KillAfter[1:] }},
		{"a column of the map missing", func(c *plan.CompiledPlan) { c.Live.LastRead = c.Live.LastRead[1:] }},
		{"a kill set too narrow", func(c *plan.CompiledPlan) { c.Live.KillAfter[1] = nil }},
	} {
		t.Run(m.name, func(t *testing.T) {
			c := compile(t, "llama", plan.ModeDecode, 2, Options{})
			m.edit(c)
			if err := recheckPlan(c); !errors.Is(err, plan.ErrInvalidPlan) {
				t.Fatalf("got %v\n%s", err, c)
			}
		})
	}
}
