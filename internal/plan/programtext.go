package plan

import (
	"fmt"
	"strings"
)

// String returns the program as text, one op a line, as [ParseProgram] reads it:
//
//	n = norm(x) weight=attn_norm
//	a = attention(n) #attn q=attn_q k=attn_k v=attn_v o=attn_o
//	y = residual_add(x, a)
//
// "#" is the tag; weights are in the order of the opcode's slots.
func (p Program) String() string {
	var b strings.Builder
	for i := range p {
		op := &p[i]
		fmt.Fprintf(&b, "%s = %s(%s)", op.Out, op.Op, strings.Join(op.In, ", "))
		if op.Tag != "" {
			b.WriteString(" #" + op.Tag)
		}
		if s := Specs.Get(op.Op); s != nil {
			for k := range s.Weights {
				slot, _ := s.Slot(k)
				if id, ok := op.W[slot]; ok {
					b.WriteString(" " + slot + "=" + id)
				}
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ParseProgram reads what [Program.String] prints. Empty lines and lines that
// start with "//" are skipped. Errors are [*syntaxError].
func ParseProgram(text string) (Program, error) {
	var prog Program
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		op, err := parseOp(line)
		if err != nil {
			return nil, &syntaxError{n, 1, err.Error()}
		}
		prog = append(prog, op)
	}
	return prog, nil
}

func parseOp(line string) (op LayerOp, err error) {
	out, rest, ok := strings.Cut(line, " = ")
	name, rest, ok2 := strings.Cut(rest, "(")
	in, rest, ok3 := strings.Cut(rest, ")")
	if !ok || !ok2 || !ok3 || out == "" {
		return op, fmt.Errorf("want out = op(in, …)")
	}
	if err := op.Op.UnmarshalText([]byte(name)); err != nil {
		return op, err
	}
	op.Out = out
	for v := range strings.SplitSeq(in, ",") {
		if v = strings.TrimSpace(v); v == "" {
			return op, fmt.Errorf("%s: an input without a name", name)
		}
		op.In = append(op.In, v)
	}
	for _, w := range strings.Fields(rest) {
		slot, id, isWeight := strings.Cut(w, "=")
		tag, isTag := strings.CutPrefix(w, "#")
		_, known := Specs.Get(op.Op).SlotIndex(slot)
		switch {
		case isTag && tag != "" && op.Tag == "":
			op.Tag = tag
		case !isWeight || id == "":
			return op, fmt.Errorf("%s: want slot=weight, not %q", name, w)
		case !known:
			return op, fmt.Errorf("%s has no weight slot %q", name, slot)
		default:
			if op.W == nil {
				op.W = make(map[string]string)
			}
			if _, dup := op.W[slot]; dup {
				return op, fmt.Errorf("%s: slot %s is given twice", name, slot)
			}
			op.W[slot] = id
		}
	}
	return op, nil
}
