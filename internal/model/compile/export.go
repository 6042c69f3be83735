package compile

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"atenia/internal/model/file"
	"atenia/tensor"
)

// An Export is the content of a model's GGUF file, without its tokenizer. Keys,
// tensor names and layouts are llama.cpp's.
type Export struct {
	Arch    string
	Meta    []KV     // in the order to write
	Tensors []Weight // by GGUF name; sources and transforms are over the model's own file
	Tower   *Export  // the image tower, which has a file of its own; nil = none
}

// GGUF returns the content of a GGUF file that is read back as the same model:
// the same plans, except for the differences of the format (rows of q and k in
// the order of interleaved rope, norm weights including their offset).
//
// Keys "atenia.…" are added only if the standard keys would be read as another
// model.
func (m *Model) GGUF() (*Export, error) {
	c := &m.Config
	x := &Export{Arch: c.Arch}
	x.Tensors = m.ropeTensors()
	ts, err := m.exportTensors()
	if err != nil {
		return nil, err
	}
	x.Tensors = append(x.Tensors, ts...)
	x.Tensors = append(x.Tensors, m.dummies(ts)...)
	reader := m.reg.archs[c.Arch]
	if reader == nil {
		reader = &Family{} // nothing will read the header back, and the error says so
	}
	x.Meta = append([]KV{{"general.architecture", file.ValueOf(c.Arch)}}, c.standardKeys(reader)...)
	// Each step corrects how the header so far would be read. Layers come before
	// tables, because a table that no layer uses is not read.
	for _, step := range []func(*Config) []KV{
		func(back *Config) []KV { return c.patternKey(reader, back) },
		c.layerKeys,
		c.ownKeys,
		c.configKey,
	} {
		back, err := m.reg.readBack(x)
		if err != nil {
			return nil, fmt.Errorf("%s: the header to write: %w", m.Family, err)
		}
		x.Meta = append(x.Meta, step(back)...)
	}
	back, err := m.reg.readBack(x)
	if err != nil {
		return nil, fmt.Errorf("%s: the header to write: %w", m.Family, err)
	}
	if left := append(append(c.layerKeys(back), c.ownKeys(back)...), c.configKey(back)...); len(left) > 0 {
		return nil, fmt.Errorf("%s: GGUF cannot hold %q of this model", m.Family, left[0].Key)
	}
	if m.tower != nil {
		if x.Tower, err = m.clipExport(); err != nil {
			return nil, fmt.Errorf("%s: the tower's file: %w", m.tower.ID, err)
		}
	}
	return x, nil
}

// readBack normalizes the header as if it had been read from a file.
func (r *registry) readBack(x *Export) (*Config, error) {
	d := &file.Description{Path: "export", Format: file.GGUF}
	for _, kv := range x.Meta {
		d.Meta.Set(kv.Key, kv.Value)
	}
	tensors := make(map[string]*file.Tensor, len(x.Tensors))
	for i := range x.Tensors {
		w := &x.Tensors[i]
		t := &file.Tensor{Name: w.Name, View: tensor.View{DType: tensor.F32, Shape: w.Shape}}
		if w.Const != nil {
			t.View = tensor.FromF32(w.Shape, w.Const)
		}
		tensors[w.Name] = t
	}
	n, err := r.normalizeGGUF(d, tensors, Options{})
	if err != nil {
		return nil, err
	}
	return n.c, nil
}

