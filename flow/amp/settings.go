package amp

import (
	"encoding/json"

	"atenia/flow/graph"
)

// paramsJSON encodes the params of a plan's node as in the plan: numbers,
// texts, flags, and tensors as {"shape": [B, C, F], "data": […]}.
func paramsJSON(list []graph.Param) (string, error) {
	b := []byte{'{'}
	for i := range list {
		p := &list[i]
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(p.Name)
		if err != nil {
			return "", err
		}
		b = append(append(b, key...), ':')
		var v any
		switch t := p.Value; {
		case p.Text != nil:
			v = *p.Text
		case p.Flag != nil:
			v = *p.Flag
		case t == nil: // nothing is given
		case t.B == 1 && t.C == 1 && t.F == 1:
			v = t.Data[0]
		default:
			v = struct {
				Shape [3]int    `json:"shape"`
				Data  []float64 `json:"data"`
			}{[3]int{t.B, t.C, t.F}, t.Data}
		}
		value, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		b = append(b, value...)
	}
	return string(append(b, '}')), nil
}
