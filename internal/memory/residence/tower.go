package residence

import (
	"fmt"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// OfTower materializes the weights of a model's encoder of images or sounds, which
// stay in memory until the encoder is closed. The files must stay open as long.
func OfTower(m *compile.Model, d *file.Description) (exec.Weights, error) {
	ws := exec.Weights{}
	for _, b := range m.Plans.VisionEncode.Plan.Weights {
		v, err := compile.MaterializeOne(m.Weights[b.Name], d)
		if err != nil {
			return nil, fmt.Errorf("weight %s: %w", b.Name, err)
		}
		ws[b.Name] = v
	}
	return ws, nil
}
