package compile

import (
	"fmt"

	"atenia/internal/kernel/chunk"
	"atenia/internal/plan"
)

// A Delta is a gated delta rule (arXiv 2412.06464).
type Delta struct {
	KHeads, VHeads int
	KDim, VDim     int // of a head
	Conv           int // width of the convolution
}

// channels is the width of the convolution's rows: queries, keys and values.
func (d *Delta) channels() int { return 2*d.KHeads*d.KDim + d.VHeads*d.VDim }

func (d *Delta) check(bad func(field, want string, got any)) {
	for _, x := range []struct {
		field    string
		got, max int
	}{
		{"key heads of linear attention", d.KHeads, maxHeads}, {"value heads of linear attention", d.VHeads, maxHeads},
		{"key width of linear attention", d.KDim, maxHead}, {"value width of linear attention", d.VDim, maxHead},
		{"width of the convolution", d.Conv, maxTaps},
	} {
		if x.got < 1 || x.got > x.max {
			bad(x.field, fmt.Sprintf("1 to %d", x.max), x.got)
			return
		}
	}
	if d.VHeads%d.KHeads != 0 {
		bad("value heads of linear attention", fmt.Sprintf("a multiple of the %d key heads", d.KHeads), d.VHeads)
	}
	if d.channels() > maxWidth {
		bad("channels of linear attention", fmt.Sprintf("at most %d", maxWidth), d.channels())
	}
}

// tiles are ranges that reorder heads of values, which follow others and have a width,
// from neighbours that share a key head to heads of all key heads in turn.
func (d *Delta) tiles(before, width int) [][2]int {
	var out [][2]int
	if before > 0 {
		out = append(out, [2]int{0, before})
	}
	group := d.VHeads / d.KHeads
	for j := range group {
		for k := range d.KHeads {
			at := before + (k*group+j)*width
			out = append(out, [2]int{at, at + width})
		}
	}
	return out
}

// qkvOf and gateOf are the rows of a tensor that holds q, k, v and z of each key head
// in turn.
func qkvOf(c *Config) [][2]int {
	d := &c.Delta
	return append(append(d.packed(0, d.KDim), d.packed(d.KDim, d.KDim)...), d.packed(2*d.KDim, d.VHeads/d.KHeads*d.VDim)...)
}

func gateOf(c *Config) [][2]int {
	d := &c.Delta
	v := d.VHeads / d.KHeads * d.VDim
	return d.packed(2*d.KDim+v, v)
}

// packed returns n rows at an offset in the part of each key head.
func (d *Delta) packed(at, n int) [][2]int {
	size := 2 * (d.KDim + d.VHeads/d.KHeads*d.VDim)
	out := make([][2]int, d.KHeads)
	for h := range out {
		out[h] = [2]int{h*size + at, h*size + at + n}
	}
	return out
}

func (r *resolver) gatedDelta(layer int) (plan.Params, error) {
	d := &r.c.Delta
	return &plan.GatedDeltaParams{
		Layer: uint32(r.states.ordinal[layer]), KHeads: uint32(d.KHeads), VHeads: uint32(d.VHeads), KDim: uint32(d.KDim), VDim: uint32(d.VDim),
		Conv: uint32(d.Conv), Chunk: chunk.Span, NormEps: r.c.NormEps, L2Eps: 1e-6, VLayout: toFlag(r.c.TiledV),
	}, nil
}

// deltaSections are the parts of a layer's state.
func (c *Config) deltaSections() []plan.Section {
	d := &c.Delta
	return []plan.Section{
		floatSection("conv", (d.Conv-1)*d.channels()),
		floatSection("keys", d.KHeads*chunk.KeysLen(d.KDim)),
		floatSection("heads", d.VHeads*chunk.HeadLen(d.KDim, d.VDim)),
	}
}

// fullInterval is the distance of layers that attend in files that do not say it.
const fullInterval = 4

// gatedDeltaKeys puts llama.cpp's keys. The interval is that of the first layer that
// attends.
func (c *Config) gatedDeltaKeys(u32 func(string, int)) {
	d := &c.Delta
	u32("ssm.conv_kernel", d.Conv)
	u32("ssm.state_size", d.KDim)
	u32("ssm.group_count", d.KHeads)
	u32("ssm.time_step_rank", d.VHeads)
	u32("ssm.inner_size", d.VHeads*d.VDim)
	interval := fullInterval
	for i, l := range c.Layers {
		if l.Mixer == mixAttention {
			interval = i + 1
			break
		}
	}
	u32("full_attention_interval", interval)
}

