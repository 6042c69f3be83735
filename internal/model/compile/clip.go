package compile

import (
	"encoding/json"
	"fmt"
	"slices"

	"atenia/internal/model/file"
	"atenia/tensor"
)

// A tower's GGUF file has the architecture "clip" and is named mmproj-… beside
// the decoder's. Its keys and tensors are llama.cpp's; the key "atenia.vision"
// holds what they do not say.

const (
	clipArch  = "clip"
	clipKeys  = "clip.vision."
	clipKind  = "clip.projector_type"
	ownVision = ateniaKeys + "vision"
	clipMean  = clipKeys + "image_mean"
	clipStd   = clipKeys + "image_std"
)

// readTower reads the tower of a GGUF file's companion.
func (h *header) readTower(c *Config) {
	if h.tensors["v.patch_embd.weight"] == nil {
		return
	}
	kind, _, err := h.meta.String(clipKind)
	if err != nil {
		h.faults.Add(err)
		return
	}
	i := slices.IndexFunc(towers, func(t *imageTower) bool { return t.Projector == kind })
	if i < 0 {
		h.faults.Add(&UnsupportedModelError{Key: clipKind, Name: kind, Why: "a tower that is not supported", Supported: projectors()})
		return
	}
	v := &Vision{Tower: towers[i].ID}
	h.readClip(v)
	if towers[i].GGUF != nil {
		towers[i].GGUF(h, v)
	}
	h.clipNorm(v)
	v.Images.MinPixels = h.clipUint(v.Images.MinPixels, "image_min_pixels")
	v.Images.MaxPixels = h.clipUint(v.Images.MaxPixels, "image_max_pixels")
	h.readVisionKey(v)
	if v.Heads > 0 && v.HeadDim == 0 {
		v.HeadDim = v.Hidden / v.Heads
	}
	if v.Projector < 0 {
		v.Projector = v.Hidden * v.Merge * v.Merge
	}
	c.Vision = v
}

func projectors() (out []string) {
	for _, t := range towers {
		out = append(out, t.Projector)
	}
	return out
}

// clipUint and clipFloat read keys of the tower's file, which have a name of
// their own.
func (h *header) clipUint(def int, key string) int {
	n, found, err := h.meta.Uint(clipKeys + key)
	if err != nil {
		h.faults.Add(err)
	}
	if !found || err != nil {
		return def
	}
	return int(min(n, maxLength))
}

func (h *header) clipFloat(def float64, key string) float32 {
	f, found, err := h.meta.Float(clipKeys + key)
	if err != nil {
		h.faults.Add(err)
	}
	if !found || err != nil {
		return float32(def)
	}
	return float32(f)
}

// clipNorm reads the mean and deviation of pixels.
func (h *header) clipNorm(v *Vision) {
	for _, x := range []struct {
		key string
		to  *[3]float32
	}{{clipMean, &v.Images.Mean}, {clipStd, &v.Images.Std}} {
		fs, ok, err := h.meta.Floats(x.key)
		if err != nil {
			h.faults.Add(err)
		}
		if ok && len(fs) == 3 {
			*x.to = [3]float32{float32(fs[0]), float32(fs[1]), float32(fs[2])}
		}
	}
}

// readClip reads the keys that all towers have.
func (h *header) readClip(v *Vision) {
	v.Hidden = h.clipUint(0, "embedding_length")
	v.Layers = h.clipUint(0, "block_count")
	v.Heads = h.clipUint(0, "attention.head_count")
	v.FFN = h.clipUint(0, "feed_forward_length")
	h.clipFFN(v)
	v.Patch = h.clipUint(0, "patch_size")
	v.NormEps = h.clipFloat(1e-6, "attention.layer_norm_epsilon")
	v.ProjEps = 1e-6
	v.Channels, v.Temporal = 3, 1
	if h.tensors["v.patch_embd.weight.1"] != nil {
		v.Temporal = 2
	}
	v.Merge = h.clipUint(2, "spatial_merge_size")
	if t := h.tensors["v.position_embd.weight"]; t != nil && len(t.View.Shape) == 2 {
		v.Positions = side(t.View.Shape[0])
	}
	v.Act = "gelu_tanh"
	for _, x := range []struct{ key, act string }{{"clip.use_gelu", "gelu_tanh"}, {"clip.use_silu", "silu"}} {
		if on, ok, _ := h.meta.Bool(x.key); ok && on {
			v.Act = x.act
		}
	}
	if deep, ok, _ := h.meta.Bools(clipKeys + "is_deepstack_layers"); ok {
		for i, is := range deep {
			if is {
				v.Deepstack = append(v.Deepstack, i)
			}
		}
	}
}

