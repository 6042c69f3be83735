package compile

import (
	"fmt"
	"math"

	"atenia/internal/plan"
)

// latentFamilies are models with latent attention.
var latentFamilies = []*Family{&deepseek2, &deepseek3, &youtu, &miniCPM3}

// latentTerms are the names that their weight maps use.
var latentTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"mla.q":    func(c *Config) int { return c.Latent.QRank },
		"mla.c":    func(c *Config) int { return c.Latent.KVRank },
		"mla.nope": func(c *Config) int { return c.Latent.Nope },
		"mla.rope": func(c *Config) int { return c.Latent.Rope },
		"mla.v":    func(c *Config) int { return c.Latent.V },
		"mla.in":   func(c *Config) int { return c.Latent.queryInput(c) },
	},
	conds: map[string]func(*Config) Presence{
		"mla.q":    func(c *Config) Presence { return presentIf(c.Latent.QRank > 0) },
		"mla.no_q": func(c *Config) Presence { return presentIf(c.Latent.QRank == 0) },
		"mla.bias": func(c *Config) Presence {
			if c.Latent.QRank == 0 {
				return Absent
			}
			return c.QKVBias
		},
	},
}

// latentTypes and latentArchs are those of them that are refused by name.
var (
	latentTypes = map[string]string{}
	latentArchs = map[string]string{}
)

// A Latent is multi-head latent attention: keys and values are expanded from one
// vector a token, which alone is cached (DeepSeek-V2, arXiv 2405.04434).
type Latent struct {
	QRank       int     // width between the two query projections; 0 = one projection
	KVRank      int     // width of the cached vector
	Nope        int     // elements of a head's key without rotation
	Rope        int     // elements with rotation, shared by all heads
	V           int     // elements of a head's value
	NormEps     float32 // of the norms between two projections
	Interleaved bool    `json:",omitempty"` // rope rotates elements 2i and 2i+1
}

// innerEps is the epsilon of the norms between two projections: references
// construct them without one, whatever the configuration says of the others.
const innerEps = 1e-6

// queryInput is the width that the last query projection reads.
func (l *Latent) queryInput(c *Config) int {
	if l.QRank > 0 {
		return l.QRank
	}
	return c.Hidden
}

func (l *Latent) check(bad func(field, want string, got any)) {
	for _, x := range []struct {
		field         string
		got, min, max int
	}{
		{"rank of queries", l.QRank, 0, maxWidth}, {"rank of keys and values", l.KVRank, 1, maxWidth},
		{"width of keys without rotation", l.Nope, 1, maxHead}, {"rotated width of keys", l.Rope, 2, maxHead}, {"width of values", l.V, 1, maxHead},
	} {
		if x.got < x.min || x.got > x.max {
			bad(x.field, fmt.Sprintf("%d to %d", x.min, x.max), x.got)
		}
	}
	if !(l.NormEps > 0 && l.NormEps < 1) {
		bad("epsilon of inner norms", "a number above 0", l.NormEps)
	}
}

// sections are the cached vectors and the rotated keys of a layer in a page, row
// by row.
func (l *Latent) sections(opt Options) ([]plan.Section, error) {
	var out []plan.Section
	at := uint64(0)
	for _, s := range []struct {
		name string
		cols int
	}{{"ckv", l.KVRank}, {"kpe", l.Rope}} {
		row, err := opt.KVType.RowBytes(s.cols)
		if err != nil {
			return nil, fmt.Errorf("cache of latent attention: %s: %w", s.name, err)
		}
		n := uint64(row) * uint64(opt.PageTokens)
		out = append(out, plan.Section{Name: s.name, Offset: at, Bytes: n, DType: opt.KVType})
		at += n
	}
	return out, nil
}

// latent returns the payload of a layer's attention. Both plans absorb the
// projection of keys and values into queries and results: a row's result is then
// the same bits whatever the division of a prompt into steps.
func (r *resolver) latent(layer int) (plan.Params, error) {
	c, l := r.c, &r.c.Latent
	a := r.attention(layer) // for the rotation
	p := &plan.MLAParams{
		Layer: a.Layer, Heads: uint32(c.Heads), QRank: uint32(l.QRank), KVRank: uint32(l.KVRank),
		Nope: uint32(l.Nope), Rope: uint32(l.Rope), V: uint32(l.V),
		RopeStyle: a.RopeStyle, RopeKind: a.RopeKind, RopeLimit: a.RopeLimit, RopeBase: a.RopeBase, RopeFactor: a.RopeFactor, RopeScale: a.RopeScale,
		Scale: c.AttnScale, NormEps: l.NormEps, Absorb: 1,
	}
	if p.RopeStyle != plan.RopeNone {
		p.RopeStyle = plan.RopeHalf
		if l.Interleaved {
			p.RopeStyle = plan.RopeInterleaved
		}
	}
	return p, nil
}

