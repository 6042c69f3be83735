package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Encode writes the plan as JSON, with a line for each node, edge and gate.
// Fields that have their default are omitted, unknown keys are preserved.
// descriptor_version is 2 if an extended field differs from its default, and
// omitted otherwise. An error is an [Error] with the path of a number that JSON
// cannot represent.
func (p *Plan) Encode() ([]byte, error) {
	w := &writer{}
	if p.Root == "$.graph" {
		w.raw(`{"graph": `)
	}
	w.raw("{")
	w.lines = true
	if p.extended() {
		w.key("descriptor_version")
		w.raw("2")
	}
	if p.HeatBudget != 0 {
		w.key(heatBudget)
		w.number(p.HeatBudget, false, p.Root+"."+heatBudget)
	}
	w.records("nodes", len(p.Nodes), func(i int) { w.node(&p.Nodes[i]) })
	w.records("edges", len(p.Edges), func(i int) { w.edge(&p.Edges[i]) })
	if len(p.Gates) > 0 {
		w.records("gates", len(p.Gates), func(i int) { w.gate(&p.Gates[i]) })
	}
	if len(p.RequiredFeatures) > 0 {
		w.key("required_features")
		w.list(len(p.RequiredFeatures), func(i int) { w.text(p.RequiredFeatures[i]) })
	}
	if p.IPLS != nil {
		w.key("ipls")
		w.ipls(p.IPLS)
	}
	w.extra(p.Extra)
	w.raw("\n}")
	if p.Root == "$.graph" {
		w.extra(p.Outer)
		w.raw("}")
	}
	w.raw("\n")
	return w.b.Bytes(), w.err
}

// extended reports whether an extended field differs from its default.
func (p *Plan) extended() bool {
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.OversampleRatio > 1 || n.DeclaredDelay != 0 || n.SupportsV2 || n.PDC != "" {
			return true
		}
	}
	for i := range p.Edges {
		if e := &p.Edges[i]; e.DelayFrames != 0 || len(e.Gates) > 0 || e.DelayKind != "" || e.CapacityFrames != 0 {
			return true
		}
	}
	return len(p.Gates) > 0 || len(p.RequiredFeatures) > 0 || p.IPLS != nil && len(p.IPLS.Stages) > 0
}

// A writer appends JSON.
type writer struct {
	b     bytes.Buffer
	lines bool // the next member starts a line
	err   error
}

func (w *writer) raw(s string) { w.b.WriteString(s) }

func (w *writer) text(s string) {
	b, err := json.Marshal(s)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b.Write(b)
}

// next starts a member or an element: a comma unless it is the first.
func (w *writer) next() {
	last := w.b.Bytes()[w.b.Len()-1]
	if last != '{' && last != '[' {
		w.raw(",")
		if !w.lines {
			w.raw(" ")
		}
	}
	if w.lines {
		w.raw("\n")
	}
}

func (w *writer) key(k string) {
	w.next()
	w.text(k)
	w.raw(": ")
}

func (w *writer) str(k, v string) {
	if v != "" {
		w.key(k)
		w.text(v)
	}
}

func (w *writer) integer(k string, v, absent int) {
	if v != absent {
		w.key(k)
		w.raw(strconv.Itoa(v))
	}
}

// number writes the shortest text that reads back as x, with a fraction or an
// exponent unless it is an integer.
func (w *writer) number(x float64, integer bool, path string) {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		if w.err == nil {
			w.err = &Error{Code: Malformed, Path: path, Text: fmt.Sprintf("JSON has no number for %v", x)}
		}
	default:
		w.raw(shortest(x, integer))
	}
}

func (w *writer) list(n int, item func(i int)) {
	w.raw("[")
	for i := range n {
		w.next()
		item(i)
	}
	w.raw("]")
}

// records writes an array with one element per line.
func (w *writer) records(k string, n int, item func(i int)) {
	w.key(k)
	w.raw("[")
	for i := range n {
		w.next()
		w.lines = false
		item(i)
		w.lines = true
	}
	w.raw("]")
}

