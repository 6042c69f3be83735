package view

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"atenia/flow/graph"
)

// SVGOptions configure a drawing. The zero value is ready to use.
type SVGOptions struct {
	Title      string
	SampleRate float64 // base frames per second; 0: latencies in frames only
	// Note returns further lines for a node's box, such as its measured cost.
	Note func(node int) []string
}

// Sizes of text and boxes, in pixels. Widths are generous estimates, since the
// viewer's fonts are unknown.
const (
	header    = 26.0 // above the boxes
	footer    = 30.0
	nameChar  = 8.2
	smallChar = 6.6
	lineStep  = 15.0
	portStep  = 16.0
	portTop   = 17.0
)

// SVG returns a drawing of the graph as an SVG document. Write it to a file and
// open it in a browser.
func SVG(l *graph.Linked, o SVGOptions) []byte {
	latency := Latency(l)
	y := arrange(l, func(i int) *box { return measure(l, i, lines(l, latency, i, &o)) },
		func(i int) float64 {
			return smallChar * float64(max(utf8.RuneCountInString(edgeLabel(l, i)), utf8.RuneCountInString(gateLabel(l.Plan, l.Edges[i].Edge))))
		})
	d := &drawing{l: l, y: y}
	head := o.Title
	if head == "" {
		head = "graph"
	}
	head += fmt.Sprintf(" · %d nodes, %d edges · blocks of %d frames", len(l.Nodes), len(l.Edges), l.BlockFrames)
	if o.SampleRate > 0 {
		head += fmt.Sprintf(" at %s Hz", number(o.SampleRate))
	}
	foot := strings.Join(legend(l), " · ")
	y.w = max(y.w, 2*margin+smallChar*1.1*float64(max(utf8.RuneCountInString(head), utf8.RuneCountInString(foot))))
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="Helvetica, Arial, sans-serif">`+"\n", y.w, y.h, y.w, y.h)
	d.b.WriteString(style)
	fmt.Fprintf(&d.b, `<rect width="%.0f" height="%.0f" fill="#fff"/>`+"\n", y.w, y.h)
	d.text(margin, margin, "h", head)
	back := 0
	for _, r := range y.routes {
		if r.back {
			d.below(r, back)
			back++
		} else {
			d.across(r)
		}
	}
	for _, b := range y.boxes {
		d.node(b)
	}
	d.b.WriteString(d.labelled.String()) // drawn last, above boxes that are close
	d.text(margin, y.h-margin/2, "s", foot)
	d.b.WriteString("</svg>\n")
	return []byte(d.b.String())
}

const style = `<style>
.n{fill:#f4f7fb;stroke:#5b7083;stroke-width:1.2}.c{fill:#fff1e6;stroke:#c8611a;stroke-width:1.2}
.e{fill:none;stroke:#44586a;stroke-width:1.4}.m{fill:none;stroke:#2f6fb5;stroke-width:1.3;stroke-dasharray:5 3}
.p{fill:none;stroke:#c0392b;stroke-width:1.5}.d{fill:#7d3fa8}.o{fill:#44586a}
.t{font-size:13px;font-weight:bold;fill:#1d2b36}.s{font-size:11px;fill:#506070}.h{font-size:13px;fill:#1d2b36}
.l{font-size:11px;fill:#22303c}.w{font-size:11px;fill:#fff;stroke:#fff;stroke-width:4px}
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#44586a"/></marker></defs>
`

// A drawing is an SVG under construction.
type drawing struct {
	b        strings.Builder
	labelled strings.Builder // labels of edges
	l        *graph.Linked
	y        *layout
}

// measure returns the box of a node.
func measure(l *graph.Linked, i int, text []string) *box {
	n := &l.Nodes[i]
	w := nameChar * float64(utf8.RuneCountInString(n.Name))
	for _, s := range text {
		w = max(w, smallChar*float64(utf8.RuneCountInString(s)))
	}
	left, right := 0.0, 0.0 // room for names of ports
	for _, s := range inNames(l, i) {
		left = max(left, smallChar*float64(utf8.RuneCountInString(s)))
	}
	for _, s := range outNames(l, i) {
		right = max(right, smallChar*float64(utf8.RuneCountInString(s)))
	}
	ports := max(len(n.Spec.Ins)+len(n.Mods), len(n.Spec.Outs))
	h := max(portTop+lineStep*float64(len(text))+9, portTop+portStep*float64(ports-1)+12)
	return &box{w: w + left + right + 24, h: h, lines: text}
}

// inNames returns the labels of the left side: signal inputs if there are
// several, then modulated parameters.
func inNames(l *graph.Linked, i int) []string {
	n := &l.Nodes[i]
	names := make([]string, 0, len(n.Spec.Ins)+len(n.Mods))
	for _, s := range n.Spec.Ins {
		if len(n.Spec.Ins) == 1 {
			s = ""
		}
		names = append(names, s)
	}
	for _, e := range n.Mods {
		names = append(names, n.Spec.Params[l.Edges[e].Param].Name)
	}
	return names
}

func outNames(l *graph.Linked, i int) []string {
	if outs := l.Nodes[i].Spec.Outs; len(outs) > 1 {
		return outs
	}
	return nil
}

// inHeight returns the height below a box's top at which an edge enters.
func inHeight(l *graph.Linked, e *graph.LinkedEdge) float64 {
	n := &l.Nodes[e.Dst]
	port := e.DstPort
	if e.Param >= 0 {
		port = len(n.Spec.Ins)
		for k, m := range n.Mods {
			if m == e.Index {
				port += k
			}
		}
	}
	return portTop - 4 + portStep*float64(port)
}

func outHeight(port int) float64 { return portTop - 4 + portStep*float64(port) }

// node draws a box.
func (d *drawing) node(b *box) {
	n := &d.l.Nodes[b.node]
	class := "n"
	if n.Comp >= 0 {
		class = "c"
	}
	fmt.Fprintf(&d.b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5"/>`+"\n", class, b.x, b.y, b.w, b.h)
	left := 0.0
	for k, s := range inNames(d.l, b.node) {
		left = max(left, smallChar*float64(utf8.RuneCountInString(s)))
		d.text(b.x+6, b.y+portTop+portStep*float64(k), "s", s)
		d.port(b.x, b.y+portTop-4+portStep*float64(k))
	}
	for k := range n.Spec.Outs {
		d.port(b.x+b.w, b.y+outHeight(k))
		if len(n.Spec.Outs) > 1 {
			fmt.Fprintf(&d.b, `<text class="s" text-anchor="end" x="%.1f" y="%.1f">%s</text>`+"\n", b.x+b.w-6, b.y+portTop+portStep*float64(k), escape(n.Spec.Outs[k]))
		}
	}
	d.text(b.x+12+left, b.y+portTop, "t", n.Name)
	for k, s := range b.lines {
		d.text(b.x+12+left, b.y+portTop+lineStep*float64(k+1), "s", s)
	}
}

func (d *drawing) port(x, y float64) {
	fmt.Fprintf(&d.b, `<circle class="o" cx="%.1f" cy="%.1f" r="2.4"/>`+"\n", x, y)
}

// across draws an edge from layer to layer.
func (d *drawing) across(r route) {
	e := &d.l.Edges[r.edge]
	from := r.via[0]
	x, y := from.x+from.w, from.y+outHeight(e.SrcPort)
	var p strings.Builder
	fmt.Fprintf(&p, "M%.1f %.1f", x, y)
	lx, ly := x, y // position of the label: before the first bend
	for i, b := range r.via[1:] {
		tx, ty := b.x, b.y
		if b.node >= 0 {
			ty += inHeight(d.l, e)
			tx -= 1
		}
		// The curve starts at the right end of its layer, whatever the width of
		// its own box, so that it does not pass under other boxes of the layer.
		if edge := d.right(r.via[i]); edge > x {
			fmt.Fprintf(&p, "H%.1f", edge)
			x = edge
		}
		if i == 0 {
			lx, ly = (x+tx)/2, (y+ty)/2
		}
		m := (x + tx) / 2
		fmt.Fprintf(&p, "C%.1f %.1f %.1f %.1f %.1f %.1f", m, y, m, ty, tx, ty)
		x, y = tx, ty
		if b.node < 0 {
			x += b.w
			fmt.Fprintf(&p, "H%.1f", x)
		}
	}
	d.path(e, p.String())
	d.labels(e, r.edge, lx, ly)
}

// right returns the right end of the widest box in a box's layer.
func (d *drawing) right(b *box) (x float64) {
	for _, o := range d.y.layers[b.layer] {
		x = max(x, o.x+o.w)
	}
	return x
}

// below draws an edge that leads back, below all boxes.
func (d *drawing) below(r route, k int) {
	e := &d.l.Edges[r.edge]
	from, to := r.via[0], r.via[1]
	x, y := from.x+from.w, from.y+outHeight(e.SrcPort)
	tx, ty := to.x-1, to.y+inHeight(d.l, e)
	low := d.y.h - footer - margin/2 - float64(d.y.lanes-1-k)*lanePath - 6
	right, left := d.right(from)+12+4*float64(k%4), tx-16-4*float64(k%4)
	const c = 8 // radius of corners
	p := fmt.Sprintf("M%.1f %.1fH%.1fq%d 0 %d %dV%.1fq0 %d -%d %dH%.1fq-%d 0 -%d -%dV%.1fq0 -%d %d -%dH%.1f",
		x, y, right-c, c, c, c, low-c, c, c, c, left+c, c, c, c, ty+c, c, c, c, tx)
	d.path(e, p)
	d.labels(e, r.edge, (right+left)/2, low)
}

func (d *drawing) path(e *graph.LinkedEdge, p string) {
	class := "e"
	switch {
	case e.Prefill > 0:
		class = "p"
	case e.Param >= 0:
		class = "m"
	}
	fmt.Fprintf(&d.b, `<path class="%s" marker-end="url(#a)" d="%s"/>`+"\n", class, p)
}

// labels writes an edge's rate and delay above a point, and its gates below.
func (d *drawing) labels(e *graph.LinkedEdge, i int, x, y float64) {
	d.middle(x, y-5, edgeLabel(d.l, i))
	if len(e.Gates) > 0 {
		fmt.Fprintf(&d.labelled, `<path class="d" d="M%.1f %.1fl5 5l-5 5l-5 -5z"/>`+"\n", x, y-5)
		d.middle(x, y+17, gateLabel(d.l.Plan, e.Edge))
	}
}

// middle writes text over a line: first its halo, since not every renderer
// would draw a stroke below the letters of the same text.
func (d *drawing) middle(x, y float64, s string) {
	if s == "" {
		return
	}
	for _, class := range []string{"w", "l"} {
		fmt.Fprintf(&d.labelled, `<text class="%s" text-anchor="middle" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, escape(s))
	}
}

func (d *drawing) text(x, y float64, class, s string) {
	if s != "" {
		fmt.Fprintf(&d.b, `<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, escape(s))
	}
}

// escape makes text safe for XML, which does not allow control characters.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, s)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
