package compile

import (
	"fmt"
	"math"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/tensor"
)

// audioFamilies are models with an audio encoder.
var audioFamilies = []*Family{&whisper}

// audioTerms are the names that their weight maps use.
var audioTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"audio.mels": func(c *Config) int { return c.Audio.Mels },
		"audio.rows": func(c *Config) int { return c.Audio.Rows },
		"audio.ffn":  func(c *Config) int { return c.Audio.FFN },
	},
	conds: map[string]func(*Config) Presence{"never": func(*Config) Presence { return Absent }},
}

// audioTypes and audioArchs are those of them that are refused by name.
var (
	audioTypes = map[string]string{}
	audioArchs = map[string]string{}
)

// An Audio is the audio encoder of a model: convolutions, layers that attend in
// both directions, as wide as the decoder's.
type Audio struct {
	Mels   int // bands of a frame
	Rows   int // of a window, each two frames
	Layers int
	Heads  int
	FFN    int
	// Suppress are tokens that are not speech, Blank those that do not come first:
	// what generation_config.json says of a transcription.
	Suppress []int32 `json:",omitempty"`
	Blank    []int32 `json:",omitempty"`
}

// readSpeech reads the tokens that a transcription leaves out.
func (o *object) readSpeech(d *file.Description, c *Config) {
	const name = "generation_config.json"
	b := d.Files[name]
	if c.Audio == nil || b == nil {
		return
	}
	var g struct {
		Suppress []int32 `json:"suppress_tokens"`
		Begin    []int32 `json:"begin_suppress_tokens"`
	}
	if err := file.Unmarshal(b, &g); err != nil {
		o.Faults.Add(&configError{File: name, Field: "suppress_tokens", Want: "lists of token ids", Got: err.Error()})
		return
	}
	c.Audio.Suppress, c.Audio.Blank = g.Suppress, g.Begin
}

func (a *Audio) check(hidden int, bad func(field, want string, got any)) {
	for _, x := range []struct {
		field    string
		got, max int
	}{
		{"mel bands", a.Mels, 1 << 10}, {"rows of a window of sound", a.Rows, 1 << 16}, {"encoder layers", a.Layers, maxLayers},
		{"encoder heads", a.Heads, maxHeads}, {"encoder feed-forward width", a.FFN, maxWidth},
	} {
		if x.got < 1 || x.got > x.max {
			bad(x.field, fmt.Sprintf("1 to %d", x.max), x.got)
		}
	}
	if a.Heads > 0 && hidden%a.Heads != 0 {
		bad("encoder heads", fmt.Sprintf("a divisor of the width %d", hidden), a.Heads)
	}
}

