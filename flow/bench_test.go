package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
)

// benchNodes is how many nodes the graphs of benchmarks have.
const benchNodes = 100

// chain returns a plan of nodes one behind the other.
func chain(node string) string {
	var nodes, edges []string
	from := "in"
	for i := range benchNodes {
		name := fmt.Sprintf("n%d", i)
		nodes = append(nodes, fmt.Sprintf(`{"name": %q, %s}`, name, node))
		edges = append(edges, fmt.Sprintf(`{"source": "%s.out", "target": "%s.in"}`, from, name))
		from = name
	}
	edges = append(edges, fmt.Sprintf(`{"source": "%s.out", "target": "out.in"}`, from))
	return planOf(nodes, edges)
}

// cohort returns a plan of nodes side by side.
func cohort(node string) string {
	var nodes, edges []string
	for i := range benchNodes - 4 {
		name := fmt.Sprintf("n%d", i)
		nodes = append(nodes, fmt.Sprintf(`{"name": %q, %s}`, name, node))
		edges = append(edges, fmt.Sprintf(`{"source": "in.out", "target": "%s.in"}`, name))
	}
	edges = append(edges, `{"source": "n0.out", "target": "out.in"}`)
	return planOf(nodes, edges)
}

func planOf(nodes, edges []string) string {
	return fmt.Sprintf(`{"nodes": [{"name": "in", "type": "Input"}, {"name": "out", "type": "Probe"}, %s], "edges": [%s]}`,
		strings.Join(nodes, ", "), strings.Join(edges, ", "))
}

// warm returns a session of float32 that has warmed up.
func warm(tb testing.TB, text string, o flow.Options) *flow.Session[float32] {
	tb.Helper()
	p, err := graph.Parse([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	s, err := flow.New[float32](p, o)
	if err != nil {
		tb.Fatal(err)
	}
	in, err := s.Input("in")
	if err != nil {
		tb.Fatal(err)
	}
	for i := range in.Data {
		in.Data[i] = 1 / float32(i+1)
	}
	for range 4 {
		if err := s.Block(); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// BenchmarkBlock is a block of 100 nodes in the executor for throughput.
func BenchmarkBlock(b *testing.B) {
	for _, g := range []struct{ name, plan string }{
		{"gains one behind the other", chain(`"type": "Gain", "params": {"gain": 0.999}`)},
		{"biquads one behind the other", chain(`"type": "Biquad", "params": {"f0": 2000}`)},
		{"biquads side by side", cohort(`"type": "Biquad", "params": {"f0": 2000}`)},
	} {
		for _, frames := range []int{64, 256, 1024} {
			b.Run(fmt.Sprintf("%s/%d", g.name, frames), func(b *testing.B) {
				s := warm(b, g.plan, flow.Options{BlockFrames: frames})
				for b.Loop() {
					if err := s.Block(); err != nil {
						b.Fatal(err)
					}
				}
				perNode := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / benchNodes
				b.ReportMetric(perNode, "ns/node")
				b.ReportMetric(float64(frames)/48000*1e9/perNode, "nodes/core")
			})
		}
	}
}