// standardKeys returns llama.cpp's keys for the configuration, without those
// that would state a default. reader is the family that will read them.
func (c *Config) standardKeys(reader *Family) []KV {
	var kvs []KV
	u32 := func(key string, v int) { kvs = append(kvs, KV{c.Arch + "." + key, file.ValueOf(uint32(v))}) }
	f32 := func(key string, v float32) { kvs = append(kvs, KV{c.Arch + "." + key, file.ValueOf(v)}) }
	put := func(key string, v file.Value) { kvs = append(kvs, KV{c.Arch + "." + key, v}) }
	u32("block_count", len(c.Layers))
	u32("context_length", c.Context)
	u32("embedding_length", c.Hidden)
	if c.hasMixer(mixNone) {
		widths := make([]uint32, len(c.Layers))
		for i, l := range c.Layers {
			if l.FFN != ffnNone {
				widths[i] = uint32(c.FFN)
			}
		}
		put("feed_forward_length", file.ArrayOf(widths))
	} else {
		u32("feed_forward_length", c.FFN)
	}
	u32("attention.head_count", c.Heads)
	if reader.KVByLayer {
		heads := make([]uint32, len(c.Layers))
		for i, l := range c.Layers {
			if l.Mixer == mixAttention {
				heads[i] = uint32(c.KVHeads)
			}
		}
		put("attention.head_count_kv", file.ArrayOf(heads))
	} else if c.hasMixer(mixMLA) && !reader.LatentHeads {
		u32("attention.head_count_kv", 1) // the cached vector serves all
	} else {
		u32("attention.head_count_kv", c.KVHeads)
	}
	if key, value := c.cachedWidths(reader); key > 0 {
		u32("attention.key_length", key)
		u32("attention.value_length", value)
	}
	if c.hasMixer(mixMamba1) || c.hasMixer(mixMamba2) {
		c.scanKeys(u32, put)
	}
	eps := c.epsilonKey()
	if reader.RMSEpsilon {
		eps = rmsEpsilon
	}
	f32(eps, c.NormEps)
	if c.Encoder != nil {
		c.encoderKeys(reader, u32, put)
		if reader.Weights.get("token_types") != nil { // without the key llama.cpp refuses the file
			kvs = append(kvs, KV{tokenTypes, file.ValueOf(uint32(max(1, c.Encoder.Types)))})
		}
	}
	u32("vocab_size", c.Vocab)
	if w := slices.MaxFunc(c.Layers, func(a, b Layer) int { return a.Window - b.Window }).Window; w > 0 && reader.StatesWindow {
		u32("attention.sliding_window", w)
	}
	if c.hasMixture() {
		c.Mixture.keys(u32, f32)
		if dense := c.leadingDense(); dense > 0 && !c.hasMixer(mixMLA) {
			u32(leadingDense, dense)
		}
		if c.Mixture.Gate == gateSigmoid {
			kvs = append(kvs, KV{c.Arch + ".expert_weights_norm", file.ValueOf(c.Mixture.Renorm)})
		}
	}
	c.deltaKeys(u32, f32)
	c.latentKeys(reader, u32, f32)
	c.audioKeys(u32)
	if c.HeadDim > 0 && c.AttnScale != float32(1/math.Sqrt(float64(c.HeadDim))) {
		f32("attention.scale", c.AttnScale)
	}
	embed := float32(1)
	if reader.Defaults.EmbedSqrt {
		embed = float32(math.Sqrt(float64(c.Hidden)))
	}
	logits := 1 / c.LogitMul
	if reader.ScalesLogits {
		logits = c.LogitMul
	}
	for _, x := range []struct {
		key        string
		v, implied float32
	}{
		{"embedding_scale", c.EmbedMul, embed}, {"residual_scale", c.BranchMul, 1}, {"logit_scale", logits, 1},
		{"attn_logit_softcapping", c.AttnCap, 0}, {"final_logit_softcapping", c.LogitCap, 0}, {"attention.temperature_scale", c.TempBeta, 0},
	} {
		if x.v != x.implied {
			f32(x.key, x.v)
		}
	}
	c.olderKeys(reader, f32, func(key string, v file.Value) { kvs = append(kvs, KV{c.Arch + "." + key, v}) })
	kvs = append(kvs, c.sectionKeys()...)
	return append(kvs, c.ropeKeys()...)
}

// cachedWidths returns the widths of a key and of a value as the cache has them, or
// as the heads of latent attention do if files state those.
func (c *Config) cachedWidths(reader *Family) (key, value int) {
	if c.hasMixer(mixMLA) && reader.LatentHeads {
		return c.HeadDim, c.Latent.V
	}
	if c.hasMixer(mixMLA) {
		return c.Latent.KVRank + c.Latent.Rope, c.Latent.KVRank
	}
	return c.HeadDim, c.HeadDim
}