// setLatent makes all layers attend to latent vectors.
func (c *Config) setLatent() {
	l := &c.Latent
	c.KVHeads, c.HeadDim = c.Heads, l.Nope+l.Rope
	for i := range c.Layers {
		c.Layers[i].Mixer = mixMLA
	}
	c.AttnScale = float32(1 / math.Sqrt(float64(c.HeadDim)))
}

// readLatent reads the widths, whose defaults are def's, and the rotation of
// latent attention.
func (o *object) readLatent(c *Config, d *Defaults, def Latent) {
	l := &c.Latent
	l.QRank = o.Int("mla.q_rank", def.QRank, maxWidth, "q_lora_rank")
	l.KVRank = o.Int("mla.kv_rank", def.KVRank, maxWidth, "kv_lora_rank")
	l.Nope = o.Int("mla.nope", def.Nope, maxHead, "qk_nope_head_dim")
	l.Rope = o.Int("mla.rope", def.Rope, maxHead, "qk_rope_head_dim")
	l.V = o.Int("mla.v", def.V, maxHead, "v_head_dim")
	if l.V == 0 && c.Heads > 0 {
		l.V = c.Hidden / c.Heads
	}
	l.NormEps, l.Interleaved = innerEps, def.Interleaved
	if def.Interleaved {
		l.Interleaved = o.Bool("mla.interleaved", true, "rope_interleave")
	}
	c.HeadDim = l.Rope // whose tables are read
	readRopes(o, d, c)
	c.setLatent()
	if r, _ := o.ropeObject("full_attention"); r != nil {
		t := c.rope("full")
		if all := r.Float("mla.mscale_all", 0, "mscale_all_dim"); all != 0 && t.Scaling != PlainRope {
			m := ropeStrength(float64(t.Factor), float64(all))
			c.AttnScale = float32(m * m / math.Sqrt(float64(c.HeadDim)))
		}
	}
}

// readLatent reads the widths of a GGUF file. Newer ones state in key_length and
// value_length what the cache holds, and the widths of heads in keys of their own.
func (h *header) readLatent(c *Config, interleaved bool) {
	l := &c.Latent
	l.QRank = h.int("mla.q_rank", 0, maxWidth, "attention.q_lora_rank")
	l.KVRank = h.int("mla.kv_rank", 0, maxWidth, "attention.kv_lora_rank")
	l.Rope = h.int("mla.rope", 0, maxHead, "rope.dimension_count")
	key := h.int("mla.key", h.int("mla.key", 0, maxWidth, "attention.key_length"), maxHead, "attention.key_length_mla")
	width := 0 // of a value, if nothing states it
	if c.Heads > 0 {
		width = c.Hidden / c.Heads
	}
	l.V = h.int("mla.v", h.int("mla.v", width, maxWidth, "attention.value_length"), maxHead, "attention.value_length_mla")
	l.Nope = key - l.Rope
	l.NormEps, l.Interleaved = innerEps, interleaved
	h.has(leadingDense) // layers without a router
	c.setLatent()
	t := c.rope("full")
	if log := h.float("mla.mscale_all", 0, yarnLog); t.Scaling == Yarn && log != 0 {
		m := 1 + float64(log)*math.Log(float64(t.Factor))
		c.AttnScale, t.Scale = float32(m*m/math.Sqrt(float64(c.HeadDim))), 1
	}
	if h.has("attention.scale") {
		c.AttnScale = h.float("attn_scale", 0, "attention.scale")
	}
}

// yarnLog is the key of 0.1 times yarn's mscale_all_dim.
const yarnLog = "rope.scaling.yarn_log_multiplier"

