package conform

import (
	"errors"
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
)

// stochastic is Sinkhorn's matrix of logits in float64, row after row.
func (g *rig) stochastic(logits []float64) [][]float64 {
	n := int(math.Round(math.Sqrt(float64(len(logits)))))
	m := make([][]float64, n)
	for i := range m {
		for _, x := range logits[i*n : (i+1)*n] {
			m[i] = append(m[i], math.Exp(min(max(x, -g.c.WMax), g.c.WMax)))
		}
	}
	for range g.c.SinkhornN {
		for i := range m {
			var sum float64
			for _, x := range m[i] {
				sum += x
			}
			for j := range m[i] {
				m[i][j] /= sum
			}
		}
		for j := range n {
			var sum float64
			for i := range m {
				sum += m[i][j]
			}
			for i := range m {
				m[i][j] /= sum
			}
		}
	}
	return m
}

func double(x ...[]float32) []float64 {
	out := make([]float64, len(x[0]))
	for _, v := range x {
		for i := range out {
			out[i] += float64(v[i])
		}
	}
	return out
}

func interceptRow(t *report) {
	var rows, columns, worst float64
	for _, k := range []int{4, 20} {
		g := newRig(t, func(c *config.Config) { c.KP = k })
		g.run()
		n, d := k+2, g.c.D
		for i := range g.ports.List {
			x := g.detail(i)
			h := g.stochastic(double(g.of(x.Name, "mhc"), g.set.Of("port.base."+neuron.Kinds[x.Kind])))
			for a := range n {
				var row, column float64
				for b := range n {
					row, column = row+float64(x.H[a*n+b]), column+float64(x.H[b*n+a])
					worst = math.Max(worst, math.Abs(h[a][b]-float64(x.H[a*n+b])))
				}
				rows, columns = math.Max(rows, math.Abs(row-1)), math.Max(columns, math.Abs(column-1))
			}
			// The streams: aggr, attention, selected neurons ascending, zeros.
			streams := [][]float32{x.Aggr, x.OutNSA}
			for _, id := range x.Mask {
				streams = append(streams, g.step.X[int(id)*d:][:d])
			}
			merged := make([]float32, n*d)
			for a := range n {
				for b, s := range streams {
					for j, v := range s {
						merged[a*d+j] += float32(h[a][b]) * v
					}
				}
			}
			o := times(g.of(x.Name, "compress"), merged)
			for j, b := range g.of(x.Name, "compress_b") {
				worst = math.Max(worst, math.Abs(o[j]+float64(b)-float64(x.O[j])))
			}
		}
	}
	t.Within("row sum less 1", rows, 6.3e-3)
	t.Within("column sum less 1", columns, 1e-5)
	t.Within("difference from H·X through the compression", worst, 2e-5)
	t.Figure("rows within %.1e, columns %.1e, outputs %.1e", rows, columns, worst)
}

func alignRow(t *report) {
	g := newRig(t, nil)
	other := func(p *neuron.Port) []float32 {
		m := make([]float32, g.c.D)
		for _, s := range p.Other {
			for j, x := range g.slot(g.step.Slots, s) {
				m[j] += x / float32(len(p.Other))
			}
		}
		return m
	}
	var worst float64
	for _, far := range []bool{true, false} {
		for i := range g.ports.List {
			name := g.ports.List[i].Name
			g.of(name, "tau")[0] = 1e-3
			if !far {
				g.of(name, "tau")[0] = 1e3
			}
			for j := range g.of(name, "back") { // a scalar W_back of .25
				g.of(name, "back")[j] = float32(-math.Log(3))
			}
		}
		after := g.run()
		for i := range g.ports.List {
			x := g.detail(i)
			slot := g.slot(after, x.Slot)
			if !far {
				if !slices.Equal(slot, x.O) {
					t.Errorf("%s within τ is changed", x.Name)
				}
				continue
			}
			o := other(x.Port)
			worst = math.Max(worst, math.Abs(distance(slot, o)/distance(x.O, o)-.25))
			if x.Kind == neuron.Planner && len(x.Other) != g.c.Thinkers || x.Kind == neuron.Thinker && !slices.Equal(x.Other, []int{0}) ||
				x.Kind == neuron.Analysis && !slices.Equal(x.Other, []int{x.Slot - g.c.Thinkers}) {
				t.Errorf("%s is aligned to %v", x.Name, x.Other)
			}
		}
	}
	t.Within("contraction less W_back", worst, 1e-5)
	t.Figure("contraction .25 within %.1e", worst)
}