func (c *Config) ropeKeys() []KV {
	var kvs []KV
	put := func(key string, v file.Value) { kvs = append(kvs, KV{c.Arch + "." + key, v}) }
	if local := c.rope("sliding"); local != nil {
		put("rope.freq_base_swa", file.ValueOf(local.Theta))
	}
	r := c.rope("full")
	if r == nil {
		return kvs
	}
	put("rope.dimension_count", file.ValueOf(uint32(r.Dim)))
	put("rope.freq_base", file.ValueOf(r.Theta))
	switch r.Scaling {
	case Linear:
		put("rope.scaling.type", file.ValueOf(Linear))
		put("rope.scaling.factor", file.ValueOf(r.Factor))
	case Yarn:
		put("rope.scaling.type", file.ValueOf(Yarn))
		put("rope.scaling.factor", file.ValueOf(r.Factor))
		put("rope.scaling.original_context_length", file.ValueOf(uint32(r.Original)))
		put("rope.scaling.yarn_beta_fast", file.ValueOf(r.BetaFast))
		put("rope.scaling.yarn_beta_slow", file.ValueOf(r.BetaSlow))
		switch a := ropeStrength(float64(r.Factor), 1); {
		case c.hasMixer(mixMLA): // [Config.latentKeys]
		case r.Scale == float32(a):
		case r.Scale == 1: // both strengths are one and cancel out
			put("rope.scaling.yarn_log_multiplier", file.ValueOf(float32(1)))
		default:
			put("rope.scaling.attn_factor", file.ValueOf(float32(float64(r.Scale)/a)))
		}
	case Long:
		put("rope.scaling.type", file.ValueOf(Long))
		put("rope.scaling.original_context_length", file.ValueOf(uint32(r.Original)))
		put("rope.scaling.attn_factor", file.ValueOf(r.Scale))
	}
	return kvs
}

// patternKey returns llama.cpp's key for the layers with a window, if the
// reading family has such a key and its default pattern is wrong.
func (c *Config) patternKey(reader *Family, back *Config) []KV {
	if !reader.StatesPattern || slices.EqualFunc(c.Layers, back.Layers, func(a, b Layer) bool { return a.Window == b.Window }) {
		return nil
	}
	slides := make([]bool, len(c.Layers))
	for i, l := range c.Layers {
		slides[i] = l.Window > 0
	}
	return []KV{{c.Arch + "." + windowPattern, file.ArrayOf(slides)}}
}

// layerKeys returns keys for the windows and rotary tables of layers that differ
// in back, the model as the header so far would be read.
func (c *Config) layerKeys(back *Config) []KV {
	var kvs []KV
	windows, ropes := make([]uint32, len(c.Layers)), make([]string, len(c.Layers))
	otherWindow, otherRope := false, false
	for i, l := range c.Layers {
		windows[i], ropes[i] = uint32(l.Window), l.Rope
		otherWindow = otherWindow || l.Window != back.Layers[i].Window
		otherRope = otherRope || l.Rope != back.Layers[i].Rope
	}
	if otherWindow {
		kvs = append(kvs, KV{ownWindows, file.ArrayOf(windows)})
	}
	if otherRope {
		kvs = append(kvs, KV{ownRopes, file.ArrayOf(ropes)})
	}
	return kvs
}

