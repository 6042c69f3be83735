package biquad

import (
	"atenia/flow/node"
	"atenia/internal/dsp"
)

// Bind gives the bank the rows' places once.
func (f *filter[F]) Bind(c *node.Call[F]) func() {
	node.Report(f.Reporter, c)
	if f.bank != f.own || f.framed(c.Param) {
		return func() { f.Forward(c) }
	}
	for r := range f.tuned {
		f.own.Bind(r, c.Out[0].Row(r), c.In[0].Row(r))
	}
	f.tune(c.Param)
	var w watch[F]
	w.add(c.Param[:f.params])
	n, heat := c.Tokens, c.Param[f.params].Framed
	return func() {
		if w.changed() {
			f.tune(c.Param)
		}
		f.own.Run(n)
		if heat {
			node.Report(f.Reporter, c)
		}
	}
}

// Fuse moves the rows of several filters into one bank, where they stay.
func (f *filter[F]) Fuse(others []node.Instance[F], calls []*node.Call[F]) (func(), bool) {
	all, rows, heat := []*filter[F]{f}, len(f.tuned), false
	for _, o := range others {
		g, ok := o.(*filter[F])
		if !ok {
			return nil, false
		}
		all, rows = append(all, g), rows+len(g.tuned)
	}
	for i, g := range all {
		if g.bank != g.own || g.framed(calls[i].Param) || calls[i].Tokens != calls[0].Tokens {
			return nil, false
		}
		heat = heat || calls[i].Param[g.params].Framed
	}
	bank, first := dsp.NewBank[F](rows), 0
	var w watch[F]
	for i, g := range all {
		g.bank, g.first, g.ready = bank, first, false
		g.put()
		g.tune(calls[i].Param)
		w.add(calls[i].Param[:g.params])
		node.Report(g.Reporter, calls[i])
		for r := range g.tuned {
			bank.Bind(first+r, calls[i].Out[0].Row(r), calls[i].In[0].Row(r))
		}
		first += len(g.tuned)
	}
	n := calls[0].Tokens
	return func() {
		if w.changed() {
			for i, g := range all {
				g.tune(calls[i].Param)
			}
		}
		bank.Run(n)
		if heat {
			for i, g := range all {
				node.Report(g.Reporter, calls[i])
			}
		}
	}, true
}

// A watch looks whether the host has changed constant parameters: that takes
// far less time than asking every row for what it was designed.
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

// changed reports a change once.
func (w *watch[F]) changed() bool {
	yes := false
	for i, at := range w.at {
		if v := *at; v != w.was[i] {
			w.was[i], yes = v, true
		}
	}
	return yes
}