func pathRow(t *report) {
	g := newRig(t, nil)
	codes := neuron.NewCodes(g.normal(10*g.c.DE, 1), g.c.DE, 1)
	read := g.normal(g.c.DE*g.c.D, .1)
	for _, kind := range []neuron.Kind{neuron.Planner, neuron.Thinker, neuron.Analysis} {
		if _, err := codes.PathA(kind, read, nil, nil); !errors.Is(err, neuron.ErrPath) {
			t.Errorf("%s may reach the codebook: %v", neuron.Kinds[kind], err)
		}
	}
	generator, err := codes.PathA(neuron.GeneratorPort, read, nil, nil)
	t.Must(err)
	tool, err := codes.PathA(neuron.ToolPort, read, nil, nil)
	t.Must(err)
	logits := make([]float32, 10)
	for range 5 {
		g.run()
		generator.Logits(logits, g.step.M)
	}
	tool.Logits(logits, g.step.M)
	var others int64
	for kind, n := range codes.Reads {
		if k := neuron.Kind(kind); k != neuron.GeneratorPort && k != neuron.ToolPort {
			others += n
		}
	}
	if codes.Reads[neuron.GeneratorPort] != 5 || codes.Reads[neuron.ToolPort] != 1 || others != 0 {
		t.Errorf("reads by kind: %v", codes.Reads)
	}
	t.Figure("reads: generator %d, tool %d, others %d", codes.Reads[neuron.GeneratorPort], codes.Reads[neuron.ToolPort], others)
}

func shareRow(t *report) {
	g := newRig(t, nil)
	baseline, deltas := map[neuron.Kind]*float32{}, map[*float32]string{}
	for i := range g.ports.List {
		p := &g.ports.List[i]
		names := g.ports.Operands(i)
		if !slices.Contains(names, "port."+p.Name+".mhc") {
			t.Errorf("%s has no delta", p.Name)
		}
		base := &g.set.Of("port.base." + neuron.Kinds[p.Kind])[0]
		if !slices.Contains(names, "port.base."+neuron.Kinds[p.Kind]) || baseline[p.Kind] != nil && baseline[p.Kind] != base {
			t.Errorf("%s has another baseline", p.Name)
		}
		baseline[p.Kind] = base
		delta := &g.of(p.Name, "mhc")[0]
		if deltas[delta] != "" {
			t.Errorf("%s has the delta of %s", p.Name, deltas[delta])
		}
		deltas[delta] = p.Name
		for _, n := range names {
			if n == "n.mhc" {
				t.Errorf("%s reads the neurons' matrices", p.Name)
			}
		}
	}
	g.run()
	before := make([][]float32, len(g.ports.List))
	keep := func() {
		for i := range before {
			before[i] = slices.Clone(g.detail(i).H)
		}
	}
	changed := func(want func(p *neuron.Port) bool, what string) {
		g.run()
		for i := range g.ports.List {
			if c := !slices.Equal(before[i], g.detail(i).H); c != want(&g.ports.List[i]) {
				t.Errorf("%s changes the matrix of %s: %v", what, g.ports.List[i].Name, c)
			}
		}
		keep()
	}
	keep()
	g.set.Of("port.base.thinker")[1] += .5
	changed(func(p *neuron.Port) bool { return p.Kind == neuron.Thinker }, "the Thinkers' baseline")
	g.of("thinker.1", "mhc")[1] += .5
	changed(func(p *neuron.Port) bool { return p.Name == "thinker.1" }, "a delta")
	t.Figure("%d baselines, %d deltas", len(baseline), len(deltas))
}