// object writes one line: the members that body writes, then unknown keys.
func (w *writer) object(extra []Extra, body func()) {
	lines := w.lines
	w.lines = false
	w.raw("{")
	body()
	w.extra(extra)
	w.raw("}")
	w.lines = lines
}

func (w *writer) extra(all []Extra) {
	for _, x := range all {
		w.key(x.Key)
		if err := json.Compact(&w.b, x.JSON); err != nil && w.err == nil {
			w.err = fmt.Errorf("unknown key %q: %w", x.Key, err)
		}
	}
}

func (w *writer) node(n *Node) {
	w.object(n.Extra, func() {
		w.str("name", n.Name)
		if n.Type != n.Name {
			w.str("type", n.Type)
		}
		w.integer("oversample_ratio", max(n.OversampleRatio, 1), 1)
		w.integer("declared_delay", n.DeclaredDelay, 0)
		if n.SupportsV2 {
			w.key("supports_v2")
			w.raw("true")
		}
		w.str("pdc", n.PDC)
		w.integer("prefill_frames", n.PrefillFrames, 0)
		w.str("executor", n.Executor)
		if len(n.Params) > 0 {
			w.key("params")
			w.object(nil, func() {
				for i := range n.Params {
					w.param(&n.Params[i], n.Path+".params")
				}
			})
		}
	})
}

func (w *writer) param(p *Param, path string) {
	w.key(p.Name)
	switch t := p.Value; {
	case p.Text != nil:
		w.text(*p.Text)
	case p.Flag != nil:
		w.raw(strconv.FormatBool(*p.Flag))
	case t.B == 1 && t.C == 1 && t.F == 1 && len(p.Extra) == 0:
		w.number(t.Data[0], p.Integer, member(path, p.Name))
	default:
		w.object(p.Extra, func() {
			w.key("shape")
			w.raw(fmt.Sprintf("[%d, %d, %d]", t.B, t.C, t.F))
			w.key("data")
			w.list(len(t.Data), func(i int) {
				w.number(t.Data[i], false, fmt.Sprintf("%s.data[%d]", member(path, p.Name), i))
			})
		})
	}
}

func (w *writer) edge(e *Edge) {
	w.object(e.Extra, func() {
		w.str("source", e.Source)
		w.str("target", e.Target)
		w.integer("delay_frames", e.DelayFrames, 0)
		if len(e.Gates) > 0 {
			w.key("synchrony_gates")
			w.list(len(e.Gates), func(i int) { w.raw(strconv.Itoa(e.Gates[i])) })
		}
		w.str("delay_kind", e.DelayKind)
		w.integer("capacity_frames", e.CapacityFrames, 0)
		w.str("mode", e.Mode)
		if e.Scale != 1 {
			w.key("scale")
			w.number(e.Scale, false, e.Path+".scale")
		}
		w.integer("channel", e.Channel, -1)
	})
}

func (w *writer) gate(g *Gate) {
	w.object(g.Extra, func() {
		w.key("id")
		w.raw(strconv.Itoa(g.ID))
		if g.Kind != Barrier {
			w.str("kind", g.Kind.String())
		}
		w.integer("period_frames", g.PeriodFrames, 0)
	})
}

func (w *writer) ipls(s *IPLS) {
	w.object(s.Extra, func() {
		w.key("stages")
		w.list(len(s.Stages), func(i int) {
			w.object(s.Stages[i].Extra, func() {
				w.key("cohorts")
				w.list(len(s.Stages[i].Cohorts), func(j int) { w.cohort(&s.Stages[i].Cohorts[j]) })
			})
		})
	})
}

func (w *writer) cohort(c *Cohort) {
	w.object(c.Extra, func() {
		w.str("type", c.Type)
		w.integer("oversample_ratio", max(c.OversampleRatio, 1), 1)
		w.key("nodes")
		w.list(len(c.Nodes), func(i int) { w.text(c.Nodes[i]) })
	})
}