// clipFFN reads the width of feed-forward layers from their tensors: the key is 0 or
// the decoder's width in files for Qwen2-VL. In files of the first converters
// ffn_down is the first product and ffn_up the second.
func (h *header) clipFFN(v *Vision) {
	t := h.tensors["v.blk.0.ffn_up.weight"]
	if t == nil || len(t.View.Shape) != 2 {
		return
	}
	rows, cols := t.View.Shape.Rows(), t.View.Shape.Cols()
	if cols == v.Hidden {
		v.FFN = rows
		return
	}
	v.FFN, v.Exchanged = cols, true
}

// placeholders finds tokens by their text, for files that do not number them.
func (h *header) placeholders(v *Vision, image, video, start, end string) {
	tokens, _, err := h.meta.Strings("tokenizer.ggml.tokens")
	if err != nil {
		return
	}
	for _, x := range []struct {
		to   *int
		text string
	}{{&v.ImageToken, image}, {&v.VideoToken, video}, {&v.StartToken, start}, {&v.EndToken, end}} {
		if i := slices.Index(tokens, x.text); i >= 0 && x.text != "" {
			*x.to = i
		}
	}
}

// readVisionKey reads our own key, which overrides all others.
func (h *header) readVisionKey(v *Vision) {
	text, found, err := h.meta.String(ownVision)
	if err != nil {
		h.faults.Add(err)
	}
	h.asked[ownVision] = true
	if !found || err != nil {
		return
	}
	own := Vision{}
	if err := json.Unmarshal([]byte(text), &own); err != nil || len(text) > 1<<20 {
		h.bad(ownVision, "a description of a tower", err)
		return
	}
	*v = own
}

// clipExport returns the content of a tower's GGUF file.
func (m *Model) clipExport() (*Export, error) {
	v := *m.Config.Vision
	v.Exchanged = false
	own, err := json.Marshal(&v)
	if err != nil {
		return nil, err
	}
	x := &Export{Arch: clipArch}
	put := func(key string, val file.Value) { x.Meta = append(x.Meta, KV{key, val}) }
	u32 := func(key string, n int) { put(clipKeys+key, file.ValueOf(uint32(n))) }
	put("clip.has_vision_encoder", file.ValueOf(true))
	put(clipKind, file.ValueOf(m.tower.Projector))
	put("clip.use_gelu", file.ValueOf(v.Act == "gelu_tanh" || v.Act == "gelu_erf"))
	put("clip.use_silu", file.ValueOf(v.Act == "silu"))
	u32("embedding_length", v.Hidden)
	u32("feed_forward_length", v.FFN)
	u32("block_count", v.Layers)
	u32("attention.head_count", v.Heads)
	u32("patch_size", v.Patch)
	u32("projection_dim", m.Config.Hidden)
	u32("spatial_merge_size", v.Merge)
	u32("image_size", v.imageSide())
	put(clipKeys+"attention.layer_norm_epsilon", file.ValueOf(v.NormEps))
	if v.Window > 0 {
		u32("window_size", v.Window*v.Merge*v.Patch)
		u32("n_wa_pattern", v.windowPattern())
	}
	if v.Deepstack != nil {
		is := make([]bool, v.Layers)
		for _, l := range v.Deepstack {
			is[l] = true
		}
		put(clipKeys+"is_deepstack_layers", file.ArrayOf(is))
	}
	if v.Joined || v.Pool {
		u32("projector.scale_factor", v.Merge)
	}
	put(clipMean, file.ArrayOf(v.Images.Mean[:]))
	put(clipStd, file.ArrayOf(v.Images.Std[:]))
	put(ownVision, file.ValueOf(string(own)))
	x.Tensors, err = m.clipTensors()
	return x, err
}

// imageSide is the side of the image that learned positions are of, or a usual
// one.
func (v *Vision) imageSide() int {
	switch {
	case v.Side > 0:
		return v.Side
	case v.Positions > 0:
		return v.Positions * v.Patch
	}
	return 40 * v.Patch
}

// windowPattern is the period of layers that see whole frames; 0 = none.
func (v *Vision) windowPattern() int {
	if len(v.Full) == 0 {
		return 0
	}
	return v.Full[0] + 1
}

