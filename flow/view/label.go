package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"atenia/flow/graph"
)

// mostParams is the largest number of parameters that a box shows.
const mostParams = 6

// lines returns the text of a box below its name.
func lines(l *graph.Linked, latency []float64, i int, o *SVGOptions) []string {
	n := &l.Nodes[i]
	kind := n.Type
	if n.OversampleRatio > 1 {
		kind += fmt.Sprintf(" ×%d", n.OversampleRatio)
	}
	if len(n.OutShape) > 0 && n.OutShape[0] != (graph.Shape{B: 1, C: 1}) {
		kind += fmt.Sprintf(" · %d×%d", n.OutShape[0].B, n.OutShape[0].C)
	}
	out := []string{kind}
	for k := range n.Params {
		if k == mostParams {
			out = append(out, fmt.Sprintf("… %d more", len(n.Params)-k))
			break
		}
		out = append(out, n.Params[k].Name+" "+value(&n.Params[k]))
	}
	var last []string
	if n.Rate != (graph.Rat{Num: 1, Den: 1}) {
		last = append(last, "rate "+ratio(n.Rate))
	}
	if n.DeclaredDelay > 0 {
		last = append(last, fmt.Sprintf("delay %d", n.DeclaredDelay))
	}
	if n.Comp >= 0 && n.Comp < len(l.Sub) {
		last = append(last, "sub-block "+ratio(l.Sub[n.Comp]))
	}
	if latency[i] > 0 {
		s := "latency " + number(latency[i])
		if o.SampleRate > 0 {
			s += fmt.Sprintf(" (%.4g ms)", latency[i]/o.SampleRate*1e3)
		}
		last = append(last, s)
	}
	if len(last) > 0 {
		out = append(out, strings.Join(last, " · "))
	}
	if o.Note != nil {
		out = append(out, o.Note(i)...)
	}
	return out
}

// value prints a parameter in short.
func value(p *graph.Param) string {
	switch {
	case p.Text != nil:
		return *p.Text
	case p.Flag != nil:
		return strconv.FormatBool(*p.Flag)
	case len(p.Value.Data) == 1:
		return number(p.Value.Data[0])
	}
	return fmt.Sprintf("[%d %d %d]", p.Value.B, p.Value.C, p.Value.F)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func ratio(r graph.Rat) string {
	if r.Den == 1 {
		return strconv.FormatInt(r.Num, 10)
	}
	return fmt.Sprintf("%d/%d", r.Num, r.Den)
}

// edgeLabel describes an edge's rate and delay.
func edgeLabel(l *graph.Linked, i int) string {
	e := &l.Edges[i]
	var s []string
	if e.Rate != (graph.Rat{Num: 1, Den: 1}) {
		s = append(s, ratio(e.Rate))
	}
	if e.Hold > 0 {
		s = append(s, fmt.Sprintf("hold %d", e.Hold))
	}
	if e.Prefill > 0 {
		s = append(s, "z⁻"+superscript(e.Prefill))
	}
	if e.Param >= 0 {
		mode := "+"
		if e.Mode == "mul" {
			mode = "×"
		}
		if e.Scale != 1 {
			mode += " " + number(e.Scale) + "·"
		}
		s = append(s, mode)
	}
	return strings.Join(s, " ")
}

// gateLabel names the gates of an edge.
func gateLabel(p *graph.Plan, e *graph.Edge) string {
	var s []string
	for _, id := range e.Gates {
		name := strconv.Itoa(id)
		for k := range p.Gates {
			if g := &p.Gates[k]; g.ID == id && g.Kind != graph.Barrier {
				name += " " + g.Kind.String()
				if g.PeriodFrames > 0 {
					name += fmt.Sprintf(" %d", g.PeriodFrames)
				}
			}
		}
		s = append(s, name)
	}
	return strings.Join(s, ", ")
}

func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var s []rune
	for _, c := range strconv.Itoa(n) {
		s = append(s, digits[c-'0'])
	}
	return string(s)
}

// Latency returns by how many base frames each node's output lags: the largest
// sum of holds along a path from a source. Prefilled edges do not count, since
// their frames are available in advance.
func Latency(l *graph.Linked) []float64 {
	late := make([]float64, len(l.Nodes))
	for range l.Nodes { // one pass suffices if Order is topological, which cycles prevent
		moved := false
		for _, v := range l.Order {
			for i := range l.Edges {
				e := &l.Edges[i]
				if e.Dst != v || e.Prefill > 0 {
					continue
				}
				if t := late[e.Src] + float64(e.Hold)*float64(e.Rate.Den)/float64(e.Rate.Num); t > late[v] {
					late[v], moved = t, true
				}
			}
		}
		if !moved {
			break
		}
	}
	return late
}

// legend explains the symbols that occur in a drawing.
func legend(l *graph.Linked) []string {
	var s []string
	add := func(text string, has func(e *graph.LinkedEdge) bool) {
		if slices.ContainsFunc(l.Edges, func(e graph.LinkedEdge) bool { return has(&e) }) {
			s = append(s, text)
		}
	}
	add("n/m: frames per base frame", func(e *graph.LinkedEdge) bool { return e.Rate != graph.Rat{Num: 1, Den: 1} })
	add("hold: frames kept back", func(e *graph.LinkedEdge) bool { return e.Hold > 0 })
	add("z⁻ⁿ: n zeros first", func(e *graph.LinkedEdge) bool { return e.Prefill > 0 })
	add("dashed: modulation", func(e *graph.LinkedEdge) bool { return e.Param >= 0 })
	add("◆ gates", func(e *graph.LinkedEdge) bool { return len(e.Gates) > 0 })
	if slices.ContainsFunc(l.Nodes, func(n graph.LinkedNode) bool { return n.Comp >= 0 }) {
		s = append(s, "tinted: in a cycle")
	}
	return s
}