// whisper is an encoder of log-mel frames and a decoder that attends to its rows
// (arXiv 2212.04356). The format of GGUF files is ours; names are in the style of
// llama.cpp's for models with an encoder.
var whisper = Family{
	ID: "whisper", ModelTypes: []string{"whisper"},
	Arch: "whisper", ReadsArch: true,
	Defaults: Defaults{
		Hidden: 384, Layers: 4, Heads: 6, FFN: 1536, Vocab: 51865, Context: 448,
		NormEps: 1e-5, Theta: 1e4, Act: "gelu", Tied: true, QKVBias: Present, OutBias: Present, FFNBias: Present,
	},
	HF: func(o *object, c *Config) {
		c.Hidden = o.Int("hidden", 384, maxWidth, "d_model")
		c.Heads = o.Int("heads", 6, maxHeads, "decoder_attention_heads")
		c.KVHeads = c.Heads
		c.FFN = o.Int("ffn", 1536, maxWidth, "decoder_ffn_dim")
		c.Context = o.Int("context", 448, maxLength, "max_target_positions")
		n := o.Int("layers", 4, maxLayers, "decoder_layers")
		c.Audio = &Audio{
			Mels: o.Int("audio.mels", 80, 1<<10, "num_mel_bins"), Rows: o.Int("audio.rows", 1500, 1<<16, "max_source_positions"),
			Layers: o.Int("audio.layers", 4, maxLayers, "encoder_layers"), Heads: o.Int("audio.heads", 6, maxHeads, "encoder_attention_heads"),
			FFN: o.Int("audio.ffn", 1536, maxWidth, "encoder_ffn_dim"),
		}
		if o.Bool("scale_embedding", false, "scale_embedding") {
			c.EmbedMul = float32(math.Sqrt(float64(c.Hidden)))
		}
		c.listen(n)
	},
	GGUF: func(h *header, c *Config) {
		c.Audio = &Audio{
			Mels: h.int("audio.mels", 80, 1<<10, "encoder.mel_bins"), Rows: h.int("audio.rows", 1500, 1<<16, "encoder.rows"),
			Layers: h.int("audio.layers", 0, maxLayers, "encoder.block_count"), Heads: h.int("audio.heads", c.Heads, maxHeads, "encoder.attention.head_count"),
			FFN: h.int("audio.ffn", c.FFN, maxWidth, "encoder.feed_forward_length"),
		}
		c.NormEps = h.float("norm_eps", 1e-5, "attention.layer_norm_epsilon")
		c.listen(len(c.Layers))
	},
	Prologue: plan.Program{
		{Op: plan.OpEmbedding, Out: "e", In: []string{"tokens"}, W: w{"table": "token_embd", "pos": "position_embd"}, Tag: "embed"},
	},
	Mixers: map[string]plan.Program{mixAttention: {
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm", "bias": "attn_norm_bias"}, Tag: "attn_norm"},
		{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: attentionWeights, Tag: "attn"},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}, Tag: "attn_add"},
		{Op: plan.OpNorm, Out: "m", In: []string{"h"}, W: w{"weight": "cross_norm", "bias": "cross_norm_bias"}, Tag: "cross_norm"},
		{Op: plan.OpCrossAttn, Out: "c", In: []string{"m"}, W: w{
			"q": "cross_q", "k": "cross_k", "v": "cross_v", "o": "cross_o", "q_bias": "cross_q_bias", "v_bias": "cross_v_bias", "o_bias": "cross_o_bias"}, Tag: "cross"},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "c"}, Tag: "cross_add"},
	}},
	FFNs: map[string]plan.Program{ffnDense: {
		{Op: plan.OpNorm, Out: "n2", In: []string{"x"}, W: w{"weight": "ffn_norm", "bias": "ffn_norm_bias"}, Tag: "ffn_norm"},
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: w{"up": "ffn_up", "down": "ffn_down", "up_bias": "ffn_up_bias", "down_bias": "ffn_down_bias"}, Tag: "ffn"},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"x", "f"}, Tag: "ffn_add"},
	}},
	Epilogue: plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "output_norm", "bias": "output_norm_bias"}, Tag: "output_norm"},
		{Op: plan.OpLMHead, Out: "logits", In: []string{"n"}, W: w{"weight": "output"}, Tag: "head"},
	},
	Sound:   &soundProgram,
	Weights: whisperWeights,
}

// A Sound is the programs of an audio encoder. Tags begin with "enc_".
type Sound struct{ Stem, Layer, End plan.Program }

var soundProgram = Sound{
	Stem: plan.Program{
		{Op: plan.OpConvStem, Out: "e", In: []string{"features"}, W: w{
			"conv1": "enc_conv1", "conv1_bias": "enc_conv1_bias", "conv2": "enc_conv2", "conv2_bias": "enc_conv2_bias", "pos": "enc_position"}, Tag: "enc_stem"},
	},
	Layer: plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "enc_attn_norm", "bias": "enc_attn_norm_bias"}, Tag: "enc_attn_norm"},
		{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: w{
			"q": "enc_attn_q", "k": "enc_attn_k", "v": "enc_attn_v", "o": "enc_attn_o",
			"q_bias": "enc_attn_q_bias", "v_bias": "enc_attn_v_bias", "o_bias": "enc_attn_o_bias"}, Tag: "enc_attn"},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}, Tag: "enc_attn_add"},
		{Op: plan.OpNorm, Out: "n2", In: []string{"h"}, W: w{"weight": "enc_ffn_norm", "bias": "enc_ffn_norm_bias"}, Tag: "enc_ffn_norm"},
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: w{
			"up": "enc_ffn_up", "down": "enc_ffn_down", "up_bias": "enc_ffn_up_bias", "down_bias": "enc_ffn_down_bias"}, Tag: "enc_ffn"},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "f"}, Tag: "enc_ffn_add"},
	},
	End: plan.Program{
		{Op: plan.OpNorm, Out: "rows", In: []string{"x"}, W: w{"weight": "enc_output_norm", "bias": "enc_output_norm_bias"}, Tag: "enc_output_norm"},
	},
}

