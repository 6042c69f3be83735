package compile

import (
	"fmt"

	"atenia/internal/plan"
	"atenia/tensor"
)

// maxGroups is the largest group number in a [plan.StateKey].
const maxGroups = 255

// layerStates are the states of a model's layers.
type layerStates struct {
	key     []plan.StateKey // by layer
	has     []bool          // by layer: it has one
	ordinal []int           // by layer: its place in the state
	all     []plan.StateDescriptor
}

// stateful lists the mixers whose state is one block of each sequence, with the
// kind of state and its sections in a layer.
var stateful = []struct {
	mixer    string
	kind     plan.StateKind
	sections func(*Config) []plan.Section
}{
	{mixMamba1, plan.StateRecurrent, func(c *Config) []plan.Section { return c.scanSections(mixMamba1) }},
	{mixMamba2, plan.StateRecurrent, func(c *Config) []plan.Section { return c.scanSections(mixMamba2) }},
	{mixDelta, plan.StateRecurrent, (*Config).deltaSections},
	{mixRWKVFirst, plan.StateRecurrent, (*Config).rwkvSections},
	{mixRWKV, plan.StateRecurrent, (*Config).rwkvSections},
	{mixConv, plan.StateConv, (*Config).convSections},
}

// statesOf describes the states of a model: caches of keys and values, one for
// each window, then those of fixed size.
func statesOf(c *Config, opt Options) (*layerStates, error) {
	n := len(c.Layers)
	s := &layerStates{key: make([]plan.StateKey, n), has: make([]bool, n), ordinal: make([]int, n)}
	if err := s.keysAndValues(c, opt); err != nil {
		return nil, err
	}
	groups := map[plan.StateKind]uint8{}
	for _, kind := range stateful {
		if !c.hasMixer(kind.mixer) {
			continue
		}
		d := fixedState(kind.kind, groups[kind.kind], kind.sections(c))
		groups[kind.kind]++
		for i, l := range c.Layers {
			if l.Mixer == kind.mixer {
				s.put(i, plan.StateKey{Kind: d.Kind, Group: d.Group}, int(d.Layers))
				d.Layers++
			}
		}
		d.SizeBytes = uint64(d.Layers) * d.LayerStride
		s.all = append(s.all, d)
	}
	if c.Audio != nil {
		d, err := c.crossState(opt)
		if err != nil {
			return nil, err
		}
		s.all = append(s.all, d)
	}
	return s, nil
}

// attends returns the mixer of a layer, also where it is part of a parallel block.
func (l *Layer) attends() string {
	if l.Mixer == mixParallel || l.Mixer == mixParallel2 {
		return mixAttention
	}
	return l.Mixer
}

func (s *layerStates) put(layer int, key plan.StateKey, ordinal int) {
	s.key[layer], s.has[layer], s.ordinal[layer] = key, true, ordinal
}

// keysAndValues describes the caches of layers that attend. Latent attention
// caches a vector and a rotated key in place of keys and values.
func (s *layerStates) keysAndValues(c *Config, opt Options) error {
	group := 0
	for _, mixer := range []string{mixAttention, mixMLA} {
		var layers, windows []int
		for i, l := range c.Layers {
			if l.attends() == mixer && c.Encoder == nil {
				layers, windows = append(layers, i), append(windows, l.Window)
			}
		}
		g := sortWindows(windows)
		sections := func() ([]plan.Section, error) { return kvSections(c, opt) }
		if mixer == mixMLA {
			sections = func() ([]plan.Section, error) { return c.Latent.sections(opt) }
		}
		if len(layers) == 0 {
			continue
		}
		parts, err := sections()
		if err != nil {
			return err
		}
		all, err := kvStates(c, g, opt, parts, group)
		if err != nil {
			return err
		}
		s.all = append(s.all, all...)
		for k, i := range layers {
			s.put(i, plan.StateKey{Kind: plan.StateKV, Group: uint8(group + g.Of[k])}, g.Ordinal[k])
		}
		group += len(g.Windows)
	}
	return nil
}

// fixedState describes a state of one block without its layers. Sections that
// follow each other begin at multiples of the alignment.
func fixedState(kind plan.StateKind, group uint8, sections []plan.Section) plan.StateDescriptor {
	d := plan.StateDescriptor{Kind: kind, Group: group, Lifecycle: plan.SlotPersistent, ZeroInit: true, AlignBytes: stateAlign}
	for _, s := range sections {
		s.Offset = d.LayerStride
		d.LayerStride += (s.Bytes + stateAlign - 1) &^ (stateAlign - 1)
		d.Sections = append(d.Sections, s)
	}
	return d
}

// stateAlign is the alignment of pages; it suffices for vector loads.
const stateAlign = 64

// kvSections are the keys and values of a layer in a page.
func kvSections(c *Config, opt Options) ([]plan.Section, error) {
	if _, err := opt.KVType.RowBytes(c.HeadDim); err != nil {
		return nil, fmt.Errorf("key/value cache: heads: %w", err)
	}
	row, err := opt.KVType.RowBytes(c.KVHeads * c.HeadDim)
	if err != nil {
		return nil, fmt.Errorf("key/value cache: %w", err)
	}
	half := uint64(row) * uint64(opt.PageTokens)
	return []plan.Section{
		{Name: "k", Offset: 0, Bytes: half, DType: opt.KVType},
		{Name: "v", Offset: half, Bytes: half, DType: opt.KVType},
	}, nil
}

// kvStates describes caches whose layers have the given sections in a page, from
// a group on.
func kvStates(c *Config, g windowGroups, opt Options, sections []plan.Section, first int) ([]plan.StateDescriptor, error) {
	if first+len(g.Windows) > maxGroups {
		return nil, &configError{File: string(c.Source), Field: "windows", Want: fmt.Sprintf("at most %d different ones", maxGroups), Got: fmt.Sprint(len(g.Windows))}
	}
	last := sections[len(sections)-1]
	stride := last.Offset + last.Bytes
	var out []plan.StateDescriptor
	for i, n := range g.Layers {
		out = append(out, plan.StateDescriptor{
			Kind: plan.StateKV, Group: uint8(first + i), Lifecycle: plan.SlotPersistent,
			SizeBytes: stride * uint64(n), AlignBytes: stateAlign,
			Layers: uint16(n), LayerStride: stride,
			PageTokens: uint32(opt.PageTokens), Window: uint32(g.Windows[i]),
			Sections: sections,
		})
	}
	return out, nil
}

// kvTypes lists the element types that a cache may have.
var kvTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0}
