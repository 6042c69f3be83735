package compile

import (
	"fmt"
	"slices"

	"atenia/internal/plan"
)

// A imageTower describes one kind of image tower as data: what it reads of a
// configuration, its programs and its weights.
type imageTower struct {
	ID         string
	ModelTypes []string // model_type of a configuration with such a tower
	Text       string   // model_type of the decoder, if its configuration states none
	Projector  string   // clip.projector_type of a GGUF file that stores it
	HF         func(top, o *object, v *Vision)
	GGUF       func(h *header, v *Vision)

	Prologue plan.Program // of patches
	Block    plan.Program // of a layer
	Tap      plan.Program // of a layer whose features the decoder also reads
	Epilogue plan.Program // of tokens
	Weights  WeightMap
}

// towers lists the kinds of towers.
var towers = []*imageTower{&qwen2Tower, &qwen25Tower, &qwen3Tower, &siglipTower, &naflexTower, &pixtralTower}

func towerOf(id string) *imageTower {
	for _, t := range towers {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func towerFor(modelType string) *imageTower {
	for _, t := range towers {
		if slices.Contains(t.ModelTypes, modelType) {
			return t
		}
	}
	return nil
}

var (
	embedPatches = plan.Program{
		{Op: plan.OpPatchEmbed, Out: "e", In: []string{"x"}, W: w{"weight": "v.patch", "bias": "v.patch_bias", "pos": "v.pos"}, Tag: "patches"},
	}
	towerBlock = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "v.ln1", "bias": "v.ln1_bias"}, Tag: "attn_norm"},
		{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: w{
			"q": "v.q", "k": "v.k", "v": "v.v", "o": "v.o", "q_bias": "v.q_bias", "k_bias": "v.k_bias", "v_bias": "v.v_bias", "o_bias": "v.o_bias",
			"inv_freq": towerRopeID}, Tag: "attn"},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}, Tag: "attn_add"},
		{Op: plan.OpNorm, Out: "n2", In: []string{"h"}, W: w{"weight": "v.ln2", "bias": "v.ln2_bias"}, Tag: "ffn_norm"},
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: w{"gate": "v.gate", "up": "v.up", "down": "v.down",
			"gate_bias": "v.gate_bias", "up_bias": "v.up_bias", "down_bias": "v.down_bias"}, Tag: "ffn"},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "f"}, Tag: "ffn_add"},
	}
	plainBlock = slices.Concat(towerBlock[:4], plan.Program{
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: w{"up": "v.up", "down": "v.down", "up_bias": "v.up_bias", "down_bias": "v.down_bias"}, Tag: "ffn"},
	}, towerBlock[5:])
	postNorm = plan.LayerOp{Op: plan.OpNorm, Out: "p", In: []string{"x"}, W: w{"weight": "v.post_ln", "bias": "v.post_ln_bias"}, Tag: "post_norm"}
	merge    = plan.LayerOp{Op: plan.OpSpatialMerge, Out: "image", In: []string{"x"}, W: w{"norm": "mm.norm", "norm_bias": "mm.norm_bias",
		"fc1": "mm.fc1", "fc1_bias": "mm.fc1_bias", "fc2": "mm.fc2", "fc2_bias": "mm.fc2_bias"}, Tag: "merge"}
	joinedMerge = plan.LayerOp{Op: plan.OpSpatialMerge, Out: "image", In: []string{"x"}, W: w{"norm": "mm.norm", "merge": "mm.merge",
		"fc1": "mm.fc1", "fc1_bias": "mm.fc1_bias", "fc2": "mm.fc2", "fc2_bias": "mm.fc2_bias"}, Tag: "merge"}
	tap = plan.Program{
		{Op: plan.OpDeepstackTap, Out: "deep", In: []string{"x"}, W: w{"norm": "v.deep_norm", "norm_bias": "v.deep_norm_bias",
			"fc1": "v.deep_fc1", "fc1_bias": "v.deep_fc1_bias", "fc2": "v.deep_fc2", "fc2_bias": "v.deep_fc2_bias"}, Tag: "tap"},
	}
)

