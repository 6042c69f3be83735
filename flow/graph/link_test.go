package graph_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow/graph"
)

func link(t testing.TB, text string, frames int) *graph.Linked {
	t.Helper()
	l, err := graph.Link(parse(t, text), catalog{}, graph.Options{BlockFrames: frames})
	if err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	return l
}

// refused links an invalid text and returns the error.
func refused(t testing.TB, text string) *graph.Error {
	t.Helper()
	_, err := graph.Link(parse(t, text), catalog{}, graph.Options{BlockFrames: 8})
	e, ok := errors.AsType[*graph.Error](err)
	if !ok {
		t.Fatalf("%v\n%.400s", err, text)
	}
	return e
}

// TestLinkExample links the example of the format's text, which names a node
// that it does not declare.
func TestLinkExample(t *testing.T) {
	t.Parallel()
	t.Run("A19", func(t *testing.T) {
		e := refused(t, seedGraph)
		if e.Code != graph.UnknownNode || e.Path != "$.graph.edges[0].target" || !slices.Equal(e.Names, []string{"Downsample"}) {
			t.Errorf("%v", e)
		}
		with := strings.Replace(seedGraph, `"nodes": [`, `"nodes": [{"name": "Downsample", "params": {"factor": 8}},`, 1)
		l := link(t, with, 64)
		x := &l.Edges[0]
		if x.Hold != 192 || x.Prefill != 0 || x.Rate != (graph.Rat{Num: 8, Den: 1}) || l.Nodes[0].Rate != (graph.Rat{Num: 1, Den: 1}) || l.Nodes[0].Tokens != 64 {
			t.Errorf("%+v", x)
		}
	})
}

// TestGateDeadlock: a gate must not make a node wait for its descendants.
func TestGateDeadlock(t *testing.T) {
	t.Parallel()
	t.Run("A31", func(t *testing.T) {
		e := refused(t, `{"nodes":[{"name":"x","type":"Input"},{"name":"a","type":"Gain"},{"name":"b","type":"Gain"},{"name":"o","type":"Probe"}],
			"edges":[{"source":"x","target":"a","synchrony_gates":[7]},{"source":"a","target":"b"},{"source":"b","target":"o","synchrony_gates":[7]}]}`)
		if e.Code != graph.Deadlock || e.Path != "$.edges" || !slices.Equal(e.Names, []string{"a", "b"}) || !strings.Contains(e.Error(), "a → b") {
			t.Errorf("%v", e)
		}
	})
	// The same gate as a tempo waits for no edge, and a prefill lets a wait pass.
	for _, more := range []string{`,"delay_frames":8,"delay_kind":"prefill"}],"gates":[]`, `}],"gates":[{"id":7,"kind":"tempo","period_frames":4}]`} {
		link(t, `{"nodes":[{"name":"x","type":"Input"},{"name":"a","type":"Gain"},{"name":"o","type":"Probe"}],
			"edges":[{"source":"x","target":"a","synchrony_gates":[7]},{"source":"a","target":"o","synchrony_gates":[7]`+more+`}`, 8)
	}
}

// TestHeatParam checks the shape of the reserved parameter: 1 or a block.
func TestHeatParam(t *testing.T) {
	t.Parallel()
	t.Run("A24", func(t *testing.T) {
		const text = `{"nodes":[{"name":"k","type":"Constant"},{"name":"g","type":"Gain","params":{"thermo.heat":{"shape":[1,1,%d],"data":[%s]}}}],"edges":[{"source":"k","target":"g"}]}`
		e := refused(t, fmt.Sprintf(text, 3, "0,0,0"))
		if e.Code != graph.BadShape || e.Path != `$.nodes[1].params["thermo.heat"]` || !strings.Contains(e.Text, "[1, 1, 3]") || !strings.Contains(e.Text, "[1, 1, 8]") {
			t.Errorf("%v", e)
		}
		link(t, fmt.Sprintf(text, 8, "0,0,0,0,0,0,0,0"), 8)
	})
}