// ownKeys returns keys for all other differences between back and c.
func (c *Config) ownKeys(back *Config) []KV {
	var kvs []KV
	mine, theirs := ownFloats(c), ownFloats(back)
	for i := range mine {
		if *mine[i].v != *theirs[i].v {
			kvs = append(kvs, KV{mine[i].key, file.ValueOf(*mine[i].v)})
		}
	}
	if c.TempOrig != back.TempOrig {
		kvs = append(kvs, KV{ownTempOrig, file.ValueOf(uint32(c.TempOrig))})
	}
	if c.Mixture.Renorm != back.Mixture.Renorm {
		kvs = append(kvs, KV{ownRenorm, file.ValueOf(toFlag(c.Mixture.Renorm))})
	}
	if c.Act != back.Act {
		kvs = append(kvs, KV{ownAct, file.ValueOf(c.Act)})
	}
	for i := range c.Ropes {
		if r := &c.Ropes[i]; !r.Same(back.rope(r.Name)) {
			kvs = append(kvs, ownRopeKeys(r)...)
		}
	}
	return kvs
}

// ropeTensors returns the frequency divisors that the format stores as tensors.
func (m *Model) ropeTensors() []Weight {
	r := m.Config.rope("full")
	if r == nil {
		return nil
	}
	vector := func(name string, v []float32) Weight {
		return Weight{Name: name, Shape: tensor.Shape{len(v)}, Const: v}
	}
	switch r.Scaling {
	case Llama3:
		return []Weight{vector(ropeFreqs, r.Divisors())}
	case Divided:
		return []Weight{vector(ropeFreqs, r.Short)}
	case Long:
		return []Weight{vector(ropeLongF, r.Long), vector(ropeShort, r.Short)}
	}
	return nil
}

// exportTensors lists the tensors in the order of the weight map, layer by
// layer. Weights that the format fuses are collected under one name.
func (m *Model) exportTensors() ([]Weight, error) {
	c := &m.Config
	b := &binder{c: c}
	var out []Weight
	for layer := -1; layer < m.Config.blocks(); layer++ {
		var names []string
		parts := map[string][]part{}
		for i := range m.family.Weights {
			s := &m.family.Weights[i]
			w, ok := m.Weights[canonical(s.ID, layer)]
			if !ok {
				continue
			}
			name := b.name(c.written(s).Name, layer)
			if parts[name] == nil {
				names = append(names, name)
			}
			parts[name] = append(parts[name], part{s, w})
		}
		for _, name := range names {
			w, err := m.exportTensor(name, layer, parts[name])
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		}
	}
	return out, nil
}

// written returns where GGUF files that are written have a weight.
func (c *Config) written(s *WeightSpec) *Origin {
	for i := range s.GGUF {
		if c.presence(s.GGUF[i].If) != Absent {
			return &s.GGUF[i]
		}
	}
	return &s.GGUF[0]
}

// same reports whether the model's own file has the parts of a tensor as GGUF has them:
// made of one tensor by the transforms that would make them of the other.
func (m *Model) same(parts []part, shape tensor.Shape) (bool, error) {
	for _, p := range parts {
		if len(p.w.Sources) != 1 || p.w.Sources[0] != parts[0].w.Sources[0] {
			return false, nil
		}
		ts, err := m.Config.written(p.spec).taken(&m.Config, shape, p.w.Shape)
		if err != nil || !reflect.DeepEqual(ts, p.w.Transform) {
			return false, err
		}
	}
	return len(parts) > 1, nil
}

// blocks returns the largest number of layers of any part of the model.
func (c *Config) blocks() int {
	n := len(c.Layers)
	if c.Audio != nil {
		n = max(n, c.Audio.Layers)
	}
	return n
}

// GGUFNames returns the name of the tensor in a GGUF file that has each weight, by
// the weight's name in plans.
func (m *Model) GGUFNames() map[string]string {
	b := &binder{c: &m.Config}
	out := make(map[string]string, len(m.Weights))
	for layer := -1; layer < m.Config.blocks(); layer++ {
		for i := range m.family.Weights {
			s := &m.family.Weights[i]
			if name := canonical(s.ID, layer); m.Weights[name].Name != "" {
				out[name] = b.name(m.Config.written(s).Name, layer)
			}
		}
	}
	return out
}

// A part is a weight with its entry in the family's map.
type part struct {
	spec *WeightSpec
	w    Weight
}