// The settings of the towers' image processors, as their classes have them.
var (
	clipImages   = Images{Sizes: "area", Filter: 3, MinPixels: 56 * 56, MaxPixels: 28 * 28 * 1280, Mean: clipMean3, Std: clipStd3}
	evenImages   = Images{Sizes: "area", Filter: 3, MinPixels: 256 * 256, MaxPixels: 4096 * 4096, Mean: half3, Std: half3}
	squareImages = Images{Sizes: "square", Frame: FrameParagraph, Filter: 2, Mean: half3, Std: half3}
	rowImages    = Images{Sizes: "longest", Frame: FrameRows, Filter: 3, Mean: clipMean3, Std: clipStd3}
	frameVideos  = Videos{MinPixels: 128 * 28 * 28, MaxPixels: 768 * 28 * 28}
	timedVideos  = Videos{Timed: true, Whole: true, Sampled: true, MinPixels: 128 * 32 * 32, MaxPixels: 768 * 32 * 32}
	tiledImages  = Images{Sizes: "tiles", Frame: FrameTiles, Filter: 2, Mean: half3, Std: half3}
)

// towerRopeID is the weight of frequencies by row and column.
const towerRopeID = "v.rope"

// qwen2Tower has layer norms and full attention, 2-D rotation and no learned
// positions (arXiv 2409.12191).
var qwen2Tower = imageTower{
	ID: "qwen2_vl", ModelTypes: []string{"qwen2_vl"}, Text: "qwen2_vl_text", Projector: "qwen2vl_merger",
	HF: func(_, o *object, v *Vision) {
		o.qwenTower(v)
		v.Hidden = o.Int("v.hidden", 1280, maxWidth, "embed_dim")
		v.Layers = o.Int("v.layers", 32, maxLayers, "depth")
		v.FFN = int(float64(v.Hidden) * float64(o.Float("v.ffn", 4, "mlp_ratio")))
		v.Act, v.Video, v.Videos = o.act("v.act", "quick_gelu"), true, frameVideos
	},
	GGUF: func(h *header, v *Vision) {
		h.qwenTower(v)
		v.Video, v.Videos = true, frameVideos
		if v.Act != "silu" {
			v.Act = "quick_gelu"
		}
	},
	Prologue: embedPatches, Block: plainBlock, Epilogue: plan.Program{merge},
	Weights: slices.Concat(qwenTowerWeights, plainFFN("mlp.fc1", "mlp.fc2"), merger("merger.ln_q", "merger.mlp.0", "merger.mlp.2")),
}

// qwen25Tower attends within windows in most layers (arXiv 2502.13923).
var qwen25Tower = imageTower{
	ID: "qwen2_5_vl", ModelTypes: []string{"qwen2_5_vl"}, Text: "qwen2_5_vl_text", Projector: "qwen2.5vl_merger",
	HF: func(_, o *object, v *Vision) {
		o.qwenTower(v)
		v.Gated, v.RMS, v.Video, v.Videos = true, true, true, frameVideos
		v.Hidden = o.Int("v.hidden", 3584, maxWidth, "hidden_size")
		v.Layers = o.Int("v.layers", 32, maxLayers, "depth")
		v.FFN = o.Int("v.ffn", 3420, maxWidth, "intermediate_size")
		v.Act = o.act("v.act", "silu")
		v.PerSecond = o.Float("v.per_second", 4, "tokens_per_second")
		window := o.Int("v.window", 112, 1<<20, "window_size")
		if v.Patch > 0 && v.Merge > 0 {
			v.Window = window / v.Merge / v.Patch
		}
		v.Full = o.layers("v.full", []int{7, 15, 23, 31}, "fullatt_block_indexes")
	},
	GGUF: func(h *header, v *Vision) {
		h.qwenTower(v)
		v.Gated, v.RMS, v.Video, v.Act, v.PerSecond, v.Videos = true, true, true, "silu", 2, frameVideos
		if n := h.clipUint(0, "n_wa_pattern"); n > 0 && v.Patch > 0 && v.Merge > 0 {
			v.Window = h.clipUint(112, "window_size") / v.Patch / v.Merge
			for l := n - 1; l < min(v.Layers, maxLayers); l += n {
				v.Full = append(v.Full, l)
			}
		}
	},
	Prologue: embedPatches, Block: towerBlock, Epilogue: plan.Program{merge},
	Weights: slices.Concat(qwenTowerWeights, gatedFFN, merger("merger.ln_q", "merger.mlp.0", "merger.mlp.2")),
}

