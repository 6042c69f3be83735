package lint

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A perfMatrix is perf/matrix.json: what is measured where.
type perfMatrix struct {
	Backends []string
	Models   map[string]string // kind of model → the parity case of one
	Weights  []string
	Works    map[string]string // name → command
	Record   map[string]string // figure → field of a bench's result
	Limits   map[string]float64
	Cells    map[string]string // "cpu/dense/q4_k" → works, or why there are none
}

// TestBenchMatrix: every backend, kind of model and kind of weights has a cell,
// which names what is measured, or says why nothing is. Limits are those of the
// contract.
func TestBenchMatrix(t *testing.T) {
	if err := enterRoot(); err != nil {
		t.Fatal(err)
	}
	b, err := readFile("perf/matrix.json")
	if err != nil {
		t.Fatal(err)
	}
	var m perfMatrix
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, backend := range []string{"cpu", "cuda", "metal"} {
		if !slices.Contains(m.Backends, backend) {
			t.Errorf("no backend %s", backend)
		}
	}
	for _, kind := range []string{"dense", "vision"} { // text and multimodal
		if m.Models[kind] == "" {
			t.Errorf("no model of kind %s", kind)
		}
	}
	cells := 0
	for _, backend := range m.Backends {
		for model := range m.Models {
			for _, weights := range m.Weights {
				cells++
				key := backend + "/" + model + "/" + weights
				works, ok := m.Cells[key]
				if !ok {
					t.Errorf("no cell %s", key)
					continue
				}
				if why, none := strings.CutPrefix(works, "not present: "); none {
					if strings.TrimSpace(why) == "" {
						t.Errorf("%s: not present, without a reason", key)
					}
					continue
				}
				for _, w := range strings.Fields(works) {
					if m.Works[w] == "" {
						t.Errorf("%s: unknown work %q", key, w)
					}
				}
			}
		}
	}
	if len(m.Cells) != cells {
		t.Errorf("%d cells, want %d", len(m.Cells), cells)
	}
	for name, want := range map[string]float64{"decode": 0.98, "prefill": 0.97, "launches": 1.1} {
		if m.Limits[name] != want {
			t.Errorf("limit of %s: %v, want %v", name, m.Limits[name], want)
		}
	}
}
