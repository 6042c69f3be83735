package signal

import (
	"slices"

	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// Bind returns the call as a closure, reporting once if the report is constant.
func (f *filter[F]) Bind(c *node.Call[F]) func() {
	if f.framed(c.Param) {
		return node.Bind(f.Reporter, c, func() { f.run(c) })
	}
	f.tune(c.Param)
	var w watch[F]
	w.add(c.Param[:f.params])
	y, x, stride, n := c.Out[0].Data, c.In[0].Data, c.In[0].N, c.Tokens
	designs := f.designs
	return node.Bind(f.Reporter, c, func() {
		if w.changed() || designs != f.designs {
			f.tune(c.Param)
			designs = f.designs
		}
		f.moveState(0)
		f.own.Forward(y, x, stride, n)
	})
}

// Fuse places the rows of several filters side by side in one bank. A filter's
// state migrates there when the closure runs, and back when a single call is
// made.
func (f *filter[F]) Fuse(others []node.Instance[F], calls []*node.Call[F]) (func(), bool) {
	all, ok := f.cohort(others, calls)
	if !ok {
		return nil, false
	}
	rows := 0
	for _, g := range all {
		rows += len(g.tuned)
	}
	bank, first, moved := dsp.NewBank[F](rows), 0, true
	places, designs, heat := make([]int, len(all)), make([]int, len(all)), false
	var w watch[F]
	for i, g := range all {
		places[i] = len(g.places)
		g.places, g.ready = append(g.places, place[F]{bank, first, &moved}), false
		g.tune(calls[i].Param)
		w.add(calls[i].Param[:g.params])
		node.Report(g.Reporter, calls[i])
		heat = heat || calls[i].Param[g.params].Framed
		for r := range g.tuned {
			bank.Bind(first+r, calls[i].Out[0].Row(r), calls[i].In[0].Row(r))
		}
		first, designs[i] = first+len(g.tuned), g.designs
	}
	n := calls[0].Tokens
	return func() {
		changed := w.changed()
		for i, g := range all { // another call may have designed it for values between those that w saw
			changed = changed || designs[i] != g.designs
		}
		if changed {
			for i, g := range all {
				g.tune(calls[i].Param)
				designs[i] = g.designs
			}
		}
		if moved {
			for i, g := range all {
				g.moveState(places[i])
			}
			moved = false
		}
		bank.Run(n)
		if heat {
			for i, g := range all {
				node.Report(g.Reporter, calls[i])
			}
		}
	}, true
}

// cohort returns the filters of a fusion if they can be fused.
func (f *filter[F]) cohort(others []node.Instance[F], calls []*node.Call[F]) ([]*filter[F], bool) {
	all := []*filter[F]{f}
	for _, o := range others {
		g, ok := o.(*filter[F])
		if !ok || slices.Contains(all, g) {
			return nil, false
		}
		all = append(all, g)
	}
	for i, g := range all {
		if g.framed(calls[i].Param) || calls[i].Tokens != calls[0].Tokens {
			return nil, false
		}
	}
	return all, true
}

// A watch detects changes of constant parameters by the host, which is far
// cheaper than comparing every row with its design.
type watch[F node.Float] struct {
	at  []*F
	was []F
}

func (w *watch[F]) add(p []node.Param[F]) {
	for i := range p {
		for k := range p[i].B * p[i].C {
			w.at, w.was = append(w.at, &p[i].Data[k]), append(w.was, p[i].Data[k])
		}
	}
}

// changed reports each change once.
func (w *watch[F]) changed() bool {
	yes := false
	for i, at := range w.at {
		if v := *at; v != w.was[i] {
			w.was[i], yes = v, true
		}
	}
	return yes
}
