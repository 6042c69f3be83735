package compile

import (
	"slices"
	"strings"

	"atenia/internal/plan"
)

// The BERT families: learned positions, layer norms after each branch, biases
// everywhere, attention in both directions.

var bertProlog = plan.Program{
	{Op: plan.OpEmbedding, Out: "e", In: []string{"tokens"}, W: w{"table": "token_embd", "pos": "position_embd", "type": "token_types"}, Tag: "embed"},
	{Op: plan.OpNorm, Out: "en", In: []string{"e"}, W: w{"weight": "embd_norm", "bias": "embd_norm_bias"}, Tag: "embed_norm"},
}

// The weights of attention, with biases and positions added before the first layer,
// and with neither biases nor norms of heads but rotary positions; those of
// feed-forward layers without biases.
var (
	biasedAttention = w{
		"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_o",
		"q_bias": "attn_q_bias", "k_bias": "attn_k_bias", "v_bias": "attn_v_bias", "o_bias": "attn_o_bias",
	}
	rotaryAttention = w{"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_o", "inv_freq": ropeShortID, "inv_freq_long": ropeLongID}
	encoderGated    = w{"gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
)

// encoderPost is an attention whose sum with the input is normalized.
var encoderPost = plan.Program{
	{Op: plan.OpAttention, Out: "a", In: []string{"x"}, W: biasedAttention, Tag: "attn"},
	{Op: plan.OpResidualAdd, Out: "s", In: []string{"x", "a"}, Tag: "attn_add"},
	{Op: plan.OpNorm, Out: "h", In: []string{"s"}, W: w{"weight": "attn_out_norm", "bias": "attn_out_norm_bias"}, Tag: "attn_out_norm"},
}

// encoderPlain is a feed-forward layer without a gate whose sum with its input is
// normalized.
var encoderPlain = plan.Program{
	{Op: plan.OpFFN, Out: "f", In: []string{"x"}, W: w{"up": "ffn_up", "down": "ffn_down", "up_bias": "ffn_up_bias", "down_bias": "ffn_down_bias"}, Tag: "ffn"},
	{Op: plan.OpResidualAdd, Out: "t", In: []string{"x", "f"}, Tag: "ffn_add"},
	{Op: plan.OpNorm, Out: "y", In: []string{"t"}, W: w{"weight": "layer_out_norm", "bias": "layer_out_norm_bias"}, Tag: "layer_out_norm"},
}

var (
	postNormMixers = map[string]plan.Program{mixAttention: encoderPost}
	plainFFNs      = map[string]plan.Program{ffnDense: encoderPlain}
)

// layerNormOf returns the weight and the bias of a layer norm, which old files of
// Hugging Face call gamma and beta.
func layerNormOf(id, hf, gguf string) []WeightSpec {
	return []WeightSpec{
		{ID: id, Shape: "d", HF: []Origin{{Name: hf + ".weight"}, {Name: hf + ".gamma"}}, GGUF: named(gguf, ".weight")},
		{ID: id + "_bias", Shape: "d", If: "encoder.bias", HF: []Origin{{Name: hf + ".bias"}, {Name: hf + ".beta"}}, GGUF: named(gguf, ".bias")},
	}
}

// linear returns the weight and the bias of a projection of pooled vectors.
func linear(id, shape, hf, gguf string) []WeightSpec {
	rows, _, _ := strings.Cut(shape, ",")
	return []WeightSpec{matrix(id, shape, hf, gguf), bias(id+"_bias", rows, "encoder.bias", hf, gguf)}
}

// denseWeights are the projections of sentence-transformers.
var denseWeights = WeightMap(slices.Concat(
	linear("dense_2", "encoder.dense_2,d", "2_Dense/linear", "dense_2"),
	linear("dense_3", "encoder.dense_3,encoder.dense_2", "3_Dense/linear", "dense_3"),
))

// learned is the table of positions. Some files of Hugging Face begin it with rows
// that no position uses.
var learned = WeightSpec{
	ID: "position_embd", Shape: "encoder.context,d",
	HF:   []Origin{{Name: "{p}embeddings.position_embeddings.weight", Of: "encoder.skip+encoder.context,d", Rows: [2]string{"encoder.skip", "encoder.skip+encoder.context"}}},
	GGUF: named("position_embd", ".weight"),
}

const bertLayer = "{p}encoder.layer.{l}."

var bertWeights = WeightMap(slices.Concat(
	WeightMap{
		matrix("token_embd", "V,d", "{p}embeddings.word_embeddings", "token_embd"),
		learned,
		matrix("token_types", "encoder.types,d", "{p}embeddings.token_type_embeddings", "token_types").when("encoder.types"),
		matrix("attn_q", "H*h,d", bertLayer+"attention.self.query", ggufLayer+"attn_q"),
		matrix("attn_k", "K*h,d", bertLayer+"attention.self.key", ggufLayer+"attn_k"),
		matrix("attn_v", "K*h,d", bertLayer+"attention.self.value", ggufLayer+"attn_v"),
		matrix("attn_o", "d,H*h", bertLayer+"attention.output.dense", ggufLayer+"attn_output"),
		bias("attn_q_bias", "H*h", "qkv_bias", bertLayer+"attention.self.query", ggufLayer+"attn_q"),
		bias("attn_k_bias", "K*h", "qkv_bias", bertLayer+"attention.self.key", ggufLayer+"attn_k"),
		bias("attn_v_bias", "K*h", "qkv_bias", bertLayer+"attention.self.value", ggufLayer+"attn_v"),
		bias("attn_o_bias", "d", "o_bias", bertLayer+"attention.output.dense", ggufLayer+"attn_output"),
		matrix("ffn_up", "I,d", bertLayer+"intermediate.dense", ggufLayer+"ffn_up"),
		matrix("ffn_down", "d,I", bertLayer+"output.dense", ggufLayer+"ffn_down"),
		bias("ffn_up_bias", "I", "ffn_bias", bertLayer+"intermediate.dense", ggufLayer+"ffn_up"),
		bias("ffn_down_bias", "d", "ffn_bias", bertLayer+"output.dense", ggufLayer+"ffn_down"),
	},
	layerNormOf("embd_norm", "{p}embeddings.LayerNorm", "token_embd_norm"),
	layerNormOf("attn_out_norm", bertLayer+"attention.output.LayerNorm", ggufLayer+"attn_output_norm"),
	layerNormOf("layer_out_norm", bertLayer+"output.LayerNorm", ggufLayer+"layer_output_norm"),
	linear("cls", "d,d", "{p}pooler.dense", "cls"),
	linear("cls_out", "encoder.labels,d", "classifier", "cls.output"),
	denseWeights,
))

var bertDefaults = Defaults{
	Hidden: 768, Layers: 12, Heads: 12, FFN: 3072, Vocab: 30522, Context: 512, NormEps: 1e-12, Theta: 1e4, Act: "gelu", Tied: true,
}

// bert also reads what all others of its kind are stored as: llama.cpp has one
// architecture for them.
var bert = Family{
	ID: "bert", ModelTypes: []string{"bert"},
	Arch: "bert", ReadsArch: true, Defaults: bertDefaults,
	HF: func(o *object, c *Config) { o.bert(c, 2); o.classifier(c, "tanh") },
	GGUF: func(h *header, c *Config) {
		h.encoder(c)
		c.Ungated = true
		c.noRope()
	},
	Prologue: bertProlog, Mixers: postNormMixers, FFNs: plainFFNs, Weights: bertWeights,
}

// roberta numbers positions from the padding token's id plus one.
var roberta = Family{
	ID: "roberta", ModelTypes: []string{"roberta", "xlm-roberta", "camembert"},
	Arch: "bert",
	Defaults: Defaults{
		Hidden: 768, Layers: 12, Heads: 12, FFN: 3072, Vocab: 50265, Context: 512, NormEps: 1e-12, Theta: 1e4, Act: "gelu", Tied: true,
	},
	HF: func(o *object, c *Config) {
		c.PosSkip = o.Int("padding", 1, maxVocab, "pad_token_id") + 1
		if c.Context <= c.PosSkip {
			o.Bad("max_position_embeddings", "more than the padding token's id plus one", c.Context)
		}
		c.Context -= c.PosSkip
		o.bert(c, 2)
		o.classifier(c, "tanh")
	},
	Prologue: bertProlog, Mixers: postNormMixers, FFNs: plainFFNs,
	Weights: bertWeights.with(slices.Concat(
		linear("cls", "d,d", "classifier.dense", "cls"),
		linear("cls_out", "encoder.labels,d", "classifier.out_proj", "cls.output"),
	)...),
}

const distilLayer = "{p}transformer.layer.{l}."

// distilBERT is BERT without token types, under other names.
var distilBERT = Family{
	ID: "distilbert", ModelTypes: []string{"distilbert"},
	Arch: "bert",
	Defaults: Defaults{
		Hidden: 768, Layers: 6, Heads: 12, FFN: 3072, Vocab: 30522, Context: 512, NormEps: 1e-12, Theta: 1e4, Act: "gelu", Tied: true,
	},
	HF: func(o *object, c *Config) {
		if act, ok := actAliases[o.Text("act", "gelu", "activation")]; ok {
			c.Act = act
		}
		o.bert(c, 0)
		c.Encoder.Types = 0
		o.classifier(c, "relu")
	},
	Prologue: bertProlog, Mixers: postNormMixers, FFNs: plainFFNs,
	Weights: bertWeights.with(slices.Concat(
		WeightMap{
			matrix("attn_q", "H*h,d", distilLayer+"attention.q_lin", ggufLayer+"attn_q"),
			matrix("attn_k", "K*h,d", distilLayer+"attention.k_lin", ggufLayer+"attn_k"),
			matrix("attn_v", "K*h,d", distilLayer+"attention.v_lin", ggufLayer+"attn_v"),
			matrix("attn_o", "d,H*h", distilLayer+"attention.out_lin", ggufLayer+"attn_output"),
			bias("attn_q_bias", "H*h", "qkv_bias", distilLayer+"attention.q_lin", ggufLayer+"attn_q"),
			bias("attn_k_bias", "K*h", "qkv_bias", distilLayer+"attention.k_lin", ggufLayer+"attn_k"),
			bias("attn_v_bias", "K*h", "qkv_bias", distilLayer+"attention.v_lin", ggufLayer+"attn_v"),
			bias("attn_o_bias", "d", "o_bias", distilLayer+"attention.out_lin", ggufLayer+"attn_output"),
			matrix("ffn_up", "I,d", distilLayer+"ffn.lin1", ggufLayer+"ffn_up"),
			matrix("ffn_down", "d,I", distilLayer+"ffn.lin2", ggufLayer+"ffn_down"),
			bias("ffn_up_bias", "I", "ffn_bias", distilLayer+"ffn.lin1", ggufLayer+"ffn_up"),
			bias("ffn_down_bias", "d", "ffn_bias", distilLayer+"ffn.lin2", ggufLayer+"ffn_down"),
		},
		layerNormOf("attn_out_norm", distilLayer+"sa_layer_norm", ggufLayer+"attn_output_norm"),
		layerNormOf("layer_out_norm", distilLayer+"output_layer_norm", ggufLayer+"layer_output_norm"),
		linear("cls", "d,d", "pre_classifier", "cls"),
	)...),
}

// bert reads what the BERT families have in common. types is the usual number of
// token types.
func (o *object) bert(c *Config, types int) {
	o.encoder(c)
	c.Ungated = true
	c.noRope()
	c.Encoder.Types = o.Int("types", types, maxVocab, "type_vocab_size")
	if kind := o.Text("positions", "absolute", "position_embedding_type"); kind != "absolute" {
		o.Bad("position_embedding_type", "absolute", kind)
	}
}

// encoder makes an encoder with layer norms of a configuration.
func (o *object) encoder(c *Config) {
	c.NormKind, c.TiedHead = layerNorm, true
	c.Encoder = &Encoder{Pool: poolMean}
}