// qwen3Tower adds learned positions and hands features of inner layers to the
// decoder (arXiv 2406.04334).
var qwen3Tower = imageTower{
	ID: "qwen3_vl", ModelTypes: []string{"qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"}, Projector: "qwen3vl_merger",
	HF: func(top, o *object, v *Vision) {
		o.qwenTower(v)
		v.Hidden = o.Int("v.hidden", 1152, maxWidth, "hidden_size")
		v.Layers = o.Int("v.layers", 27, maxLayers, "depth")
		v.FFN = o.Int("v.ffn", 4304, maxWidth, "intermediate_size")
		v.Patch = o.Int("v.patch", 16, 1<<10, "patch_size")
		v.Act = o.act("v.act", "gelu_pytorch_tanh")
		v.Images, v.Video, v.Videos = evenImages, true, timedVideos
		v.Positions, v.Resize = side(o.Int("v.positions", 2304, 1<<24, "num_position_embeddings")), "corners"
		var def []int
		if v.deepByDefault(top) {
			def = []int{8, 16, 24}
		}
		v.Deepstack = o.layers("v.deepstack", def, "deepstack_visual_indexes")
	},
	GGUF: func(h *header, v *Vision) {
		h.qwenTower(v)
		v.Resize, v.Images, v.Video, v.Videos = "corners", evenImages, true, timedVideos
	},
	Prologue: embedPatches, Block: plainBlock, Tap: tap, Epilogue: plan.Program{merge},
	Weights: slices.Concat(WeightMap(nil).with(qwenTowerWeights...).with(fusedQKV...), plainFFN("mlp.linear_fc1", "mlp.linear_fc2"),
		merger("merger.norm", "merger.linear_fc1", "merger.linear_fc2"), qwen3TowerWeights),
}

// deepByDefault reports whether a configuration without the key has inner
// layers: it names those of the class otherwise.
func (v *Vision) deepByDefault(top *object) bool {
	t, _ := top.M["model_type"].(string)
	return t == "qwen3_vl" || t == "qwen3_vl_moe"
}

// siglipTower is SigLIP with averaged patches and one product.
var siglipTower = imageTower{
	ID: "siglip_pool", ModelTypes: []string{"gemma3"}, Text: "gemma3_text", Projector: "gemma3",
	HF: func(top, o *object, v *Vision) {
		o.siglip(v, "image_size")
		v.Side = o.Int("v.side", 224, 1<<15, "image_size")
		v.Temporal, v.Pool, v.Whole = 1, true, true
		v.Images = squareImages
		v.ProjEps = v.NormEps
		tokens := side(top.Int("v.tokens", 256, 1<<20, "mm_tokens_per_image"))
		if v.Patch > 0 && tokens > 0 {
			v.Positions = v.Side / v.Patch
			v.Merge = v.Positions / tokens
		}
		v.ImageToken = top.Int("v.image_token", 262144, maxVocab, "image_token_index", "image_token_id")
		v.StartToken = top.Int("v.start_token", 255999, maxVocab, "boi_token_index")
		v.EndToken = top.Int("v.end_token", 256000, maxVocab, "eoi_token_index")
	},
	GGUF: func(h *header, v *Vision) {
		v.Side, v.Pool, v.Whole, v.ProjEps = h.clipUint(896, "image_size"), true, true, v.NormEps
		v.Merge, v.Images = h.clipUint(4, "projector.scale_factor"), squareImages
		h.placeholders(v, "<image_soft_token>", "", "<start_of_image>", "<end_of_image>")
	},
	Prologue: embedPatches, Block: plainBlock, Epilogue: plan.Program{postNorm, merge},
	Weights: slices.Concat(siglipWeights, siglipPatches, WeightMap{
		norm("mm.norm", "v.d", "", "mm.soft_emb_norm").hf("multi_modal_projector.mm_soft_emb_norm.weight", "model.multi_modal_projector.mm_soft_emb_norm.weight"),
		{ID: "mm.fc1", Shape: "d,v.d", HF: turned("v.d,d", "multi_modal_projector.mm_input_projection_weight", "model.multi_modal_projector.mm_input_projection_weight"),
			GGUF: turned("v.d,d", "mm.input_projection.weight")},
	}),
}

