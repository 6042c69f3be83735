//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// TestJoined: nodes of one separate process, some with a state and some without, side by side and in a chain, give the
// bytes of the same nodes in this process, for one request per block and step of the chain.
func TestJoined(t *testing.T) {
	lib := nodes(t)
	p, there := start(t, lib, amp.ProcessConfig{})
	here := append(flow.ShippedTypes(), open(t, amp.Options{}).Types()...)
	r := rand.New(rand.NewPCG(5, 6))
	const blocks = 50
	for range 6 {
		wide, deep := 2+r.IntN(5), 1+r.IntN(3)
		text := graphOf(wide, deep, []string{"Crash.c", "Gain.c"}[r.IntN(2)])
		plan, err := graph.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]node.Tensor[float32]{"in": {Data: make([]float32, 64*blocks), B: 1, C: 1, N: 64 * blocks}}
		for i := range in["in"].Data {
			in["in"].Data[i] = r.Float32()
		}
		var want map[string]node.Tensor[float32]
		for k, o := range []flow.Options{{Catalog: here}, {}, {Timing: true}, {DisableStatic: true}, {Policy: flow.Mute, Threads: 2}} {
			if k > 0 {
				o.Catalog = append(flow.ShippedTypes(), there...)
			}
			s, err := flow.New[float32](plan, o)
			if err != nil {
				t.Fatal(err)
			}
			before := p.Status().Requests
			got, err := s.Run(in, blocks)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			if k == 0 {
				want = got
				continue
			}
			for name, x := range want {
				if !slices.Equal(got[name].Data, x.Data) {
					t.Errorf("%d nodes, %d deep, %d: %s differs", wide, deep, k, name)
				}
			}
			if n := p.Status().Requests - before; o.Threads == 0 && n > int64(blocks*deep+deep) {
				t.Errorf("%d nodes, %d deep, %d: %d requests for %d blocks", wide, deep, k, n, blocks)
			}
		}
	}
}

// graphOf is chains of nodes of one type, all from one input.
func graphOf(wide, deep int, typ string) string {
	list, edges := []string{`{"name": "in", "type": "Input"}`}, []string{}
	for w := range wide {
		last := "in"
		for d := range deep {
			name := fmt.Sprintf("n%d_%d", w, d)
			list = append(list, fmt.Sprintf(`{"name": %q, "type": %q, "supports_v2": true}`, name, typ))
			if typ == "Gain.c" {
				list[len(list)-1] = fmt.Sprintf(`{"name": %q, "type": %q, "supports_v2": true, "params": {"gain": 0.5}}`, name, typ)
			}
			edges = append(edges, fmt.Sprintf(`{"source": %q, "target": %q}`, last, name))
			last = name
		}
		list = append(list, fmt.Sprintf(`{"name": "out%d", "type": "Probe"}`, w))
		edges = append(edges, fmt.Sprintf(`{"source": %q, "target": "out%d"}`, last, w))
	}
	return fmt.Sprintf(`{"nodes": [%s], "edges": [%s]}`, strings.Join(list, ", "), strings.Join(edges, ", "))
}
