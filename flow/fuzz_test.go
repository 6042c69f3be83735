package flow_test

import (
	"errors"
	"fmt"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
)

// FuzzDescribe: any node of a plan is described or rejected with a code and a
// position.
func FuzzDescribe(f *testing.F) {
	types := flow.ShippedTypes()
	for i := range types {
		f.Add(byte(i), `{}`, byte(2), byte(2))
	}
	for _, params := range []string{
		`{"kind": "notch", "f0": {"shape": [1, 2, 3], "data": [1, 2, 3, 4, 5, 6]}}`, `{"inputs": 3, "outputs": 2.5}`, `{"taps": "x", "tier": 61}`,
		`{"batches": 65536, "channels": 65536}`, `{"matrix": {"shape": [1, 2, 2], "data": [1, 0, 0, 1]}, "bias": true}`, `{"value": {"shape": [9, 9, 1], "data": []}}`,
	} {
		for i := range types {
			f.Add(byte(i), params, byte(1), byte(2))
		}
	}
	f.Fuzz(func(t *testing.T, typ byte, params string, batches, channels byte) {
		plan, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [{"name": "x", "type": %q, "params": %s}], "edges": []}`, types[int(typ)%len(types)].Name, params))
		if err != nil || len(plan.Nodes) == 0 {
			return
		}
		spec, err := types.Describe(&plan.Nodes[0])
		if err == nil {
			in := make([]graph.Shape, len(spec.Ins))
			for i := range in {
				in[i] = graph.Shape{B: 1 + int(batches)%3, C: 1 + int(channels)%3}
			}
			_, err = flowtest.Link(types, &plan.Nodes[0], in, 4)
		}
		if e, ok := errors.AsType[*graph.Error](err); err != nil && (!ok || e.Code == 0 || e.Path == "") {
			t.Errorf("an error without a code or a place: %v", err)
		}
	})
}