// TestNodeNamesWithDots: the longest name that fits is meant.
func TestNodeNamesWithDots(t *testing.T) {
	t.Parallel()
	l := link(t, `{"nodes":[{"name":"a","type":"Input"},{"name":"a.out","type":"Input"},{"name":"o","type":"Probe"},{"name":"p","type":"Probe"},{"name":"q","type":"Probe"}],
		"edges":[{"source":"a.out.out","target":"o.in"},{"source":"a.out","target":"p"},{"source":"a.","target":"q"}]}`, 8)
	for i, want := range []int{1, 1, 0} {
		if l.Edges[i].Src != want {
			t.Errorf("edge %d comes from node %d, want %d", i, l.Edges[i].Src, want)
		}
	}
}

// TestFaultOrder: of two faults the one that the earlier step finds is reported,
// independent of their positions.
func TestFaultOrder(t *testing.T) {
	t.Parallel()
	faults := []struct {
		nodes, edges string
		code         graph.Code
		path         string
	}{
		{`,{"name":"x","type":"Gain"}`, ``, graph.Malformed, ".name"},
		{``, `,{"source":"ghost","target":"d"}`, graph.UnknownNode, ".source"},
		{`,{"name":"t","type":"NoSuch"}`, ``, graph.UnknownNode, ".type"},
		{``, `,{"source":"x.side","target":"d"}`, graph.Malformed, ".source"},
		{`,{"name":"u","type":"Gain"}`, ``, graph.Malformed, "]"}, // unconnected
		{`,{"name":"h","type":"Downsample"},{"name":"v","type":"Mix"}`, `,{"source":"x","target":"h"},{"source":"h","target":"v.in0"},{"source":"x","target":"v.in1"}`, graph.Malformed, "]"},
		{`,{"name":"f","type":"Downsample","params":{"factor":16}}`, `,{"source":"x","target":"f"}`, graph.Malformed, "]"},
		{`,{"name":"r","type":"Gain","pdc":"trim"}`, `,{"source":"r","target":"r","delay_frames":3}`, graph.Malformed, ".pdc"},
		{`,{"name":"w","type":"Gain"}`, `,{"source":"w","target":"w","delay_frames":3,"delay_kind":"hold"}`, graph.Malformed, ".delay_kind"},
		{`,{"name":"i","type":"Gain"}`, `,{"source":"i","target":"i"}`, graph.Deadlock, ".edges"},
		{`,{"name":"j","type":"Gain"},{"name":"k","type":"Gain"}`, `,{"source":"x","target":"j","synchrony_gates":[1]},{"source":"j","target":"k","synchrony_gates":[1]}`, graph.Deadlock, ".edges"},
		{`,{"name":"c","type":"Gain","params":{"gain":{"shape":[1,2,1],"data":[1,2]}}}`, `,{"source":"x","target":"c"}`, graph.BadShape, ".gain"},
	}
	for i, f := range faults {
		for _, g := range faults[i:] {
			e := refused(t, `{"nodes":[{"name":"x","type":"Input"},{"name":"d","type":"Gain"}`+g.nodes+strings.TrimSuffix(f.nodes, g.nodes)+
				`],"edges":[{"source":"x","target":"d"}`+g.edges+strings.TrimSuffix(f.edges, g.edges)+`]}`)
			if e.Code != f.code || !strings.HasSuffix(e.Path, f.path) {
				t.Errorf("%s%s before %s%s: %v", f.nodes, f.edges, g.nodes, g.edges, e)
			}
		}
	}
}

