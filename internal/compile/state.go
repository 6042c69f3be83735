package compile

import (
	"fmt"
	"slices"

	"atenia/plan"
	"atenia/tensor"
)

// groups sorts attention layers by window: layers that forget at the same
// distance share pages. Layers that see everything come first.
type groups struct {
	windows []int // of each group
	layers  []int // number of layers in each group
	of      []int // model layer → group
	ordinal []int // model layer → place inside its group
}

// maxGroups is what [plan.StateKey] can number.
const maxGroups = 255

func groupLayers(layers []Layer) groups {
	var g groups
	for _, l := range layers {
		if !slices.Contains(g.windows, l.Window) {
			g.windows = append(g.windows, l.Window)
		}
	}
	if i := slices.Index(g.windows, 0); i > 0 {
		g.windows = slices.Insert(slices.Delete(g.windows, i, i+1), 0, 0)
	}
	g.layers = make([]int, len(g.windows))
	for _, l := range layers {
		i := slices.Index(g.windows, l.Window)
		g.of = append(g.of, i)
		g.ordinal = append(g.ordinal, g.layers[i])
		g.layers[i]++
	}
	return g
}

// stateAlign is the alignment of pages; vector loads want no more.
const stateAlign = 64

// kvStates describes the key/value caches of a model.
func kvStates(c *Config, g groups, opt Options) ([]plan.StateDescriptor, error) {
	if len(g.windows) > maxGroups {
		return nil, &ConfigError{File: string(c.Source), Field: "windows", Want: fmt.Sprintf("at most %d different ones", maxGroups), Got: fmt.Sprint(len(g.windows))}
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
	for i, n := range g.layers {
		out = append(out, plan.StateDescriptor{
			Kind: plan.StateKV, Group: uint8(i), Lifecycle: plan.SlotPersistent,
			SizeBytes: 2 * half * uint64(n), AlignBytes: stateAlign,
			Layers: uint16(n), LayerStride: 2 * half,
			PageTokens: uint32(opt.PageTokens), Window: uint32(g.windows[i]),
			Sections: []plan.Section{
				{Name: "k", Offset: 0, Bytes: half, DType: opt.KVType},
				{Name: "v", Offset: half, Bytes: half, DType: opt.KVType},
			},
		})
	}
	return out, nil
}

// kvTypes are the element types a cache may have.
var kvTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0}
