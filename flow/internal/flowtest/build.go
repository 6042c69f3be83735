package flowtest

import "atenia/flow/graph"

// Node returns a node of a plan. params alternates names and values, which are
// numbers, [graph.Tensor] values or words.
func Node(typ string, params ...any) graph.Node {
	n := graph.Node{Name: typ, Type: typ, OversampleRatio: 1, SupportsV2: true, Path: "$.nodes[0]"}
	for i := 0; i+1 < len(params); i += 2 {
		p := graph.Param{Name: params[i].(string)}
		switch v := params[i+1].(type) {
		case string:
			p.Text = &v
		case int:
			p.Value = &graph.Tensor{B: 1, C: 1, F: 1, Data: []float64{float64(v)}}
		case float64:
			p.Value = &graph.Tensor{B: 1, C: 1, F: 1, Data: []float64{v}}
		case graph.Tensor:
			p.Value = &v
		}
		n.Params = append(n.Params, p)
	}
	return n
}

// Ramp returns a tensor whose elements rise linearly from lo to hi.
func Ramp(b, c, f int, lo, hi float64) graph.Tensor {
	t := graph.Tensor{B: b, C: c, F: f, Data: make([]float64, b*c*f)}
	for i := range t.Data {
		t.Data[i] = lo + (hi-lo)*float64(i)/float64(max(1, len(t.Data)-1))
	}
	return t
}
