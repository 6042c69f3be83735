package compile

import (
	"fmt"

	"atenia/internal/plan"
	"atenia/tensor"
)

// maxGroups is the largest group number in a [plan.StateKey].
const maxGroups = 255

func groupLayers(layers []Layer) windowGroups {
	windows := make([]int, len(layers))
	for i, l := range layers {
		windows[i] = l.Window
	}
	return sortWindows(windows)
}

// stateAlign is the alignment of pages; it suffices for vector loads.
const stateAlign = 64

// kvStates describes the key/value caches of a model.
func kvStates(c *Config, g windowGroups, opt Options) ([]plan.StateDescriptor, error) {
	if len(g.Windows) > maxGroups {
		return nil, &ConfigError{File: string(c.Source), Field: "windows", Want: fmt.Sprintf("at most %d different ones", maxGroups), Got: fmt.Sprint(len(g.Windows))}
	}
	if _, err := opt.KVType.RowBytes(c.HeadDim); err != nil {
		return nil, fmt.Errorf("key/value cache: heads: %w", err)
	}
	row, err := opt.KVType.RowBytes(c.KVHeads * c.HeadDim)
	if err != nil {
		return nil, fmt.Errorf("key/value cache: %w", err)
	}
	half := uint64(row) * uint64(opt.PageTokens)
	var out []plan.StateDescriptor
	for i, n := range g.Layers {
		out = append(out, plan.StateDescriptor{
			Kind: plan.StateKV, Group: uint8(i), Lifecycle: plan.SlotPersistent,
			SizeBytes: 2 * half * uint64(n), AlignBytes: stateAlign,
			Layers: uint16(n), LayerStride: 2 * half,
			PageTokens: uint32(opt.PageTokens), Window: uint32(g.Windows[i]),
			Sections: []plan.Section{
				{Name: "k", Offset: 0, Bytes: half, DType: opt.KVType},
				{Name: "v", Offset: half, Bytes: half, DType: opt.KVType},
			},
		})
	}
	return out, nil
}

// kvTypes lists the element types that a cache may have.
var kvTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0}