// clipTensors lists the tower's tensors, layer by layer.
func (m *Model) clipTensors() ([]Weight, error) {
	b := &binder{c: &m.Config}
	var out []Weight
	for layer := -1; layer < m.Config.Vision.Layers; layer++ {
		var names []string
		parts := map[string][]part{}
		for i := range m.tower.Weights {
			s := &m.tower.Weights[i]
			w, ok := m.Weights[canonical(s.ID, layer)]
			if !ok {
				continue
			}
			name := b.name(s.GGUF[0].Name, layer)
			if parts[name] == nil {
				names = append(names, name)
			}
			parts[name] = append(parts[name], part{s, w})
		}
		for _, name := range names {
			ws, err := m.clipTensor(name, parts[name])
			if err != nil {
				return nil, err
			}
			out = append(out, ws...)
		}
	}
	return append(out, m.breakRow()...), nil
}

// breakTensor is the row of the token that ends a row of an image. llama.cpp adds
// it to the rows of images, we read it where the decoder's file has it.
const breakTensor = "v.token_embd.img_break"

func (m *Model) breakRow() []Weight {
	c := &m.Config
	w, ok := m.Weights["token_embd"]
	if i := c.Vision.BreakToken; ok && i > 0 && i < c.Vocab {
		w.Name, w.Shape = breakTensor, tensor.Shape{c.Hidden}
		w.Transform = append(slices.Clone(w.Transform), Transform{Kind: SliceRows, A: i, B: i + 1}, Transform{Kind: Reshape, Shape: w.Shape})
		return []Weight{w}
	}
	return nil
}

func (m *Model) clipTensor(name string, parts []part) ([]Weight, error) {
	c := &m.Config
	spec, w := parts[0].spec, parts[0].w
	o := spec.GGUF[0]
	w.Transform = slices.Clone(w.Transform)
	w.Name = name
	if o.Of != "" {
		shape, err := c.shape(o.Of)
		if err != nil {
			return nil, err
		}
		if o.Rows[0] != "" {
			f, err := fuse(Weight{Name: name, Shape: shape}, parts)
			return []Weight{f}, err
		}
		if o.Frames && c.Vision.Temporal > 1 {
			return splitFrames(w, shape, c.Vision.Temporal), nil
		}
		t := Transform{Kind: Reshape, Shape: shape}
		if o.Turn {
			t = Transform{Kind: Transpose}
		}
		if o.View != "" {
			view, err := c.shape(o.View)
			if err != nil {
				return nil, err
			}
			n := len(view)
			view[n-2], view[n-1] = view[n-1], view[n-2]
			w.Transform = append(w.Transform, Transform{Kind: Reshape, Shape: view}, t)
			t = Transform{Kind: Reshape, Shape: shape}
		}
		w.Shape, w.Transform = shape, append(w.Transform, t)
	}
	if spec.Heads != "" {
		n, err := c.eval(spec.Heads)
		if err != nil {
			return nil, err
		}
		w.Transform = append(w.Transform, Transform{Kind: PermuteHeads, A: n, B: c.Vision.HeadDim})
	}
	if spec.Norm && c.NormPlus != 0 {
		w.Transform = append(w.Transform, Transform{Kind: AddConst, Value: c.NormPlus})
	}
	return []Weight{w}, nil
}

// splitFrames returns a patch embedding as one tensor for each image of a patch:
// name, name.1, …
func splitFrames(w Weight, shape tensor.Shape, n int) (out []Weight) {
	size := shape[2] * shape[3]
	for i := range n {
		f := Weight{Name: w.Name, Shape: shape, Sources: w.Sources, Transform: slices.Clone(w.Transform)}
		if i > 0 {
			f.Name = fmt.Sprintf("%s.%d", w.Name, i)
		}
		f.Transform = append(f.Transform, Transform{Kind: Reshape, Shape: tensor.Shape{shape[0] * shape[1] * n, size}},
			Transform{Kind: StepRows, A: i, B: n}, Transform{Kind: Reshape, Shape: shape})
		out = append(out, f)
	}
	return out
}

// joinFrames is the inverse of splitFrames: transforms from the tensors of all
// frames, one after the other, to a weight of shape want. of is the shape of one.
func joinFrames(of, want tensor.Shape, n int) []Transform {
	one, _ := of.Size()
	size := of[2] * of[3]
	return []Transform{
		{Kind: Reshape, Shape: tensor.Shape{n, one}},
		{Kind: Transpose},
		{Kind: Reshape, Shape: tensor.Shape{one / size, size, n}},
		{Kind: Transpose},
		{Kind: Reshape, Shape: want},
	}
}
