package compile

import (
	"math"
	"slices"

	"atenia/internal/model/file"
	"atenia/internal/plan"
)

// olderFamilies are networks before llama, and those with other blocks.
var olderFamilies = []*Family{
	&gpt2, &gptNeoX, &phi2, &falcon, &mpt, &bloom, &starcoder2, &stablelm,
	&olmo2, &olmo3, &commandR, &cohere2, &glm4, &ernie45, &exaone4, &hunyuanDense,
}

// olderTerms are the names that their weight maps use.
var olderTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"older.positions": func(c *Config) int { return c.Context },
	},
	conds: map[string]func(*Config) Presence{
		"older.qk_layer": func(c *Config) Presence { return presentIf(c.QKNorm && c.QKKind == qkLayer) },
	},
}

// olderTypes and olderArchs are those of them that are refused by name.
var (
	olderTypes = map[string]string{
		"phi-msft":             otherNetwork,
		"mixformer-sequential": otherNetwork,
	}
	olderArchs = map[string]string{}
)

// Programs with layer norms, and blocks whose attention and feed-forward layer
// read the same input. Weights that a model does not have, as biases, bind to
// nothing.
var (
	layerHead = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "output_norm", "bias": "output_norm_bias"}, Tag: "output_norm"},
		{Op: plan.OpLMHead, Out: "logits", In: []string{"n"}, W: w{"weight": "output", "bias": "output_bias"}, Tag: "head"},
	}
	layerAttention = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm", "bias": "attn_norm_bias"}, Tag: "attn_norm"},
		attention[1],
		attention[2],
	}
	layerDense = plan.Program{
		{Op: plan.OpNorm, Out: "n2", In: []string{"x"}, W: w{"weight": "ffn_norm", "bias": "ffn_norm_bias"}, Tag: "ffn_norm"},
		dense[1],
		dense[2],
	}
	// parallelBlock is x + attention(n) + ffn(n).
	parallelBlock = plan.Program{
		layerAttention[0],
		attention[1],
		{Op: plan.OpFFN, Out: "f", In: []string{"n"}, W: ffnWeights, Tag: "ffn"},
		attention[2],
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "f"}, Tag: "ffn_add"},
	}
	// parallelNorms has a norm for each.
	parallelNorms = plan.Program{
		layerAttention[0],
		attention[1],
		layerDense[0],
		dense[1],
		attention[2],
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "f"}, Tag: "ffn_add"},
	}
	// postAttention and postDense normalize branches, not what they read.
	postAttention = plan.Program{
		{Op: plan.OpAttention, Out: "a", In: []string{"x"}, W: attentionWeights, Tag: "attn"},
		attentionSandwich[2],
		attentionSandwich[3],
	}
	postDense = plan.Program{
		{Op: plan.OpFFN, Out: "f", In: []string{"x"}, W: ffnWeights, Tag: "ffn"},
		denseSandwich[2],
		denseSandwich[3],
	}
	embedPositions = plan.Program{
		{Op: plan.OpEmbedding, Out: "e", In: []string{"tokens"}, W: w{"table": "token_embd", "pos": "position_embd"}, Tag: "embed"},
	}
	embedNormed = plan.Program{
		embedText[0],
		{Op: plan.OpNorm, Out: "n", In: []string{"e"}, W: w{"weight": "token_embd_norm", "bias": "token_embd_norm_bias"}, Tag: "embed_norm"},
	}

	layerMixers    = map[string]plan.Program{mixAttention: layerAttention}
	layerFFNs      = map[string]plan.Program{ffnDense: layerDense}
	parallelMixers = map[string]plan.Program{mixParallel: parallelBlock}
	noFFNs         = map[string]plan.Program{ffnNone: nil}
	eitherFFNs     = map[string]plan.Program{ffnDense: layerDense, ffnNone: nil}
	postMixers     = map[string]plan.Program{mixAttention: postAttention}
	postFFNs       = map[string]plan.Program{ffnDense: postDense}
)

// eachLayer gives all layers the same halves.
func (c *Config) eachLayer(mixer, ffn string) {
	for i := range c.Layers {
		c.Layers[i].Mixer, c.Layers[i].FFN = mixer, ffn
	}
}

// isParallel reports whether they are parallel blocks.
func (c *Config) isParallel() bool { return c.hasMixer(mixParallel) || c.hasMixer(mixParallel2) }

// ropeWithWindow removes rotary positions from the layers without a window.
func (c *Config) ropeWithWindow() {
	for i := range c.Layers {
		if l := &c.Layers[i]; l.Window == 0 {
			l.Rope = ""
		}
	}
}

// widen derives the width of feed-forward layers where the file has none.
func (c *Config) widen(times int) {
	if c.FFN == 0 {
		c.FFN = times * c.Hidden
	}
}

// partial sets how much of each head is rotated where the configuration does not
// say so under its usual name.
func (o *object) partial(c *Config, def float64, alias string) {
	const usual = "partial_rotary_factor"
	if r, _ := o.ropeObject("full_attention"); r != nil && r.Has(usual) || o.Has(usual) {
		return
	}
	part := o.Float("rope.full.dim", def, alias)
	if !(part >= 0 && part <= 1) {
		o.Bad(alias, "a number from 0 to 1", part)
		return
	}
	if t := c.rope("full"); t != nil {
		t.Dim = int(float64(c.HeadDim) * float64(part))
	}
}