var whisperWeights = func() WeightMap {
	const (
		dec, enc   = "{p}decoder.layers.{l}.", "{p}encoder.layers.{l}."
		gdec, genc = "dec.blk.{l}.", "enc.blk.{l}."
	)
	both := func(id, shape, hf, gguf string) []WeightSpec { // of a matrix or norm
		b := bias(id+"_bias", strings.SplitN(shape, ",", 2)[0], "", hf, gguf)
		return []WeightSpec{matrix(id, shape, hf, gguf), b}
	}
	m := WeightMap{
		matrix("token_embd", "V,d", "{p}decoder.embed_tokens", "token_embd"),
		matrix("position_embd", "context,d", "{p}decoder.embed_positions", "position_embd"),
		matrix("output", "V,d", "{q}proj_out", "output"),
		matrix("attn_k", "K*h,d", dec+"self_attn.k_proj", gdec+"attn_k"),
		matrix("cross_k", "K*h,d", dec+"encoder_attn.k_proj", gdec+"cross_attn_k"),
		matrix("enc_attn_k", "d,d", enc+"self_attn.k_proj", genc+"attn_k"),
		matrix("enc_position", "audio.rows,d", "{p}encoder.embed_positions", "enc.position_embd"),
	}
	conv := func(id, in, hf, gguf string) WeightSpec {
		s := matrix(id, "d,3*"+in, hf, gguf)
		s.HF[0].Of, s.GGUF[0].Of = "d,"+in+",3", "d,"+in+",3"
		return s
	}
	m = append(m, conv("enc_conv1", "audio.mels", "{p}encoder.conv1", "enc.conv1"), conv("enc_conv2", "d", "{p}encoder.conv2", "enc.conv2"),
		bias("enc_conv1_bias", "d", "", "{p}encoder.conv1", "enc.conv1"), bias("enc_conv2_bias", "d", "", "{p}encoder.conv2", "enc.conv2"))
	for _, x := range [][4]string{
		{"output_norm", "d", "{p}decoder.layer_norm", "output_norm"},
		{"attn_norm", "d", dec + "self_attn_layer_norm", gdec + "attn_norm"},
		{"attn_q", "H*h,d", dec + "self_attn.q_proj", gdec + "attn_q"},
		{"attn_v", "K*h,d", dec + "self_attn.v_proj", gdec + "attn_v"},
		{"attn_o", "d,H*h", dec + "self_attn.out_proj", gdec + "attn_o"},
		{"cross_norm", "d", dec + "encoder_attn_layer_norm", gdec + "cross_attn_norm"},
		{"cross_q", "H*h,d", dec + "encoder_attn.q_proj", gdec + "cross_attn_q"},
		{"cross_v", "K*h,d", dec + "encoder_attn.v_proj", gdec + "cross_attn_v"},
		{"cross_o", "d,H*h", dec + "encoder_attn.out_proj", gdec + "cross_attn_o"},
		{"ffn_norm", "d", dec + "final_layer_norm", gdec + "ffn_norm"},
		{"ffn_up", "I,d", dec + "fc1", gdec + "ffn_up"},
		{"ffn_down", "d,I", dec + "fc2", gdec + "ffn_down"},
		{"enc_output_norm", "d", "{p}encoder.layer_norm", "enc.output_norm"},
		{"enc_attn_norm", "d", enc + "self_attn_layer_norm", genc + "attn_norm"},
		{"enc_attn_q", "d,d", enc + "self_attn.q_proj", genc + "attn_q"},
		{"enc_attn_v", "d,d", enc + "self_attn.v_proj", genc + "attn_v"},
		{"enc_attn_o", "d,d", enc + "self_attn.out_proj", genc + "attn_o"},
		{"enc_ffn_norm", "d", enc + "final_layer_norm", genc + "ffn_norm"},
		{"enc_ffn_up", "audio.ffn,d", enc + "fc1", genc + "ffn_up"},
		{"enc_ffn_down", "d,audio.ffn", enc + "fc2", genc + "ffn_down"},
	} {
		m = append(m, both(x[0], x[1], x[2], x[3])...)
	}
	// The shared program of attention names what this family does not have.
	for _, id := range []string{"attn_k_bias", "attn_q_norm", "attn_k_norm"} {
		m = append(m, bias(id, "d", "never", dec+id, gdec+id))
	}
	return m
}()

