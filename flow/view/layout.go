package view

import (
	"slices"

	"atenia/flow/graph"
)

// A box is a node of the drawing, or a waypoint of a long edge in a layer it
// crosses.
type box struct {
	node       int // -1: a waypoint
	layer      int
	x, y       float64 // of the upper left corner
	w, h       float64
	lines      []string
	before     []link // boxes of the preceding layer, and where edges meet
	after      []link
	barycentre float64
}

// A link joins two boxes of neighbouring layers.
type link struct {
	box      *box
	own, far float64 // heights of the ends, from the tops of the boxes
}

// A route is an edge with its boxes; the first and last are nodes.
type route struct {
	edge int
	via  []*box
	back bool // to the same layer or an earlier one: drawn below
}

// A layout holds all positions.
type layout struct {
	l      *graph.Linked
	boxes  []*box // of nodes, by index
	layers [][]*box
	routes []route
	gaps   []float64 // between layers
	w, h   float64
	lanes  int // routes below the boxes
}

// Distances, in pixels.
const (
	margin   = 24.0
	rowGap   = 26.0
	layerGap = 56.0
	lanePath = 22.0
	sweeps   = 12
)

// arrange places all boxes; size says how large a node's is.
func arrange(l *graph.Linked, size func(node int) *box, label func(edge int) float64) *layout {
	y := &layout{l: l}
	depth := 0
	for i := range l.Nodes {
		b := size(i)
		b.node, b.layer = i, max(0, l.Nodes[i].Stage)
		depth = max(depth, b.layer+1)
		y.boxes = append(y.boxes, b)
	}
	y.layers, y.gaps = make([][]*box, depth), make([]float64, depth)
	for _, b := range y.boxes {
		y.layers[b.layer] = append(y.layers[b.layer], b)
	}
	for i := range l.Edges {
		y.join(i, label(i))
	}
	y.order()
	y.place()
	return y
}

// join routes an edge.
func (y *layout) join(i int, label float64) {
	e := &y.l.Edges[i]
	from, to := y.boxes[e.Src], y.boxes[e.Dst]
	r := route{edge: i, via: []*box{from}, back: to.layer <= from.layer}
	if r.back {
		r.via = append(r.via, to)
		y.routes = append(y.routes, r)
		y.lanes++
		return
	}
	y.gaps[from.layer] = max(y.gaps[from.layer], label)
	own := outHeight(e.SrcPort)
	for at := from; at != to; {
		next, far := to, inHeight(y.l, e)
		if at.layer+1 < to.layer {
			next, far = &box{node: -1, layer: at.layer + 1}, 0
			y.layers[next.layer] = append(y.layers[next.layer], next)
		}
		at.after = append(at.after, link{next, own, far})
		next.before = append(next.before, link{at, far, own})
		r.via = append(r.via, next)
		at, own = next, far
	}
	y.routes = append(y.routes, r)
}

// order reduces crossings: each layer in turn is sorted by the mean position of
// its neighbours.
func (y *layout) order() {
	for sweep := range sweeps {
		for k := range y.layers {
			layer, near := y.layers[k], func(b *box) []link { return b.before }
			if sweep%2 == 1 {
				layer, near = y.layers[len(y.layers)-1-k], func(b *box) []link { return b.after }
			}
			for i, b := range layer {
				b.barycentre = float64(i)
				if n := near(b); len(n) > 0 {
					sum := 0.0
					for _, a := range n {
						sum += float64(slices.Index(y.layers[a.box.layer], a.box)) + a.far*1e-4
					}
					b.barycentre = sum / float64(len(n))
				}
			}
			slices.SortStableFunc(layer, func(a, b *box) int {
				switch {
				case a.barycentre < b.barycentre:
					return -1
				case a.barycentre > b.barycentre:
					return 1
				}
				return 0
			})
		}
	}
}

// place gives boxes their coordinates.
func (y *layout) place() {
	x := margin
	for k, layer := range y.layers {
		wide, at := 0.0, margin
		for _, b := range layer {
			wide = max(wide, b.w)
			b.y = at
			at += b.h + rowGap
		}
		for _, b := range layer {
			b.x = x
			if b.node < 0 {
				b.w = wide
			}
		}
		x += wide
		if k < len(y.layers)-1 {
			x += max(layerGap, y.gaps[k]+28)
		}
	}
	y.w = x + margin
	if y.lanes > 0 {
		y.w += lanePath // where edges of the last layer bend
	}
	for sweep := range sweeps {
		for k := range y.layers {
			layer := y.layers[k]
			if sweep%2 == 1 {
				layer = y.layers[len(y.layers)-1-k]
			}
			level(layer, sweep%2 == 1 || sweep >= sweeps-2)
		}
	}
	low, high := y.boxes[0].y, 0.0
	for _, layer := range y.layers {
		for _, b := range layer {
			low, high = min(low, b.y), max(high, b.y+b.h)
		}
	}
	for _, layer := range y.layers {
		for _, b := range layer {
			b.y += margin + header - low
		}
	}
	y.h = high - low + 2*margin + header + float64(y.lanes)*lanePath + footer
}

// level moves the boxes of a layer so that their edges run as straight as order
// and distances allow: isotonic regression by pool-adjacent-violators (Ayer and
// others, 1955).
func level(layer []*box, both bool) {
	type pool struct {
		sum, n float64
		boxes  int
	}
	var pools []pool
	offset := 0.0
	for _, b := range layer {
		want, n := b.y, 1e-3
		for _, a := range b.before {
			want += (a.box.y + a.far - a.own - b.y) / float64(len(b.before))
			n = 1
		}
		if both && len(b.after) > 0 {
			sum := 0.0
			for _, a := range b.after {
				sum += a.box.y + a.far - a.own
			}
			if mean := sum / float64(len(b.after)); len(b.before) > 0 {
				want = (want + mean) / 2
			} else {
				want = mean
			}
			n = 1
		}
		pools = append(pools, pool{(want - offset) * n, n, 1})
		for len(pools) > 1 {
			p, q := pools[len(pools)-2], pools[len(pools)-1]
			if p.sum/p.n <= q.sum/q.n {
				break
			}
			pools = append(pools[:len(pools)-2], pool{p.sum + q.sum, p.n + q.n, p.boxes + q.boxes})
		}
		offset += b.h + rowGap
	}
	i := 0
	offset = 0
	for _, p := range pools {
		for range p.boxes {
			layer[i].y = p.sum/p.n + offset
			offset += layer[i].h + rowGap
			i++
		}
	}
}