// TestSubBlocks compares the least prefill of cycles with the answer of all
// shortest paths, in graphs of several rates.
func TestSubBlocks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	small := 0
	for range 300 {
		n, frames := 2+r.IntN(9), 16<<r.IntN(3)
		text, inputs := &strings.Builder{}, make([]int, n)
		level := make([]int, n) // the rate is 2^level
		for v := range level {
			level[v] = r.IntN(3)
		}
		var edges []string
		for range n + r.IntN(2*n) {
			a, b := r.IntN(n), r.IntN(n)
			if level[a] != level[b] {
				continue
			}
			delay := 0
			if b <= a {
				delay = 1 + r.IntN(2*frames)
			} else if r.IntN(2) == 0 {
				delay = r.IntN(frames)
			}
			edges = append(edges, fmt.Sprintf(`{"source":"v%d","target":"v%d.in%d","delay_frames":%d,"delay_kind":"prefill"}`, a, b, inputs[b], delay))
			inputs[b]++
		}
		text.WriteString(`{"nodes":[{"name":"x0","type":"Input"},{"name":"x1","type":"Input","params":{"rate_num":2}},{"name":"x2","type":"Input","params":{"rate_num":4}}`)
		for v := range n {
			fmt.Fprintf(text, `,{"name":"v%d","type":"Mix","params":{"inputs":%d}}`, v, inputs[v]+1)
			edges = append(edges, fmt.Sprintf(`{"source":"x%d","target":"v%d.in%d"}`, level[v], v, inputs[v]))
		}
		l := link(t, text.String()+`],"edges":[`+strings.Join(edges, ",")+`]}`, frames)
		want := leastCycles(l)
		for v := range l.Nodes {
			if c := l.Nodes[v].Comp; (c >= 0) != (want[v] > 0) || c >= 0 && l.Sub[c].Float() != want[v] {
				t.Fatalf("node %s: component %d, want %v of %v\n%s", l.Nodes[v].Name, c, want[v], l.Sub, text)
			} else if c >= 0 && want[v] < float64(frames) {
				small++
			}
		}
	}
	if small < 100 {
		t.Errorf("only %d nodes in small sub-blocks", small)
	}
}

// leastCycles returns for every node the least prefill of cycles of its
// component, at most a block, 0 outside of cycles (Floyd and Warshall).
func leastCycles(l *graph.Linked) []float64 {
	const far = 1e18
	n := len(l.Nodes)
	d := make([][]float64, n)
	for a := range d {
		d[a] = slices.Repeat([]float64{far}, n)
	}
	for i := range l.Edges {
		e := &l.Edges[i]
		d[e.Src][e.Dst] = min(d[e.Src][e.Dst], float64(e.Prefill)/e.Rate.Float())
	}
	for k := range n {
		for a := range n {
			for b := range n {
				d[a][b] = min(d[a][b], d[a][k]+d[k][b])
			}
		}
	}
	out := make([]float64, n)
	for v := range n {
		if d[v][v] >= far {
			continue
		}
		out[v] = float64(l.BlockFrames)
		for w := range n {
			if d[v][w] < far && d[w][v] < far {
				out[v] = min(out[v], d[w][w])
			}
		}
	}
	return out
}

// TestPadding: a node that requests padding delays parallel paths.
func TestPadding(t *testing.T) {
	t.Parallel()
	const text = `{"nodes":[{"name":"x","type":"Input"},{"name":"f","type":"FIR","pdc":"pad","declared_delay":%d},{"name":"u","type":"Upsample"},{"name":"d","type":"Downsample"},{"name":"m","type":"Mix"},{"name":"o","type":"Probe"}],
		"edges":[{"source":"x","target":"u"},{"source":"u","target":"f"},{"source":"f","target":"d"},{"source":"d","target":"m.in0"},{"source":"x","target":"m.in1"},{"source":"m","target":"o"}]}`
	l := link(t, fmt.Sprintf(text, 6), 8)
	for i, want := range []int{0, 0, 0, 0, 3, 0} {
		if e := &l.Edges[i]; e.Prefill != want || e.Hold != 0 {
			t.Errorf("edge %d: hold %d, prefill %d, want %d", i, e.Hold, e.Prefill, want)
		}
	}
	if e := refused(t, fmt.Sprintf(text, 7)); e.Code != graph.Malformed || e.Path != "$.edges[4]" {
		t.Errorf("%v", e)
	}
}

// TestIPLSOrder: a supplied schedule is the order, as far as gates allow.
func TestIPLSOrder(t *testing.T) {
	t.Parallel()
	const text = `{"nodes":[{"name":"a","type":"Input"},{"name":"b","type":"Input"},{"name":"o","type":"Probe"},{"name":"p","type":"Probe"}],
		"edges":[{"source":"a","target":"o"%s},{"source":"b","target":"p"%[1]s}],
		"ipls":{"stages":[{"cohorts":[{"type":"Input","nodes":["b"]}]},{"cohorts":[{"type":"Probe","nodes":["p"]},{"type":"Input","nodes":["a"]}]},{"cohorts":[{"type":"Probe","nodes":["o"]}]}]}}`
	for gate, want := range map[string][]int{"": {1, 3, 0, 2}, `,"synchrony_gates":[2]`: {1, 0, 3, 2}} {
		if l := link(t, fmt.Sprintf(text, gate), 8); !slices.Equal(l.Order, want) || l.Nodes[0].Stage != 1 || l.Nodes[2].Stage != 2 {
			t.Errorf("%s: order %v, want %v", gate, l.Order, want)
		}
	}
}

