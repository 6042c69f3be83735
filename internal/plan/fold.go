package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// A fold is a run of layers that do what earlier ones do: instructions up to
// end are not printed.
type fold struct {
	first, last int16 // layers
	like        int16 // the first layer it repeats
	period      int   // how many layers it repeats
	end         int   // instruction after the last folded one
}

func (f fold) String() string {
	what := fmt.Sprintf("layer %d", f.first)
	if f.first != f.last {
		what = fmt.Sprintf("layers %d–%d", f.first, f.last)
	}
	like := fmt.Sprintf("layer %d", f.like)
	if f.period > 1 {
		like = fmt.Sprintf("layers %d–%d", f.like, int(f.like)+f.period-1)
	}
	return what + " as " + like
}

// maxPeriod is the longest pattern of layers that is looked for. Published
// hybrids repeat after 2 to 8.
const maxPeriod = 12

// A layerRun is the consecutive instructions of one layer, in a form that is
// equal for layers that differ only in their number.
type layerRun struct {
	layer      int16
	start, end int
	does       string
}

// foldLayers finds runs of layers that repeat those before them, keyed by the
// instruction where they start. Short periods and long runs win.
func foldLayers(c *CompiledPlan) map[int]fold {
	runs := layerRuns(c)
	folds := make(map[int]fold)
	for i := 1; i < len(runs); {
		period, n := repeats(runs, i)
		if n == 0 {
			i++
			continue
		}
		last := runs[i+n-1]
		folds[runs[i].start] = fold{runs[i].layer, last.layer, runs[i-period].layer, period, last.end}
		i += n
	}
	return folds
}

// repeats returns the period with which most runs from i on repeat earlier
// ones, in whole periods, and the number of runs it covers.
func repeats(runs []layerRun, i int) (period, n int) {
	for p := 1; p <= min(i, maxPeriod); p++ {
		k := 0
		for i+k < len(runs) && runs[i+k].does == runs[i+k-p].does && runs[i+k].layer == runs[i-p].layer+int16(p+k) {
			k++
		}
		if k -= k % p; k > n {
			period, n = p, k
		}
	}
	return period, n
}

func layerRuns(c *CompiledPlan) []layerRun {
	p := &c.Plan
	made := make(map[RegisterRef]origin)
	used := make(map[StateRef]uint32)
	t := texter{c: c}
	var runs []layerRun
	for i := range p.Instructions {
		in := &p.Instructions[i]
		if i == 0 || in.Layer != p.Instructions[i-1].Layer {
			runs = append(runs, layerRun{layer: in.Layer, start: i})
		}
		r := &runs[len(runs)-1]
		r.end = i + 1
		for k, reg := range in.Out {
			made[reg] = origin{len(runs) - 1, i, k}
		}
		r.does += t.relative(i, runs, made, used) + "\n"
	}
	for i := range runs {
		if runs[i].layer < 0 {
			runs[i].does += strconv.Itoa(i) // what stands outside layers repeats nothing
		}
	}
	return runs
}

// origin is where a register is made: run of layers, instruction, output.
type origin struct{ run, instruction, output int }

// relative prints instruction i so that it does not depend on the layer's
// number: registers by how far back they were made, weights without the layer,
// the layer's place in its state as a difference.
func (t *texter) relative(i int, runs []layerRun, made map[RegisterRef]origin, used map[StateRef]uint32) string {
	in := t.c.Plan.Instructions[i]
	here := len(runs) - 1
	reg := func(r RegisterRef, isMade bool) string {
		o, ok := made[r]
		switch {
		case isMade && int(r) < len(t.c.Plan.Registers):
			return t.c.Plan.Registers[r].shape()
		case ok && o.run == here:
			return fmt.Sprintf("here%d.%d", o.instruction-runs[here].start, o.output)
		case ok && o.run == here-1: // from its end: the layer before may have begun differently
			return fmt.Sprintf("before%d.%d", runs[here-1].end-o.instruction, o.output)
		}
		return fmt.Sprintf("r%d", r)
	}
	bare := texter{c: &CompiledPlan{Plan: t.c.Plan, Live: t.c.Live}}
	line := bare.instruction(i, reg)
	_, line, _ = strings.Cut(line, " ")                 // without the layer
	for ahead, mark := range []string{".#.", ".#+1."} { // a fused norm has the next layer's weight
		line = strings.ReplaceAll(line, "."+strconv.Itoa(int(in.Layer)+ahead)+".", mark)
	}
	if in.State == NoState {
		return line
	}
	ordinal, has := uint64(0), false
	if int(in.Param) < len(t.c.Plan.Params) {
		if v, err := t.c.Plan.Params[in.Param].Decode(); err == nil {
			for _, f := range payloadFields(v) {
				if f.name == "layer" {
					ordinal, has = f.v.Uint(), true
				}
			}
		}
	}
	if has {
		line = strings.Replace(line, fmt.Sprintf("layer=%d ", ordinal), "", 1)
		line += fmt.Sprint(" ordinal", int64(ordinal)-int64(used[in.State]))
	}
	used[in.State]++
	return line
}
