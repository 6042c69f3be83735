package exec

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"unsafe"

	"atenia/internal/plan"
	"atenia/tensor"
)

// Built with -tags invariants, every instruction is watched.
//
//   - Registers and scratch hold NaN before they are written, and registers after their
//     last reader has run: an instruction that reads one too early or too late, or whose
//     buffer another lives in, is seen in what it computes.
//   - At its entry, operands have the room that their views say, aligned, and no output
//     lies where a value is that later instructions read.
//   - Behind each of its scratches are bytes that it must not write, and of the states it
//     writes nothing but the sections that its adapter asked for.
//
// A violation panics. Without the tag a bound record has no guard.

// A guard is what is known of an instruction for that.
type guard struct {
	ins               *plan.Instruction
	in, out           []*register
	inViews, outViews []plan.TensorViewDesc
	live, kills       []*register // that hold values during it; that die after it
	place             *register   // whose buffer output 0 may take over; nil = none
	owned             [][2]int    // bytes of its state's pages that it may write
	canaries          []int       // places in the work arena behind its scratches
	states            uint64      // hash of what it may not write
}

// canary is what lies behind a scratch, as many bytes as keep the next aligned.
const (
	canary      = 0xA5
	canaryBytes = pageAlign
)

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

func newGuard(b *plan.Binding[*register, tensor.View]) *guard {
	g := &guard{ins: b.Ins, in: b.In, out: b.Out, inViews: b.InViews, outViews: b.OutViews}
	if k, ok := b.Spec.InPlace.Input(); ok {
		g.place = b.In[k]
	}
	return g
}

// guardAll tells the guards which values are there during their instructions, and which die
// after them, but for those that an output was written into. What another stage handed over
// is there until it is released.
func (x *Executor) guardAll(all []bound, c *plan.CompiledPlan, regs []*register) {
	if !invariants {
		return
	}
	born := make([]int, len(regs))
	for i, ins := range c.Plan.Instructions {
		g := all[i].guard
		slices.SortFunc(g.owned, func(a, b [2]int) int { return a[0] - b[0] })
		g.owned = slices.Compact(g.owned)
		for _, r := range ins.Out {
			born[r] = i + 1
		}
	}
	for r, reg := range regs {
		if len(reg.buf) == 0 {
			continue
		}
		ends := len(all)
		for i := range all {
			if c.Live.Kills(i, plan.RegisterRef(r)) {
				ends = i
			}
		}
		if ends < len(all) {
			if g := all[ends].guard; !slices.ContainsFunc(g.out, func(o *register) bool { return overlap(o.buf, reg.buf) }) {
				g.kills = append(g.kills, reg)
			}
		}
		for _, h := range x.handoffs {
			if h.To == c.Plan.Mode && h.ToReg == plan.RegisterRef(r) {
				ends = int(h.ReleaseAfter)
			}
		}
		for i := born[r]; i <= ends && i < len(all); i++ {
			all[i].guard.live = append(all[i].guard.live, reg)
		}
	}
}

// overlap reports whether two buffers share memory.
func overlap(a, b []float32) bool {
	first := func(f []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(f))) }
	return len(a) > 0 && len(b) > 0 && first(a) < first(b)+uintptr(4*len(b)) && first(b) < first(a)+uintptr(4*len(a))
}

// enter is what an instruction is preceded by.
func (g *guard) enter(s *Step) {
	if g == nil { // a test's own record
		return
	}
	for k, r := range g.in {
		g.view(s, "input", k, r, g.inViews[k])
	}
	for k, r := range g.out {
		g.view(s, "output", k, r, g.outViews[k])
		for _, other := range g.live {
			if overlap(r.buf, other.buf) && (k > 0 || other != g.place) {
				g.violated("output %d lies where a value is that is read later", k)
			}
		}
	}
	for _, at := range g.canaries {
		for i := range canaryBytes {
			s.x.work[at+i] = canary
		}
	}
	g.states = g.hash(s)
}

// view asserts that an operand with storage has the room that its view says.
func (g *guard) view(s *Step, what string, k int, r *register, v plan.TensorViewDesc) {
	switch {
	case r.rows != v.Rows || r.cols != v.Cols:
		g.violated("%s %d has %s rows of %d, its view %s of %d", what, k, r.rows, r.cols, v.Rows, v.Cols)
	case len(r.buf) == 0: // the caller's, and of a type of its own
	case v.DType != tensor.F32 || v.Strides != [2]uint32{r.cols, 1}:
		g.violated("%s %d is %s with strides %d in a buffer of float32 rows of %d", what, k, v.DType, v.Strides, r.cols)
	case len(r.buf) < r.count(s)*int(r.cols):
		g.violated("%s %d has room for %d values, needs %d rows of %d", what, k, len(r.buf), r.count(s), r.cols)
	case uintptr(unsafe.Pointer(unsafe.SliceData(r.buf)))%plan.BufferAlign != 0:
		g.violated("%s %d is not aligned to %d bytes", what, k, plan.BufferAlign)
	}
}

// leave is what an instruction is followed by.
func (g *guard) leave(s *Step) {
	if g == nil {
		return
	}
	for _, at := range g.canaries {
		if slices.ContainsFunc(s.x.work[at:at+canaryBytes], func(b byte) bool { return b != canary }) {
			g.violated("bytes behind a scratch, at %d of the work arena, were written", at)
		}
	}
	if g.hash(s) != g.states {
		g.violated("bytes of states were written that are not of its sections")
	}
	for _, r := range g.kills {
		poison(r.buf)
	}
}

var guardSeed = maphash.MakeSeed()

// hash is of all pages of the step but the sections of the instruction.
func (g *guard) hash(s *Step) uint64 {
	var h maphash.Hash
	h.SetSeed(guardSeed)
	for i := range s.Runs {
		for state, pages := range s.Runs[i].Pages {
			for _, page := range pages {
				if plan.StateRef(state) == g.ins.State && page != nil {
					for k := len(g.owned) - 1; k >= 0; k-- {
						h.Write(page[g.owned[k][1]:])
						page = page[:g.owned[k][0]]
					}
				}
				h.Write(page)
			}
		}
	}
	return h.Sum64()
}

// violated panics: the process cannot go on with what was written.
func (g *guard) violated(format string, args ...any) {
	panic(fmt.Sprintf("exec: %s of layer %d: %s", g.ins.Op, g.ins.Layer, fmt.Sprintf(format, args...)))
}
