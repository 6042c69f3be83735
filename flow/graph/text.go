package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The text form of a plan has one line per node, edge, gate and cohort. Fields
// that have their default are omitted; :name=value is a parameter or setting,
// +key=JSON an unknown key and ++key=JSON an unknown key of the preceding
// tensor.
//
//	graph
//	node osc OversampledOsc ratio=8 delay=192 v2 :frequency_hz=220.0
//	node half Downsample :factor=8 :taps=[1 1 3: 0.25 0.5 0.25]
//	edge osc.out -> half.in delay=192 gates=0,3
//	gate 3 tempo period=480
//	ipls
//	stage
//	cohort OversampledOsc ratio=8 osc
//	stage
//	cohort Downsample half

// A numeral is an integer field of a record's line.
type numeral[T any] struct {
	key    string
	of     func(*T) *int
	absent int
}

// A word is a text field of a record's line.
type word[T any] struct {
	key string
	of  func(*T) *string
}

var (
	nodeNumbers = []numeral[Node]{
		{"ratio", func(n *Node) *int { return &n.OversampleRatio }, 1},
		{"delay", func(n *Node) *int { return &n.DeclaredDelay }, 0},
		{"prefill", func(n *Node) *int { return &n.PrefillFrames }, 0},
	}
	nodeWords = []word[Node]{
		{"pdc", func(n *Node) *string { return &n.PDC }},
		{"executor", func(n *Node) *string { return &n.Executor }},
	}
	edgeNumbers = []numeral[Edge]{
		{"delay", func(e *Edge) *int { return &e.DelayFrames }, 0},
		{"capacity", func(e *Edge) *int { return &e.CapacityFrames }, 0},
		{"channel", func(e *Edge) *int { return &e.Channel }, -1},
	}
	edgeWords = []word[Edge]{
		{"kind", func(e *Edge) *string { return &e.DelayKind }},
		{"mode", func(e *Edge) *string { return &e.Mode }},
	}
)

// String returns the plan's text form, which [ParseText] reads back.
func (p *Plan) String() string {
	var w strings.Builder
	w.WriteString("graph")
	if p.Root == "$" {
		w.WriteString(" bare")
	}
	if p.HeatBudget != 0 {
		w.WriteString(" heat=" + shortest(p.HeatBudget, false))
	}
	for _, f := range p.RequiredFeatures {
		w.WriteString(" requires=" + quoteWord(f))
	}
	printExtra(&w, " ++", p.Outer)
	printExtra(&w, " +", p.Extra)
	for i := range p.Nodes {
		printNode(&w, &p.Nodes[i])
	}
	for i := range p.Edges {
		printEdge(&w, &p.Edges[i])
	}
	for i := range p.Gates {
		g := &p.Gates[i]
		fmt.Fprintf(&w, "\ngate %d %v", g.ID, g.Kind)
		if g.PeriodFrames != 0 {
			fmt.Fprintf(&w, " period=%d", g.PeriodFrames)
		}
		printExtra(&w, " +", g.Extra)
	}
	if p.IPLS != nil {
		p.IPLS.print(&w)
	}
	w.WriteString("\n")
	return w.String()
}

func (s *IPLS) print(w *strings.Builder) {
	w.WriteString("\nipls")
	printExtra(w, " +", s.Extra)
	for i := range s.Stages {
		w.WriteString("\nstage")
		printExtra(w, " +", s.Stages[i].Extra)
		for j := range s.Stages[i].Cohorts {
			c := &s.Stages[i].Cohorts[j]
			w.WriteString("\ncohort " + quoteWord(c.Type))
			if c.OversampleRatio > 1 {
				fmt.Fprintf(w, " ratio=%d", c.OversampleRatio)
			}
			for _, n := range c.Nodes {
				w.WriteString(" " + quoteWord(n))
			}
			printExtra(w, " +", c.Extra)
		}
	}
}

func printExtra(w *strings.Builder, mark string, all []Extra) {
	for _, x := range all {
		var b bytes.Buffer
		if json.Compact(&b, x.JSON) != nil {
			b.Reset()
			b.WriteString("null")
		}
		fmt.Fprintf(w, "%s%s=%s", mark, quoteWord(x.Key), b.Bytes())
	}
}

func printFields[T any](w *strings.Builder, x *T, numbers []numeral[T], words []word[T]) {
	for _, f := range numbers {
		if v := *f.of(x); v != f.absent {
			fmt.Fprintf(w, " %s=%d", f.key, v)
		}
	}
	for _, f := range words {
		if v := *f.of(x); v != "" {
			fmt.Fprintf(w, " %s=%s", f.key, quoteWord(v))
		}
	}
}

// shortest returns the number's shortest text, with a fraction or an exponent
// unless it is an integer.
func shortest(x float64, integer bool) string {
	if integer {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if integral(s) {
		s += ".0"
	}
	return s
}

func printNode(w *strings.Builder, n *Node) {
	fmt.Fprintf(w, "\nnode %s %s", quoteWord(n.Name), quoteWord(n.Type))
	printFields(w, n, nodeNumbers, nodeWords)
	if n.SupportsV2 {
		w.WriteString(" v2")
	}
	for i := range n.Params {
		p := &n.Params[i]
		fmt.Fprintf(w, " :%s=", quoteWord(p.Name))
		switch t := p.Value; {
		case p.Text != nil:
			b, err := json.Marshal(*p.Text)
			if err != nil {
				b = []byte(`""`)
			}
			w.Write(b)
		case p.Flag != nil:
			fmt.Fprint(w, *p.Flag)
		case t.B == 1 && t.C == 1 && t.F == 1 && len(p.Extra) == 0:
			w.WriteString(shortest(t.Data[0], p.Integer))
		default:
			fmt.Fprintf(w, "[%d %d %d:", t.B, t.C, t.F)
			for _, x := range t.Data {
				w.WriteString(" " + shortest(x, false))
			}
			w.WriteString("]")
			printExtra(w, " ++", p.Extra)
		}
	}
	printExtra(w, " +", n.Extra)
}

func printEdge(w *strings.Builder, e *Edge) {
	fmt.Fprintf(w, "\nedge %s -> %s", quoteWord(e.Source), quoteWord(e.Target))
	printFields(w, e, edgeNumbers, edgeWords)
	for k, id := range e.Gates {
		fmt.Fprintf(w, "%s%d", [...]string{" gates=", ","}[min(k, 1)], id)
	}
	if e.Scale != 1 {
		w.WriteString(" scale=" + shortest(e.Scale, false))
	}
	printExtra(w, " +", e.Extra)
}