func generatorRow(t *report) {
	g := newRig(t, nil)
	d, th := g.c.D, g.c.Thinkers
	logits := g.set.Of("port.generator.mhc")
	h := g.stochastic(double(logits))
	var worst float64
	for _, idle := range [][]bool{nil, {false, true, false}, {false, true, true}} {
		g.step.Idle = idle
		g.run()
		// The merge and row 0 of H·[m; o], in float64.
		var weights []float64
		var total float64
		os := make([][]float32, th)
		for j := range th {
			x := g.detail(1 + j)
			os[j] = x.O
			var conf, util float64
			for _, id := range x.Mask {
				conf += float64(x.Weights[id]) * float64(g.step.Conf[id])
				util += float64(x.Weights[id]) * float64(g.step.Utility[id])
			}
			w := math.Exp(conf * util)
			if idle != nil && idle[j] {
				w = 0
			}
			weights, total = append(weights, w), total+w
		}
		for i := range d {
			var m float64
			for j, w := range weights {
				m += w / total * float64(os[j][i])
			}
			out := h[0][0] * m
			for j := range th {
				if idle != nil && idle[j] {
					out += h[0][1+j] * m
				} else {
					out += h[0][1+j] * float64(os[j][i])
				}
			}
			worst = math.Max(worst, math.Abs(out-float64(g.step.M[i])))
		}
	}
	t.Within("difference from row 0 of H·[m; o]", worst, 2e-5)
	m := g.normal(d, 1)
	var equal []float32
	for range th {
		equal = append(equal, m...)
	}
	var drift float64
	for range 20 {
		random := g.normal(len(logits), 1)
		out := make([]float32, d)
		neuron.Generator(out, m, equal, neuron.Intercept(g.c, random))
		drift = math.Max(drift, distance(out, m)/norm(m))
	}
	t.Within("‖m′ − m‖ ÷ ‖m‖ where every Thinker says m", drift, .01)
	t.Figure("outputs within %.1e, drift %.1e", worst, drift)
}

func bufferRow(t *report) {
	g := newRig(t, nil)
	b := neuron.NewBuffer[float32](g.c)
	if b.Places() != 2*g.c.Thinkers+3 {
		t.Errorf("%d places for %d Thinkers", b.Places(), g.c.Thinkers)
	}
	d := g.c.D
	for _, name := range []string{"planner", "contra"} {
		col := neuron.NewCollector(g.set, name)
		state, dst := g.normal(d, 1), make([]float32, d)
		states := make([][]float32, b.Places())
		for i := range states {
			states[i] = g.normal(d, 1)
			b.Write(i, states[i])
		}
		b.Write(2, states[3]) // a later write replaces
		states[2] = states[3]
		weights := slices.Clone(col.Collect(dst, b, state))
		q := times(g.set.Of("agg."+name+".q"), state)
		var scores []float64
		var total float64
		for _, s := range states {
			var dot float64
			for j, k := range times(g.set.Of("agg."+name+".k"), s) {
				dot += q[j] * k
			}
			e := math.Exp(dot / math.Sqrt(float64(d)))
			scores, total = append(scores, e), total+e
		}
		want := make([]float64, d)
		var worst float64
		for i, s := range states {
			worst = math.Max(worst, math.Abs(scores[i]/total-float64(weights[i])))
			for j, v := range times(g.set.Of("agg."+name+".v"), s) {
				want[j] += scores[i] / total * v
			}
		}
		for j := range want {
			worst = math.Max(worst, math.Abs(want[j]-float64(dst[j])))
		}
		t.Within("difference of what "+name+" collects", worst, 1e-5)
		t.Figure("%s within %.1e", name, worst)
		b.Clear()
		col.Collect(dst, b, state)
		if norm(dst) != 0 {
			t.Errorf("a cleared buffer gives %v", dst)
		}
	}
	// Nothing in it is learned: no tensor belongs to it but the collectors'.
	for _, s := range g.set.Specs {
		if len(s.Name) > 4 && s.Name[:4] == "agg." && s.Name[:12] != "agg.planner." && s.Name[:11] != "agg.contra." {
			t.Errorf("the buffer has the tensor %s", s.Name)
		}
	}
}
