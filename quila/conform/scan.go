package conform

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
)

// recurrent is the scan as it is written in the specification: a numerator and a
// denominator that decay at every element of the sequence.
func (g *rig) recurrent(p *neuron.Port, order []int32) []float64 {
	c, d := g.c, g.c.D
	var seq [][]float32
	for _, i := range order {
		seq = append(seq, g.step.X[int(i)*d:][:d])
	}
	for _, s := range p.Visible {
		projected := times(g.of(p.Name, "slot"), g.slot(g.step.Slots, s))
		row := make([]float32, d)
		for j, v := range projected {
			row[j] = float32(v)
		}
		seq = append(seq, row)
	}
	num, den := make([]float64, d), make([]float64, d)
	decay := g.of(p.Name, "w_decay")
	for _, x := range seq {
		k, v := times(g.of(p.Name, "w_k"), x), times(g.of(p.Name, "w_v"), x)
		for j := range d {
			keep := math.Exp(-math.Exp(float64(decay[j])))
			num[j] = keep*num[j] + math.Exp(k[j])*v[j]
			den[j] = keep*den[j] + math.Exp(k[j])
		}
	}
	r := times(g.of(p.Name, "w_r"), seq[len(seq)-1])
	for j := range d {
		pooled := num[j] / den[j]
		if c.Aggr == "sigmoid" {
			pooled = 1 / (1 + math.Exp(-pooled))
		}
		num[j] = pooled / (1 + math.Exp(-r[j]))
	}
	return num
}

func scanRow(t *report) {
	var worst, off float64
	for _, n := range []int{16, 256, 4096} {
		for _, form := range []string{"linear", "sigmoid"} {
			g := newRig(t, func(c *config.Config) { c.N, c.Aggr = n, form })
			order := make([]int32, n) // by community, in a network
			for i, id := range g.r.Perm(n) {
				order[i] = int32(id)
			}
			t.Must(g.ports.SetOrder(order))
			g.run()
			for i := range g.ports.List {
				p := &g.ports.List[i]
				d := g.detail(i)
				if len(d.Aggr) != g.c.D {
					t.Errorf("aggr of %d neurons has %d values, not %d", n, len(d.Aggr), g.c.D)
				}
				for j, want := range g.recurrent(p, order) {
					worst = math.Max(worst, math.Abs(float64(d.Aggr[j])-want))
				}
				var sum float64
				for _, w := range d.Scan {
					sum += float64(w)
				}
				off = math.Max(off, math.Abs(sum-1))
			}
		}
	}
	t.Within("difference from the recurrence", worst, 1e-5)
	t.Within("sum of the weights less 1", off, 1e-5)
	t.Figure("largest difference %.1e, weights sum to 1 within %.1e", worst, off)
}

func selfRow(t *report) {
	g := newRig(t, nil)
	g.run()
	before := make([][]float32, len(g.ports.List))
	for i := range before {
		before[i] = slices.Clone(g.detail(i).Aggr)
	}
	th := g.c.Thinkers
	// Table 6.2.2, written out.
	sees := func(p *neuron.Port, slot int) bool {
		thinker := slot >= 1 && slot <= th
		switch {
		case slot == p.Slot:
			return false
		case p.Kind == neuron.Planner:
			return thinker
		case p.Kind == neuron.Thinker:
			return slot == 0 || thinker || slot == p.Slot+th
		}
		return slot == p.Slot-th
	}
	for slot := range g.ports.Slots() {
		kept := slices.Clone(g.slot(g.step.Slots, slot))
		for j := range g.slot(g.step.Slots, slot) {
			g.slot(g.step.Slots, slot)[j] += 1
		}
		g.run()
		for i := range g.ports.List {
			p := &g.ports.List[i]
			if changed := !slices.Equal(g.detail(i).Aggr, before[i]); changed != sees(p, slot) {
				t.Errorf("aggr of %s changes with slot %d: %v", p.Name, slot, changed)
			}
		}
		copy(g.slot(g.step.Slots, slot), kept)
	}
	g.run()
	related := make([]bool, g.c.N)
	g.steps.Related(related, 0)
	for id, r := range related {
		by := false
		for i := range th {
			by = by || slices.Contains(g.detail(1+i).Mask, int32(id))
		}
		if by != r {
			t.Errorf("neuron %d is related to a Thinker: %v", id, r)
		}
	}
	g.step.Extra = make([]neuron.Extra[float32], len(g.ports.List))
	g.step.Extra[0].Allowed = related
	g.run()
	for _, id := range g.detail(0).Mask {
		if !related[id] {
			t.Errorf("the Planner attends to %d, which no Thinker did", id)
		}
	}
	t.Figure("%d ports × %d slots", len(g.ports.List), g.ports.Slots())
}

