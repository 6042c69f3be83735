package pass

import (
	"fmt"

	"atenia/internal/plan"
)

// lastRows moves the gather of the requested rows before every instruction that
// works row by row, up to the last one that mixes rows:
//
//	a = attention(n)                       a  = attention(n)
//	h = residual_add(x, a)                 x' = gather_rows(x, rows)
//	m = norm(h)                            a' = gather_rows(a, rows)
//	f = ffn(m)                       →     h  = residual_add(x', a')
//	y = residual_add(h, f)                 m  = norm(h)
//	g = gather_rows(y, rows)               f  = ffn(m)
//	n = norm(g)                            y  = residual_add(h, f)
//	                                       n  = norm(y)
//
// A prompt of 500 tokens that requests one row of logits then runs the last
// feed-forward layer on one row. The move is legal if every value between is
// read only between: an output of the plan, or a second reader, needs all rows.
// It applies to prefill plans only; in others all rows are requested.
func lastRows(p *plan.ExecutionPlan) []string {
	g, ok := onlyGather(p)
	if p.Mode != plan.ModePrefill || !ok {
		return nil
	}
	gather := p.Instructions[g]
	rows := p.Registers[gather.In[1]].Rows
	from := p.Registers[gather.In[0]].Rows
	first := g
	for first > 0 && plan.Specs.Get(p.Instructions[first-1].Op).RowWise {
		first--
	}
	if first == g || !staysInside(p, first, g, from) {
		return nil
	}
	h := hoist{p: p, gather: gather, rows: rows, renamed: make(map[plan.RegisterRef]plan.RegisterRef)}
	if len(p.Registers)+2*(g-first) > plan.MaxRegisters {
		return nil
	}
	out := append([]plan.Instruction(nil), p.Instructions[:first]...)
	for i := first; i < g; i++ {
		h.move(&p.Instructions[i])
	}
	out = append(out, h.gathers...)
	out = append(out, h.moved...)
	for _, in := range p.Instructions[g+1:] {
		in.In = h.replace(in.In, gather.Out[0], gather.In[0])
		out = append(out, in)
	}
	p.Outputs = h.replace(p.Outputs, gather.Out[0], gather.In[0])
	site := fmt.Sprintf("%s gathered before %s, %d instructions earlier",
		p.Registers[gather.In[0]].Name, p.Registers[p.Instructions[first].Out[0]].Name, g-first)
	p.Instructions = out
	return []string{site}
}

// onlyGather finds the one gather_rows of a plan.
func onlyGather(p *plan.ExecutionPlan) (at int, ok bool) {
	for i := range p.Instructions {
		if p.Instructions[i].Op != plan.OpGatherRows {
			continue
		}
		if ok {
			return 0, false
		}
		at, ok = i, true
	}
	return at, ok
}

// staysInside reports whether what instructions first to g−1 make is read only
// by them and by the gather at g, and all they read has the same rows.
func staysInside(p *plan.ExecutionPlan, first, g int, from plan.RowKind) bool {
	reads := readers(p)
	made := make(map[plan.RegisterRef]int)
	for i := first; i <= g; i++ {
		in := &p.Instructions[i]
		ins := in.In
		if i == g {
			ins = ins[:1]
		}
		for _, r := range ins {
			if p.Registers[r].Rows != from {
				return false
			}
			if _, ok := made[r]; ok {
				made[r]++
			}
		}
		for _, r := range in.Out {
			made[r] = 0
		}
	}
	if _, ok := made[p.Instructions[g].In[0]]; !ok {
		return false // the gather reads something older: there is nothing to climb over
	}
	for r, inside := range made {
		if r != p.Instructions[g].Out[0] && reads[r] != inside {
			return false
		}
	}
	return true
}

// hoist rewrites the instructions that the gather climbs over.
type hoist struct {
	p              *plan.ExecutionPlan
	gather         plan.Instruction
	rows           plan.RowKind
	renamed        map[plan.RegisterRef]plan.RegisterRef // value with all rows → its gathered form
	gathers, moved []plan.Instruction
}

// move copies one instruction below the gathers. Operands from above them are
// gathered first; its results have only the requested rows.
func (h *hoist) move(in *plan.Instruction) {
	out := *in
	out.In = make([]plan.RegisterRef, len(in.In))
	for k, r := range in.In {
		if _, ok := h.renamed[r]; !ok {
			h.renamed[r] = h.gatherOf(r, in.Layer)
		}
		out.In[k] = h.renamed[r]
	}
	for _, r := range in.Out {
		h.p.Registers[r].Rows = h.rows
		h.renamed[r] = r
	}
	h.moved = append(h.moved, out)
}

// gatherOf appends a gather of register r to the layer that now reads it.
func (h *hoist) gatherOf(r plan.RegisterRef, layer int16) plan.RegisterRef {
	s := h.p.Registers[r]
	s.Name += ".rows"
	s.Rows = h.rows
	to := plan.RegisterRef(len(h.p.Registers))
	h.p.Registers = append(h.p.Registers, s)
	g := h.gather
	g.Layer = layer
	g.In = []plan.RegisterRef{r, h.gather.In[1]}
	g.Out = []plan.RegisterRef{to}
	h.gathers = append(h.gathers, g)
	return to
}

func (h *hoist) replace(rs []plan.RegisterRef, from, to plan.RegisterRef) []plan.RegisterRef {
	out := make([]plan.RegisterRef, len(rs))
	for i, r := range rs {
		if r == from {
			r = to
		}
		out[i] = r
	}
	return out
}