// setInterval makes every n-th layer attend and the others linear.
func (c *Config) setInterval(n int) {
	for i := range c.Layers {
		if n < 1 || (i+1)%n != 0 {
			c.setMixer(i, mixDelta)
		}
	}
}

// readDelta reads the keys of qwen's linear attention and the layers that have it.
func (o *object) readDelta(c *Config) {
	c.QGate = true
	d := &c.Delta
	d.KHeads = o.Int("delta_key_heads", 16, maxHeads, "linear_num_key_heads")
	d.VHeads = o.Int("delta_value_heads", 32, maxHeads, "linear_num_value_heads")
	d.KDim = o.Int("delta_key_dim", 128, maxHead, "linear_key_head_dim")
	d.VDim = o.Int("delta_value_dim", 128, maxHead, "linear_value_head_dim")
	d.Conv = o.Int("conv_kernel", 4, maxTaps, "linear_conv_kernel_dim")
	if !o.setMixers(c, map[string]string{"linear_attention": mixDelta, "full_attention": mixAttention}) {
		c.setInterval(o.Int("full_interval", fullInterval, maxLayers, "full_attention_interval"))
	}
	r := o.sub("rope_parameters")
	if t := c.rope("full"); t != nil && !o.Has("partial_rotary_factor") && (r == nil || !r.Has("partial_rotary_factor")) {
		t.Dim = c.HeadDim / 4
	}
}

func (h *header) readDelta(c *Config) {
	c.QGate = true
	d := &c.Delta
	d.Conv = h.int("conv_kernel", 0, maxTaps, "ssm.conv_kernel")
	d.KDim = h.int("delta_key_dim", 0, maxHead, "ssm.state_size")
	d.KHeads = h.int("delta_key_heads", 0, maxHeads, "ssm.group_count")
	d.VHeads = h.int("delta_value_heads", 0, maxHeads, "ssm.time_step_rank")
	d.VDim = h.int("delta_value_dim", 0, maxWidth, "ssm.inner_size") / max(1, d.VHeads)
	c.setInterval(h.int("full_interval", fullInterval, maxLayers, "full_attention_interval"))
}

var deltaMixers = map[string]plan.Program{
	mixAttention: attention,
	mixDelta: {
		attention[0],
		{Op: plan.OpGatedDelta, Out: "a", In: []string{"n"}, W: w{
			"qkv": "gdn_qkv", "z": "gdn_z", "b": "gdn_b", "a": "gdn_a", "conv": "gdn_conv",
			"decay": "gdn_decay", "dt_bias": "gdn_dt_bias", "norm": "gdn_norm", "out": "gdn_out",
		}, Tag: "delta"},
		attention[2],
	},
}