func utilityRow(t *report) {
	want := map[int]float64{1: .2, 2: .5, 3: .7, 4: .7, 5: .9}
	for phase, alpha := range want {
		a, b, c := neuron.Weighting(phase, []float64{0, .5})
		share := 1 / (1 + math.Exp(-.5))
		if math.Abs(a-alpha) > 1e-15 || math.Abs(b-(1-alpha)*share) > 1e-15 || math.Abs(c-(1-alpha)*(1-share)) > 1e-15 {
			t.Errorf("phase %d: α β γ are %v %v %v", phase, a, b, c)
		}
	}
	g := newRig(t, nil)
	for i := range g.ports.List { // b = γ's share: session trace ½, persistent ½
		clear(g.of(g.ports.List[i].Name, "abg"))
	}
	g.step.Trace, g.step.PTrace = nil, nil
	for i := range g.step.X { // weights of the scan that differ little
		g.step.X[i] *= .3
	}
	g.run()
	n := g.c.N
	for i := range g.ports.List {
		// A persistent trace that falls as the scan's weight rises.
		scan := slices.Clone(g.detail(i).Scan[:n])
		trace := make([]float32, n)
		for j, w := range scan {
			trace[j] = 1.01*slices.Max(scan) - w
		}
		name := g.ports.List[i].Name
		for phase, by := range map[int][]float32{1: trace, 5: scan} {
			g.step.Phase, g.step.PTrace = phase, trace
			g.run()
			u := g.detail(i).Utility
			for a := range n {
				for b := range n {
					if by[a] > by[b] && u[a] <= u[b] {
						t.Fatalf("%s in phase %d ranks neuron %d behind %d", name, phase, a, b)
					}
				}
			}
		}
		g.step.Phase, g.step.PTrace = 5, nil
	}
	t.Figure("α .2 .5 .7 .7 .9")
}

func topRow(t *report) {
	for _, k := range []int{1, 4, 12, 20} {
		g := newRig(t, func(c *config.Config) { c.KP = k })
		g.run()
		for i := range g.ports.List {
			d := g.detail(i)
			if d.Kind == neuron.Analysis {
				continue
			}
			want := min(k, g.c.N)
			if len(d.Mask) != want || !slices.IsSorted(d.Mask) {
				t.Errorf("mask of %s with k_p %d is %v", d.Name, k, d.Mask)
				continue
			}
			for id, u := range d.Utility {
				for _, m := range d.Mask {
					if !slices.Contains(d.Mask, int32(id)) && (u > d.Utility[m] || u == d.Utility[m] && int32(id) < m) {
						t.Errorf("%s selects %d before %d", d.Name, m, id)
					}
				}
			}
		}
		// Equal neurons that nothing forgets: all tie.
		for i := 1; i < g.c.N; i++ {
			copy(g.step.X[i*g.c.D:], g.step.X[:g.c.D])
		}
		g.step.Trace, g.step.PTrace = nil, nil
		for i := range g.ports.List {
			for j := range g.of(g.ports.List[i].Name, "w_decay") {
				g.of(g.ports.List[i].Name, "w_decay")[j] = -100
			}
		}
		g.run()
		for i := range g.ports.List {
			for j, m := range g.detail(i).Mask {
				if m != int32(j) {
					t.Errorf("ties of %s are %v", g.ports.List[i].Name, g.detail(i).Mask)
					break
				}
			}
		}
	}
	t.Figure("k_p 1, 4, 12 and 20 of 12 neurons")
}

func openRow(t *report) {
	g := newRig(t, nil)
	g.step.Phase = 2
	g.run()
	for i := range g.ports.List {
		d := g.detail(i)
		if n := g.c.KP + 2; len(d.H) != n*n || len(d.Merged) != n*g.c.D {
			t.Errorf("%s has %d values of merged", d.Name, len(d.Merged))
		}
		if d.Kind == neuron.Analysis {
			continue
		}
		if len(d.Mask) != g.c.N {
			t.Errorf("%s attends to %d of %d neurons", d.Name, len(d.Mask), g.c.N)
		}
		for j, w := range d.Weights {
			if w <= 0 {
				t.Errorf("%s gives neuron %d no weight", d.Name, j)
			}
		}
	}
	t.Figure("%d neurons, %d streams", g.c.N, g.c.KP+2)
}

func freshRow(t *report) {
	g := newRig(t, nil)
	clear(g.step.Trace)
	clear(g.step.PTrace)
	g.run()
	for i := range g.ports.List {
		d := g.detail(i)
		for a := range g.c.N {
			if u := float64(d.Utility[a]); math.IsNaN(u) || math.IsInf(u, 0) {
				t.Errorf("utility of %s is %v", d.Name, u)
			}
			for b := range g.c.N {
				if d.Scan[a] > d.Scan[b] && d.Utility[a] < d.Utility[b] {
					t.Errorf("%s ranks %d behind %d", d.Name, a, b)
				}
			}
		}
	}
	// No share for the scan, and a neuron without traces: its utility is 0.
	for i := range g.ports.List {
		g.of(g.ports.List[i].Name, "abg")[0] = -2
	}
	g.step.Phase = 2
	for i := range g.c.N {
		g.step.Trace[i], g.step.PTrace[i] = 1, 1
	}
	g.step.Trace[3], g.step.PTrace[3] = 0, 0
	g.run()
	least := math.Inf(1)
	for i := range g.ports.List {
		d := g.detail(i)
		if d.Kind == neuron.Analysis {
			continue
		}
		l := float64(d.Logits[3])
		if d.Utility[3] != 0 || math.IsInf(l, 0) || math.IsNaN(l) {
			t.Errorf("%s: utility %v has logit %v", d.Name, d.Utility[3], l)
		}
		least = math.Min(least, l)
	}
	t.Figure("logit at utility 0: %.1f", least)
}