// latentKeys calls its arguments with llama.cpp's keys of latent attention.
func (c *Config) latentKeys(reader *Family, u32 func(string, int), f32 func(string, float32)) {
	if !c.hasMixer(mixMLA) {
		return
	}
	l := &c.Latent
	if l.QRank > 0 {
		u32("attention.q_lora_rank", l.QRank)
	}
	u32("attention.kv_lora_rank", l.KVRank)
	if reader.LatentHeads {
		return
	}
	u32(leadingDense, c.leadingDense())
	if m := &c.Mixture; c.hasMixture() {
		u32("expert_shared_count", m.Shared/m.Width)
	} else { // llama.cpp wants both also where nothing routes
		u32("expert_feed_forward_length", c.FFN)
		u32("expert_shared_count", 0)
	}
	u32("attention.key_length_mla", l.Nope+l.Rope)
	u32("attention.value_length_mla", l.V)
	r := c.rope("full")
	if r == nil || r.Scaling != Yarn {
		return
	}
	m := math.Sqrt(float64(c.AttnScale) * math.Sqrt(float64(c.HeadDim)))
	if log := (m - 1) / math.Log(float64(r.Factor)); log > 1e-6 {
		f32(yarnLog, float32(log))
	}
}

var latentMixer = plan.Program{
	attention[0],
	{Op: plan.OpMLA, Out: "a", In: []string{"n"}, W: w{
		"q_a": "mla_q_a", "q_a_norm": "mla_q_a_norm", "q_b": "mla_q_b", "kv_a": "mla_kv_a", "kv_a_norm": "mla_kv_a_norm",
		"k_b": "mla_k_b", "v_b": "mla_v_b", "o": "mla_o", "q_a_bias": "mla_q_a_bias", "kv_a_bias": "mla_kv_a_bias", "o_bias": "mla_o_bias",
		"inv_freq": ropeShortID, "inv_freq_long": ropeLongID,
	}, Tag: "attn"},
	attention[2],
}

var latentMixers = map[string]plan.Program{mixMLA: latentMixer}

// latentWeights is the weights of latent attention and of a dense feed-forward
// layer. The projection of keys has the axes of each head exchanged, so that it
// multiplies queries; both parts of the projection are rows of one tensor in
// Hugging Face files and in older GGUF files.
var latentWeights = func() WeightMap {
	const self = hfLayer + "self_attn."
	both := func(file, lo, hi, turned string) Origin {
		return Origin{Name: file + ".weight", Of: "H*mla.nope+H*mla.v,mla.c", Rows: [2]string{lo, hi}, Each: "H", Turned: turned}
	}
	part := func(id, shape, gguf, in3, lo, hi, turned string) WeightSpec {
		return WeightSpec{ID: id, Shape: shape, HF: []Origin{both(self+"kv_b_proj", lo, hi, turned)},
			GGUF: []Origin{{Name: ggufLayer + gguf + ".weight", Of: in3}, both(ggufLayer+"attn_kv_b", lo, hi, turned)}}
	}
	qb := WeightSpec{ID: "mla_q_b", Shape: "H*mla.nope+H*mla.rope,mla.in",
		HF:   []Origin{{Name: self + "q_b_proj.weight", If: "mla.q"}, {Name: self + "q_proj.weight", If: "mla.no_q"}},
		GGUF: []Origin{{Name: ggufLayer + "attn_q_b.weight", If: "mla.q"}, {Name: ggufLayer + "attn_q.weight", If: "mla.no_q"}}}
	return llamaWeights.with(
		matrix("mla_q_a", "mla.q,d", self+"q_a_proj", ggufLayer+"attn_q_a").when("mla.q"),
		norm("mla_q_a_norm", "mla.q", self+"q_a_layernorm", ggufLayer+"attn_q_a_norm").when("mla.q"),
		qb,
		matrix("mla_kv_a", "mla.c+mla.rope,d", self+"kv_a_proj_with_mqa", ggufLayer+"attn_kv_a_mqa"),
		norm("mla_kv_a_norm", "mla.c", self+"kv_a_layernorm", ggufLayer+"attn_kv_a_norm"),
		part("mla_k_b", "H*mla.c,mla.nope", "attn_k_b", "H,mla.c,mla.nope", "0", "mla.nope", "H,mla.nope,mla.c"),
		part("mla_v_b", "H*mla.v,mla.c", "attn_v_b", "H,mla.v,mla.c", "mla.nope", "mla.nope+mla.v", ""),
		matrix("mla_o", "d,H*mla.v", self+"o_proj", ggufLayer+"attn_output"),
		bias("mla_q_a_bias", "mla.q", "mla.bias", self+"q_a_proj", ggufLayer+"attn_q_a"),
		bias("mla_kv_a_bias", "mla.c+mla.rope", "qkv_bias", self+"kv_a_proj_with_mqa", ggufLayer+"attn_kv_a_mqa"),
		bias("mla_o_bias", "d", "o_bias", self+"o_proj", ggufLayer+"attn_output"),
	)
}()