// deltaWeights are those of a gated delta rule whose projections are separate tensors.
var deltaWeights = []WeightSpec{
	norm("ffn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"post_attention_norm"),
	matrix("attn_q", "2*H*h,d", hfLayer+"self_attn.q_proj", ggufLayer+"attn_q"),
	bias("attn_q_bias", "2*H*h", "qkv_bias", hfLayer+"self_attn.q_proj", ggufLayer+"attn_q"),
	matrix("gdn_qkv", "delta.channel,d", hfLayer+"linear_attn.in_proj_qkv", ggufLayer+"attn_qkv").tiled("delta.qk", "delta.v"),
	matrix("gdn_z", "delta.out,d", hfLayer+"linear_attn.in_proj_z", ggufLayer+"attn_gate").tiled("0", "delta.v"),
	matrix("gdn_b", "delta.values,d", hfLayer+"linear_attn.in_proj_b", ggufLayer+"ssm_beta").tiled("0", "1"),
	matrix("gdn_a", "delta.values,d", hfLayer+"linear_attn.in_proj_a", ggufLayer+"ssm_alpha").tiled("0", "1"),
	taps("gdn_conv", "delta.channel", "delta.taps", hfLayer+"linear_attn.conv1d", ggufLayer+"ssm_conv1d").tiled("delta.qk", "delta.v"),
	{ID: "gdn_decay", Shape: "delta.values", HF: []Origin{{Name: hfLayer + "linear_attn.A_log", Map: NegExp}},
		GGUF: named(ggufLayer+"ssm_a", ""), Tile: Tile{Before: "0", Width: "1"}},
	{ID: "gdn_dt_bias", Shape: "delta.values", HF: named(hfLayer+"linear_attn.dt_bias", ""),
		GGUF: named(ggufLayer+"ssm_dt", ".bias"), Tile: Tile{Before: "0", Width: "1"}},
	matrix("gdn_norm", "delta.v", hfLayer+"linear_attn.norm", ggufLayer+"ssm_norm"),
	{ID: "gdn_out", Shape: "d,delta.out", HF: named(hfLayer+"linear_attn.out_proj", ".weight"),
		GGUF: named(ggufLayer+"ssm_out", ".weight"), Tile: Tile{Before: "0", Width: "delta.v", Cols: true}},
}

// packedWeights are those of projections that files have packed by key head. Newer GGUF
// files have them unpacked, but for b and a.
var packedWeights = []WeightSpec{
	packedWeight("gdn_qkv", "delta.channel,d", "attn_qkv", qkvOf),
	packedWeight("gdn_z", "delta.out,d", "attn_gate", gateOf),
	packedGates("gdn_b", "0", "delta.group"),
	packedGates("gdn_a", "delta.group", "2*delta.group"),
}

func packedWeight(id, shape, gguf string, rows func(*Config) [][2]int) WeightSpec {
	o := Origin{Of: "delta.channel+delta.out,d", Pick: rows}
	hf, old := o, o
	hf.Name, old.Name = hfLayer+"linear_attn.in_proj_qkvz.weight", ggufLayer+"ssm_in.weight"
	return WeightSpec{ID: id, Shape: shape, HF: []Origin{hf}, GGUF: append(named(ggufLayer+gguf, ".weight"), old)}
}

func packedGates(id, lo, hi string) WeightSpec {
	o := Origin{Of: "2*delta.values,d", Rows: [2]string{lo, hi}, Each: "delta.keys"}
	hf, gguf := o, o
	hf.Name, gguf.Name = hfLayer+"linear_attn.in_proj_ba.weight", ggufLayer+"ssm_ba.weight"
	return WeightSpec{ID: id, Shape: "delta.values,d", HF: []Origin{hf}, GGUF: []Origin{gguf}}
}

// qwen3Next has gated delta rules in three of four layers, gated attention in the
// others, and a mixture after each.
var qwen3Next = Family{
	ID: "qwen3_next", ModelTypes: []string{"qwen3_next"},
	Arch: "qwen3next", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 48, Heads: 16, KVHeads: 2, HeadDim: 256, FFN: 5632, Vocab: 151936, Context: 32768,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", NormPlus: 1, QKNorm: true, FFNBias: Absent,
		Mixture: Mixture{Renorm: true, Shared: 512},
	},
	HF: func(o *object, c *Config) {
		o.readDelta(c)
		o.readMixture(c, Mixture{Experts: 512, TopK: 10, Width: 512, Shared: 512, Renorm: true})
	},
	GGUF:     func(h *header, c *Config) { h.readDelta(c) },
	Prologue: embedText, Mixers: deltaMixers, FFNs: sparseFFNs, Epilogue: headText,
	Weights: qwenMoEWeights.with(deltaWeights...).with(packedWeights...),
}

// qwen35 is the same with dense layers, and its projections as separate tensors.
var qwen35 = Family{
	ID: "qwen3_5", ModelTypes: []string{"qwen3_5_text"},
	Arch: "qwen35", ReadsArch: true, Tiles: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 16, KVHeads: 4, HeadDim: 256, FFN: 12288, Vocab: 248320, Context: 32768,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", NormPlus: 1, QKNorm: true, FFNBias: Absent,
	},
	HF: func(o *object, c *Config) { o.readDelta(c) },
	GGUF: func(h *header, c *Config) {
		h.readDelta(c)
		c.TiledV = true
	},
	Prologue: embedText, Mixers: deltaMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights.with(deltaWeights...),
}

// qwen35MoE is that with mixtures.
var qwen35MoE = Family{
	ID: "qwen3_5_moe", ModelTypes: []string{"qwen3_5_moe_text"},
	Arch: "qwen35moe", ReadsArch: true, Tiles: true,
	Defaults: Defaults{
		Hidden: 2048, Layers: 40, Heads: 16, KVHeads: 2, HeadDim: 256, FFN: 5632, Vocab: 248320, Context: 32768,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", NormPlus: 1, QKNorm: true, FFNBias: Absent,
		Mixture: Mixture{Renorm: true, Shared: 512},
	},
	HF: func(o *object, c *Config) {
		o.readDelta(c)
		o.readMixture(c, Mixture{Experts: 256, TopK: 8, Width: 512, Shared: 512, Renorm: true})
		c.Mixture.Renorm = true // whatever the file says: the reference has no such key
	},
	GGUF: func(h *header, c *Config) {
		h.readDelta(c)
		c.TiledV = true
	},
	Prologue: embedText, Mixers: deltaMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: qwenMoEWeights.with(deltaWeights...),
}