// naflexTower is SigLIP 2 for images of any size, with joined patches.
var naflexTower = imageTower{
	ID: "naflex", ModelTypes: []string{"lfm2_vl", "lfm2-vl"}, Text: "lfm2", Projector: "lfm2",
	HF: func(top, o *object, v *Vision) {
		o.siglip(v, "num_patches")
		v.Temporal, v.Joined, v.ProjEps = 1, true, 1e-5
		v.Images = tiledImages
		v.Positions, v.Resize = side(o.Int("v.positions", 256, 1<<24, "num_patches")), "area"
		v.Merge = top.Int("v.merge", 2, 64, "downsample_factor")
		v.Projector = top.Int("v.projector", 2560, maxWidth, "projector_hidden_size")
		v.ImageToken = top.Int("v.image_token", 396, maxVocab, "image_token_id", "image_token_index")
	},
	GGUF: func(h *header, v *Vision) {
		v.Joined, v.ProjEps, v.Resize = true, 1e-5, "area"
		v.Merge, v.Images = h.clipUint(2, "projector.scale_factor"), tiledImages
		if t := h.tensors["mm.1.weight"]; t != nil {
			v.Projector = t.View.Shape.Rows()
		}
		h.placeholders(v, "<image>", "", "<|image_start|>", "<|image_end|>")
	},
	Prologue: embedPatches, Block: plainBlock, Epilogue: plan.Program{postNorm, merge},
	Weights: slices.Concat(siglipWeights, naflexPatches, WeightMap{
		tower("mm.norm", "v.m", "v.any", "mm.input_norm.weight", "multi_modal_projector.layer_norm.weight", "model.multi_modal_projector.layer_norm.weight"),
		tower("mm.norm_bias", "v.m", "v.any", "mm.input_norm.bias", "multi_modal_projector.layer_norm.bias", "model.multi_modal_projector.layer_norm.bias"),
		tower("mm.fc1", "v.h,v.m", "", "mm.1.weight", "multi_modal_projector.linear_1.weight", "model.multi_modal_projector.linear_1.weight"),
		tower("mm.fc1_bias", "v.h", "v.any", "mm.1.bias", "multi_modal_projector.linear_1.bias", "model.multi_modal_projector.linear_1.bias"),
		tower("mm.fc2", "d,v.h", "", "mm.2.weight", "multi_modal_projector.linear_2.weight", "model.multi_modal_projector.linear_2.weight"),
		tower("mm.fc2_bias", "d", "v.any", "mm.2.bias", "multi_modal_projector.linear_2.bias", "model.multi_modal_projector.linear_2.bias"),
	}),
}

// pixtralTower turns heads by row and column, with frequencies that take turns,
// and joins patches by a product of its own (arXiv 2410.07073).
var pixtralTower = imageTower{
	ID: "pixtral", ModelTypes: []string{"mistral3"}, Text: "mistral", Projector: "pixtral",
	HF: func(top, o *object, v *Vision) {
		o.siglip(v, "")
		v.Hidden = o.Int("v.hidden", 1024, maxWidth, "hidden_size")
		v.Layers = o.Int("v.layers", 24, maxLayers, "num_hidden_layers")
		v.Heads = o.Int("v.heads", 16, maxHeads, "num_attention_heads")
		v.FFN = o.Int("v.ffn", 4096, maxWidth, "intermediate_size")
		v.Act = o.act("v.act", "gelu")
		v.Side = o.Int("v.side", 1024, 1<<15, "image_size")
		v.Theta = o.Float("v.theta", 1e4, "rope_theta")
		if r := o.sub("rope_parameters"); r != nil {
			v.Theta = r.Float("v.theta", float64(v.Theta), "rope_theta")
		}
		v.NormEps, v.ProjEps = 1e-5, 1e-6 // of the class: files do not say otherwise
		if text := top.sub("text_config"); text != nil {
			v.ProjEps = text.Float("v.proj_eps", 1e-6, "rms_norm_eps")
		}
		v.Merge = top.Int("v.merge", 2, 64, "spatial_merge_size")
		if act := top.Text("v.proj_act", "gelu", "projector_hidden_act"); act != "gelu" {
			top.Bad("projector_hidden_act", "gelu", act)
		}
		if l, ok := top.M["vision_feature_layer"]; ok && !slices.Contains([]string{"-1", "[-1]"}, fmt.Sprint(l)) {
			top.Bad("vision_feature_layer", "-1, the last", l)
		}
		v.pixtral()
		v.StartToken, v.VideoToken = 0, 0
		v.ImageToken = top.Int("v.image_token", 10, maxVocab, "image_token_index", "image_token_id")
		v.BreakToken, v.EndToken = 12, 13 // of all vocabularies of its house
	},
	GGUF: func(h *header, v *Vision) {
		v.pixtral()
		v.Theta, v.ProjEps, v.Side = 1e4, v.NormEps, h.clipUint(1540, "image_size")
		v.ImageToken, v.BreakToken, v.EndToken = 10, 12, 13
		h.placeholders(v, "[IMG]", "", "", "[IMG_END]")
	},
	Prologue: slices.Concat(embedPatches, plan.Program{
		{Op: plan.OpNorm, Out: "p", In: []string{"e"}, W: w{"weight": "v.pre_ln"}, Tag: "pre_norm"},
	}),
	Block: towerBlock, Epilogue: plan.Program{joinedMerge}, Weights: pixtralWeights,
}