// TestWideningLoop: a loop whose channels grow on every way round has no shape.
func TestWideningLoop(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"nodes":[{"name":"x","type":"Input"},{"name":"m","type":"Merge"}],"edges":[{"source":"x","target":"m.in0"},{"source":"m","target":"m.in1","delay_frames":1}]}`)
	if e.Code != graph.BadShape || e.Path != "$.nodes[1]" {
		t.Errorf("%v", e)
	}
}

// large is a graph of n nodes with three inputs each, a tenth of the edges
// backwards with a delay.
func large(n int) string {
	r := rand.New(rand.NewPCG(5, 6))
	var nodes, edges strings.Builder
	nodes.WriteString(`{"nodes":[{"name":"x","type":"Input"}`)
	for v := range n {
		fmt.Fprintf(&nodes, `,{"name":"v%d","type":"Mix","params":{"inputs":3}}`, v)
		for k := range 3 {
			if v == 0 || k > 0 && r.IntN(5) == 0 {
				fmt.Fprintf(&edges, `,{"source":"v%d","target":"v%d.in%d","delay_frames":%d}`, v+r.IntN(n-v), v, k, 1+r.IntN(500))
			} else {
				fmt.Fprintf(&edges, `,{"source":"v%d","target":"v%d.in%d"}`, r.IntN(v), v, k)
			}
		}
	}
	return nodes.String() + `],"edges":[` + edges.String()[1:] + `]}`
}

// BenchmarkLink reads and links 20,000 nodes with 60,000 edges.
func BenchmarkLink(b *testing.B) {
	text := []byte(large(20000))
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := graph.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	p := parse(b, string(text))
	b.Run("link", func(b *testing.B) {
		for b.Loop() {
			if _, err := graph.Link(p, catalog{}, graph.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// FuzzLink requires, for any text that parses, a typed error or a linked plan
// whose order has every node once, after the nodes it depends on.
func FuzzLink(f *testing.F) {
	f.Add([]byte(seedGraph), 64)
	f.Add([]byte(`{"nodes":[{"name":"x","type":"Input"},{"name":"m","type":"Mix"},{"name":"o","type":"Probe"}],"edges":[{"source":"x","target":"m.in0"},{"source":"m","target":"m.in1","delay_frames":3},{"source":"m","target":"o","synchrony_gates":[1]}]}`), 8)
	f.Add([]byte(`{"nodes":[{"name":"x","type":"Input","params":{"rate_num":3,"rate_den":2}},{"name":"f","type":"FIR","pdc":"pad","declared_delay":3}],"edges":[{"source":"x","target":"f"}],"ipls":{"stages":[{"cohorts":[{"type":"Input","nodes":["x"]},{"type":"FIR","nodes":["f"]}]}]}}`), 4)
	f.Fuzz(func(t *testing.T, text []byte, frames int) {
		p, err := graph.Parse(text)
		if err != nil {
			return
		}
		l, err := graph.Link(p, catalog{}, graph.Options{BlockFrames: frames})
		if err != nil {
			if e, ok := errors.AsType[*graph.Error](err); !ok || !strings.HasPrefix(e.Path, "$") || e.Text == "" && e.Code != graph.BadShape {
				t.Fatalf("%v", err)
			}
			return
		}
		place := make([]int, len(l.Nodes))
		for k, v := range l.Order {
			place[v] = k + 1
		}
		if slices.Contains(place, 0) {
			t.Fatalf("order %v", l.Order)
		}
		for i := range l.Edges {
			if e := &l.Edges[i]; e.Prefill == 0 && place[e.Src] >= place[e.Dst] {
				t.Fatalf("order %v breaks edge %d", l.Order, i)
			}
		}
	})
}