func (m *Model) exportTensor(name string, layer int, parts []part) (Weight, error) {
	c := &m.Config
	spec, first := parts[0].spec, parts[0].w
	if of := c.written(spec).Of; of != "" {
		shape, err := c.shape(of)
		if err != nil {
			return Weight{}, err
		}
		if len(parts) == 1 && len(shape) > len(first.Shape) { // the same values in another shape
			w := Weight{Name: name, Shape: shape, Sources: first.Sources}
			if own := first.Transform; c.Source != GGUF || len(own) > 1 || len(own) == 1 && own[0].Kind != Reshape {
				w.Transform = append(slices.Clone(first.Transform), Transform{Kind: Reshape, Shape: shape})
			}
			return w, nil
		}
		if whole, err := m.same(parts, shape); whole || err != nil {
			return Weight{Name: name, Shape: shape, Sources: first.Sources}, err
		}
		return fuse(Weight{Name: name, Shape: shape}, parts)
	}
	w := Weight{Name: name, Shape: first.Shape, Sources: first.Sources, Transform: slices.Clone(first.Transform)}
	if spec.Heads != "" && m.family.Reorders && !c.Interleaved {
		n, err := c.eval(spec.Heads)
		if err != nil {
			return Weight{}, err
		}
		rotated := c.HeadDim
		if layer >= 0 {
			if r := c.rope(c.Layers[layer].Rope); r != nil {
				rotated = r.Dim
			}
		}
		w.Transform = append(w.Transform, Transform{Kind: PermuteHeads, A: n, B: rotated})
	}
	if spec.Norm && c.NormPlus != 0 {
		w.Transform = append(w.Transform, Transform{Kind: AddConst, Value: c.NormPlus})
	}
	return m.tile(w, spec)
}

// tile reorders heads of values as the architecture stores them.
func (m *Model) tile(w Weight, spec *WeightSpec) (Weight, error) {
	c, t := &m.Config, spec.Tile
	if t.Width == "" || !m.family.Tiles || c.TiledV || c.Delta.VHeads == c.Delta.KHeads {
		return w, nil
	}
	before, err1 := c.eval(t.Before)
	width, err2 := c.eval(t.Width)
	if err := errors.Join(err1, err2); err != nil {
		return Weight{}, err
	}
	ranges := c.Delta.tiles(before, width)
	kind := PickRows
	if t.Cols {
		kind = PickCols
	}
	w.Transform = append(w.Transform, Transform{Kind: kind, Ranges: ranges})
	return w, nil
}

// fuse returns the tensor that joins several weights by rows. If the model's own
// file fuses them in the same way, it is copied whole.
func fuse(w Weight, parts []part) (Weight, error) {
	whole, plain, shaped := true, true, false
	row, size := 0, 0
	var sources []string
	var before []Transform // what comes before rows are cut
	if t := parts[0].w.Transform; len(t) > 0 {
		before = t[:len(t)-1]
	}
	for _, p := range parts {
		t := p.w.Transform
		sources = append(sources, p.w.Sources...)
		last := len(t) - 1
		whole = whole && slices.Equal(p.w.Sources, parts[0].w.Sources) && last >= 0 && t[last].Kind == SliceRows && t[last].A == row &&
			slices.EqualFunc(t[:last], before, Transform.equal)
		shaped = shaped || len(t) == 1 && t[0].Kind == Reshape
		plain = plain && (len(t) == 0 || len(t) == 1 && t[0].Kind == Reshape)
		row += p.w.Shape[0]
		n, _ := p.w.Shape.Size()
		size += n
	}
	want, _ := w.Shape.Size()
	switch {
	case size != want || !whole && !plain:
		return Weight{}, fmt.Errorf("tensor %s: its parts cannot be joined", w.Name)
	case whole:
		w.Sources, w.Transform = parts[0].w.Sources, slices.Clone(before)
	default:
		w.Sources = sources
		if shaped {
			w.Transform = []Transform{{Kind: Reshape, Shape: w.Shape}}
		}
	}
	return w, nil
}
