package plan

import (
	"fmt"
	"strings"
)

// Diff returns how b differs from a, a line for each change: "- " and "+ " and
// the instruction, state or input as [Print] shows it. Registers appear by name
// and not by number, so that one inserted instruction is one line. Nothing is
// returned for plans that differ in numbering alone.
func Diff(a, b *CompiledPlan) []string {
	return lineDiff(diffLines(a), diffLines(b))
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
			return scanWord(s.Name) + s.shape()
		}
		return scanWord(s.Name)
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