// listen sets what all models with a decoder over sound have: layer norms, no
// gates and no rotation.
func (c *Config) listen(layers int) {
	c.NormKind, c.Ungated = layerNorm, true
	c.Layers = make([]Layer, layers)
	for i := range c.Layers {
		c.Layers[i] = Layer{Mixer: mixAttention, FFN: ffnDense}
	}
	if c.Heads > 0 {
		c.HeadDim = c.Hidden / c.Heads
		c.AttnScale = float32(1 / math.Sqrt(float64(max(1, c.HeadDim))))
	}
}

// audioKeys are the GGUF keys of the encoder.
func (c *Config) audioKeys(u32 func(key string, v int)) {
	if a := c.Audio; a != nil {
		u32("encoder.mel_bins", a.Mels)
		u32("encoder.rows", a.Rows)
		u32("encoder.block_count", a.Layers)
		u32("encoder.attention.head_count", a.Heads)
		u32("encoder.feed_forward_length", a.FFN)
	}
}

// crossState is the keys and values of the encoder's rows, of each decoder layer.
func (c *Config) crossState(opt Options) (plan.StateDescriptor, error) {
	row, err := opt.KVType.RowBytes(c.HeadDim)
	if err != nil {
		return plan.StateDescriptor{}, fmt.Errorf("cache of the encoder's rows: %w", err)
	}
	const tile = 16 // keys are stored in tiles
	half := uint64(row) * uint64(c.KVHeads) * uint64((c.Audio.Rows+tile-1)/tile*tile)
	d := fixedState(plan.StateCrossKV, 0, []plan.Section{{Name: "k", Bytes: half, DType: opt.KVType}, {Name: "v", Bytes: half, DType: opt.KVType}})
	d.Lifecycle, d.ZeroInit = plan.RequestScoped, false
	d.Layers = uint16(len(c.Layers))
	d.SizeBytes = uint64(d.Layers) * d.LayerStride
	return d, nil
}

// sound returns the parameters of the encoder's ops and of the attention to it.
func (r *resolver) sound(op plan.Opcode, tag string, layer int) (plan.Params, error) {
	c, a := r.c, r.c.Audio
	switch op {
	case plan.OpConvStem:
		return &plan.PatchParams{Channels: uint32(a.Mels), Dim: uint32(c.Hidden)}, nil
	case plan.OpNorm:
		return &plan.NormParams{Dim: uint32(c.Hidden), Kind: plan.NormLayer, Eps: c.NormEps, Groups: 1}, nil
	case plan.OpFFN:
		return &plan.FFNParams{Dim: uint32(c.Hidden), Hidden: uint32(a.FFN), Act: acts[c.Act]}, nil
	case plan.OpResidualAdd:
		return &plan.AddParams{Scale: 1}, nil
	case plan.OpAttention:
		dim := c.Hidden / a.Heads
		return &plan.AttentionParams{
			Layer: uint32(layer), Heads: uint32(a.Heads), KVHeads: uint32(a.Heads), HeadDim: uint32(dim), RopeStyle: plan.RopeNone, RopeScale: 1,
			Scale: float32(1 / math.Sqrt(float64(dim))),
		}, nil
	case plan.OpCrossAttn:
		p := r.attention(layer)
		p.Layer, p.Window, p.Causal = uint32(layer), uint32(a.Rows), 0
		return p, nil
	}
	return nil, fmt.Errorf("%s (%s) has no parameters in an audio encoder", op, tag)
}

// lowerSound builds the plan of the audio encoder.
func lowerSound(fam *Family, r *resolver, opt Options) (*plan.CompiledPlan, error) {
	b := plan.NewBuilder(plan.ModeVisionEncode, r)
	x := b.Input("features", plan.RegSpec{DType: tensor.F32, Rank: 2, Rows: plan.RowsPatches, Cols: uint32(r.c.Audio.Mels)})
	x = b.Lower(fam.Sound.Stem, -1, x, plan.RowsMerged)
	for i := range r.c.Audio.Layers {
		x = b.Lower(fam.Sound.Layer, i, x, plan.RowsMerged)
	}
	x = b.Lower(fam.Sound.End, -1, x, plan.RowsMerged)
	return finish(b, opt, x)
}