// refuse adds a fault for a switch that selects what is not supported.
func (o *object) refuse(key string, def bool, why string) {
	field := "refused." + key
	if o.Bool(field, def, key) {
		o.Faults.Add(&UnsupportedModelError{Key: o.Prefix + key, Name: "true", Why: why, Supported: []string{"false"}})
	}
	delete(o.Prov, field)
}

// biases sets the presence of all biases of a model by one key.
func (o *object) biases(c *Config, def bool, key string) {
	p := presentIf(o.Bool("qkv_bias", def, key))
	c.QKVBias, c.OutBias, c.FFNBias = p, p, p
}

// parallelKey is gpt-neox's and stablelm's key for parallel blocks.
const parallelKey = "use_parallel_residual"

// flag reads a boolean.
func (h *header) flag(field string, def bool, key string) bool {
	v, ok := h.meta.Get(h.key(key))
	if !ok {
		h.prov[field] = "default"
		return def
	}
	b, is := v.Bool()
	if !is {
		h.bad(key, "true or false", v.Type())
		return def
	}
	h.prov[field] = "file " + h.key(key)
	return b
}

const (
	alibiKey = "attention.max_alibi_bias"
	clipKey  = "attention.clamp_kqv"
)

// olderKeys states what only these families have.
func (c *Config) olderKeys(reader *Family, f32 func(string, float32), put func(string, file.Value)) {
	if c.Alibi != 0 {
		f32(alibiKey, c.Alibi)
	}
	if c.Clip != 0 {
		f32(clipKey, c.Clip)
	}
	if n := len(reader.Mixers); n == 2 && reader.Mixers[mixAttention] != nil && (reader.Mixers[mixParallel] != nil || reader.Mixers[mixParallel2] != nil) {
		put(parallelKey, file.ValueOf(c.isParallel()))
	}
}

const slopesName = "const.slopes"

// slopes returns what the score of each head loses for each position between
// query and key (arXiv 2108.12409): a geometric sequence for the largest power
// of two heads, then every other term of the sequence for twice as many.
func slopes(heads int, largest float64) []float32 {
	n := 1
	for 2*n <= heads {
		n *= 2
	}
	out := make([]float32, heads)
	for h := range out {
		e := float64(h+1) * largest / float64(n)
		if h >= n {
			e = float64(2*(h-n)+1) * largest / float64(2*n)
		}
		out[h] = float32(math.Exp2(-e))
	}
	return out
}

// groupsOf is rows of q, k and v of each key head together, as falcon and
// gpt-neox keep them.
func groupsOf(groups string) Origin {
	return Origin{Groups: groups, Parts: qkvShapes}
}

var (
	qkvIDs    = []string{"attn_q", "attn_k", "attn_v"}
	qkvShapes = []string{"H*h", "K*h", "K*h"}
)

// layered returns specs with biases of the norms among them: the bias of
// "attn_norm" is "attn_norm_bias".
func layered(specs ...WeightSpec) (out []WeightSpec) {
	for _, s := range specs {
		out = append(out, s)
		if !s.Norm {
			continue
		}
		b := WeightSpec{ID: s.ID + "_bias", Shape: s.Shape}
		for _, x := range []struct{ from, to *[]Origin }{{&s.HF, &b.HF}, {&s.GGUF, &b.GGUF}} {
			for _, o := range *x.from {
				o.Name = o.Name[:len(o.Name)-len(".weight")] + ".bias"
				*x.to = append(*x.to, o)
			}
		}
		out = append(out, b)
	}
	return out
}

// ungated returns a feed-forward layer's weights without a gate.
func ungated(up, down string) []WeightSpec {
	return []WeightSpec{
		matrix("ffn_up", "I,d", up, ggufLayer+"ffn_up"),
		matrix("ffn_down", "d,I", down, ggufLayer+"ffn_down"),
		bias("ffn_up_bias", "I", "ffn_bias", up, ggufLayer+"ffn_up"),
		bias("ffn_down_bias", "d", "ffn_bias", down, ggufLayer+"ffn_down"),
	}
}

// attended returns an attention's output projection.
func attended(hf string) []WeightSpec {
	return []WeightSpec{
		matrix("attn_o", "d,H*h", hf, ggufLayer+"attn_output"),
		bias("attn_o_bias", "d", "o_bias", hf, ggufLayer+"attn_output"),
	}
}

// without returns the map without some weights.
func (m WeightMap) without(ids ...string) WeightMap {
	return slices.DeleteFunc(slices.Clone(m), func(s WeightSpec) bool { return slices.Contains(ids, s.ID) })
}

// headsNormed returns norms of q and k by heads with weights of their own, which
// Hugging Face files keep as matrices, or in one vector for each head.
func headsNormed(each bool, q, k string) (out []WeightSpec) {
	for _, x := range []struct{ id, heads, hf string }{{"attn_q_norm", "H", q}, {"attn_k_norm", "K", k}} {
		s := WeightSpec{ID: x.id, Shape: x.heads + "*h", If: "older.qk_layer",
			HF:   []Origin{{Name: hfLayer + x.hf + ".weight", Of: x.heads + ",h"}},
			GGUF: []Origin{{Name: ggufLayer + x.id + ".weight", Of: x.heads + ",h"}}}
		if each {
			s.HF = []Origin{{Name: hfLayer + x.hf + ".norms.{e}.weight", Many: x.heads}}
		}
		out = append(out, s)
	}
	return out
}