// pixtral sets what no file says.
func (v *Vision) pixtral() {
	v.Temporal, v.Gated, v.RMS, v.Alternate, v.Images = 1, true, true, true, rowImages
}

// qwenTower reads what the towers of one house share.
func (o *object) qwenTower(v *Vision) {
	v.Heads = o.Int("v.heads", 16, maxHeads, "num_heads")
	v.Patch = o.Int("v.patch", 14, 1<<10, "patch_size", "spatial_patch_size")
	v.Temporal = o.Int("v.temporal", 2, 16, "temporal_patch_size")
	v.Channels = o.Int("v.channels", 3, 16, "in_channels", "in_chans")
	v.Merge = o.Int("v.merge", 2, 64, "spatial_merge_size")
	v.NormEps, v.ProjEps, v.Theta = 1e-6, 1e-6, 1e4
	v.Images = clipImages
	if r := o.sub("rope_parameters"); r != nil {
		v.Theta = r.Float("v.theta", 1e4, "rope_theta")
	}
	v.Projector = -1 // that of joined patches
}

// qwenTower sets what the towers of one house share.
func (h *header) qwenTower(v *Vision) {
	v.Theta, v.Projector, v.Images = 1e4, -1, clipImages
	h.placeholders(v, "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
}

// siglip reads the keys of SigLIP and SigLIP 2.
func (o *object) siglip(v *Vision, _ string) {
	v.Hidden = o.Int("v.hidden", 768, maxWidth, "hidden_size")
	v.Layers = o.Int("v.layers", 12, maxLayers, "num_hidden_layers")
	v.Heads = o.Int("v.heads", 12, maxHeads, "num_attention_heads")
	v.FFN = o.Int("v.ffn", 3072, maxWidth, "intermediate_size")
	v.Act = o.act("v.act", "gelu_pytorch_tanh")
	v.NormEps = o.Float("v.norm_eps", 1e-6, "layer_norm_eps")
	v.Patch = o.Int("v.patch", 16, 1<<10, "patch_size")
	v.Channels = o.Int("v.channels", 3, 16, "num_channels")
}

// act reads an activation.
func (o *object) act(field, def string) string {
	name := o.Text(field, def, "hidden_act")
	if a, ok := actAliases[name]; ok {
		return a
	}
	o.Bad("hidden_act", "a known activation", name)
	return ""
}

// layers reads a list of layers.
func (o *object) layers(field string, def []int, key string) []int {
	if _, _, ok := o.Find(field, []string{key}); !ok {
		return def
	}
	var out []int
	for _, x := range o.Floats(field, key) {
		if x != float32(int(x)) {
			o.Bad(key, "numbers of layers", x)
			return nil
		}
		out = append(out, int(x))
	}
	return out
}

// side returns the side of a square of n.
func side(n int) int {
	s := 0
	for (s+1)*(s+1) <= n {
		s++
	}
	return s
}

// readVision reads the tower of a model.
func (o *object) readVision(t *imageTower, top *object, c *Config) {
	v := &Vision{Tower: t.ID}
	vo := top.sub("vision_config")
	if vo == nil {
		return
	}
	v.ImageToken = top.Int("v.image_token", 151655, maxVocab, "image_token_id")
	v.VideoToken = top.Int("v.video_token", 151656, maxVocab, "video_token_id")
	v.StartToken = top.Int("v.start_token", 151652, maxVocab, "vision_start_token_id")
	v.EndToken = top.Int("v.end_token", 151653, maxVocab, "vision_end_token_id")
	t.HF(top, vo, v)
	if v.Heads > 0 && v.HeadDim == 0 {
		v.HeadDim = v.Hidden / v.Heads
	}
	if v.Projector < 0 {
		v.Projector = v.Hidden * v.Merge * v.Merge
	}
	c.Vision = v
	o.readSections(c, c.Mixed)
}
