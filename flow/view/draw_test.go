package view

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
)

var update = flag.Bool("update", false, "rewrite the drawings in testdata")

func linked(t testing.TB, text string) *graph.Linked {
	t.Helper()
	p, err := graph.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := graph.Link(p, flow.ShippedTypes(), graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGolden compares a drawing that has every sign with one that was looked
// at.
func TestGolden(t *testing.T) {
	t.Parallel()
	plan, err := os.ReadFile("testdata/effects.json")
	if err != nil {
		t.Fatal(err)
	}
	note := func(i int) []string { return map[int][]string{0: {"0.25 J"}}[i] }
	got := SVG(linked(t, string(plan)), SVGOptions{Title: "effects.json", SampleRate: 48000, Note: note})
	const file = "testdata/effects.svg"
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the drawing has changed: rerun with -update and look at %s", file)
	}
	for _, s := range []string{"hold 192", "z⁻¹²⁰⁰⁰", "0, 3 tempo 24000", "latency 192 (4 ms)", "sub-block 64", "× 0.5·", "0.25 J", "thermo.heat 1e-06", "stroke-dasharray"} {
		if !bytes.Contains(got, []byte(s)) {
			t.Errorf("it lacks %q", s)
		}
	}
}

// TestLatency counts holds in base frames along the longest way.
func TestLatency(t *testing.T) {
	t.Parallel()
	l := linked(t, `{"nodes": [{"name": "a", "type": "Constant"}, {"name": "b", "type": "Gain", "declared_delay": 10}, {"name": "c", "type": "Mix"}, {"name": "d", "type": "Gain"}],
		"edges": [{"source": "a", "target": "b", "delay_frames": 5}, {"source": "b", "target": "c.in0"}, {"source": "a", "target": "c.in1", "delay_frames": 12}, {"source": "c", "target": "d", "delay_kind": "prefill", "delay_frames": 100}]}`)
	if got := fmt.Sprint(Latency(l)); got != "[0 5 15 0]" {
		t.Errorf("got %s", got)
	}
}

// TestLayout draws random graphs: boxes of a layer must not overlap, edges lead
// right, the drawing is XML, and the same graph gives the same bytes.
func TestLayout(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		text := random(r)
		l := linked(t, text)
		svg := SVG(l, SVGOptions{Title: "a <graph> & \x01 more"})
		if !bytes.Equal(svg, SVG(linked(t, text), SVGOptions{Title: "a <graph> & \x01 more"})) {
			t.Fatalf("seed %d: two drawings of one graph", seed)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		late := Latency(l)
		y := arrange(l, func(i int) *box { return measure(l, i, lines(l, late, i, &SVGOptions{})) }, func(int) float64 { return 10 })
		for _, layer := range y.layers {
			for i, b := range layer {
				if i > 0 && b.y < layer[i-1].y+layer[i-1].h {
					t.Fatalf("seed %d: boxes %d and %d of layer %d overlap", seed, i-1, i, b.layer)
				}
				if b.y < margin || b.y+b.h > y.h || b.x+b.w > y.w {
					t.Fatalf("seed %d: a box at %g, %g of a drawing of %g × %g", seed, b.x, b.y, y.w, y.h)
				}
			}
		}
		for _, way := range y.routes {
			for i := range way.via[1:] {
				if !way.back && way.via[i].x >= way.via[i+1].x {
					t.Fatalf("seed %d: edge %d leads left", seed, way.edge)
				}
			}
		}
	}
}

// random returns a plan of up to 30 nodes with loops.
func random(r *rand.Rand) string {
	nodes, edges := []string{`{"name":"s","type":"Constant"}`}, []string{}
	names := []string{"s"}
	for k := range 1 + r.IntN(30) {
		name, n := fmt.Sprintf("m%d", k), 1+r.IntN(3)
		nodes = append(nodes, fmt.Sprintf(`{"name":"%s","type":"Mix","params":{"inputs":%d}}`, name, n))
		for i := range n {
			edges = append(edges, fmt.Sprintf(`{"source":"%s","target":"%s.in%d","delay_frames":%d}`, names[r.IntN(len(names))], name, i, r.IntN(3)*64))
		}
		if r.IntN(4) == 0 {
			nodes[len(nodes)-1] = fmt.Sprintf(`{"name":"%s","type":"Mix","params":{"inputs":%d}}`, name, n+1)
			edges = append(edges, fmt.Sprintf(`{"source":"%s","target":"%s.in%d","delay_frames":24}`, name, name, n))
		}
		names = append(names, name)
	}
	return fmt.Sprintf(`{"nodes":[%s],"edges":[%s]}`, strings.Join(nodes, ","), strings.Join(edges, ","))
}
