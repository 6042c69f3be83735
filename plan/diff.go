package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Diff returns how b differs from a, a line for each change: "- " and "+ " and
// the instruction, state or input as [Print] shows it. Registers appear by name
// and not by number, so that one inserted instruction is one line. Nothing is
// returned for plans that differ in numbering alone.
func Diff(a, b *CompiledPlan) []string {
	x, y := diffLines(a), diffLines(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	var out []string
	for _, d := range align(x, y) {
		if d[0] != ' ' {
			out = append(out, d)
		}
	}
	return out
}

// diffLines returns the plan line by line, without numbers.
func diffLines(c *CompiledPlan) []string {
	p := &c.Plan
	t := texter{c: c}
	var lines []string
	lines = append(lines, "plan mode="+p.Mode.String())
	for i := range p.States {
		only := CompiledPlan{Plan: ExecutionPlan{States: p.States[i : i+1]}}
		state := strings.Split(only.String(), "\n")[1]
		lines = append(lines, state)
	}
	reg := func(r RegisterRef, made bool) string {
		if int(r) >= len(p.Registers) {
			return fmt.Sprintf("r%d", r)
		}
		s := &p.Registers[r]
		if made {
			return word(s.Name) + s.shape()
		}
		return word(s.Name)
	}
	for _, r := range p.Inputs {
		lines = append(lines, "input "+reg(r, true))
	}
	for i := range p.Instructions {
		lines = append(lines, t.instruction(i, reg))
	}
	for _, r := range p.Outputs {
		lines = append(lines, "output "+reg(r, false))
	}
	return lines
}

// maxTable bounds the table of the longest common subsequence, in entries.
const maxTable = 1 << 24

// align returns the lines of x and y in order, each with "- ", "+ " or two
// spaces before it, keeping as many common lines as possible. Lists too long to
// compare are given as wholly different.
func align(x, y []string) []string {
	var out []string
	if len(x)*len(y) > maxTable {
		for _, l := range x {
			out = append(out, "- "+l)
		}
		for _, l := range y {
			out = append(out, "+ "+l)
		}
		return out
	}
	w := len(y) + 1
	common := make([]uint16, (len(x)+1)*w) // common[i*w+j] is that of x[i:] and y[j:]
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
				continue
			}
			common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(out, "  "+x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[(i+1)*w+j] >= common[i*w+j+1]:
			out = append(out, "- "+x[i])
			i++
		default:
			out = append(out, "+ "+y[j])
			j++
		}
	}
	return slices.Clip(out)
}
