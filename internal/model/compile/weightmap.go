package compile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"atenia/tensor"
)

// A WeightMap gives, for each weight id that programs name, its shape and its
// tensors in files of each format.
type WeightMap []WeightSpec

// A WeightSpec is one weight of a family. Shapes are expressions over the
// configuration, outermost size first: "H*h,d". The names are d hidden, H heads,
// K key/value heads, h head width, I feed-forward width, V vocabulary, E
// experts, F their width, S that of a shared expert.
type WeightSpec struct {
	ID    string
	Shape string
	If    string   // condition for the weight to exist, see Config.presence; "" = always
	HF    []Origin // alternatives, first match wins
	GGUF  []Origin
	Heads string // rows belong to this many heads; GGUF architectures may reorder them
	Norm  bool   // a norm's weight: GGUF files store it with the offset added
}

// An Origin is a place that a weight may come from. In names, {p} is the file's
// prefix, {q} that of its head, {l} the layer, {e} each expert in turn: such a
// weight is joined from as many tensors.
type Origin struct {
	Name string
	If   string    // condition for this alternative, see Config.presence; "" = always
	Of   string    // shape in the file, if it differs from the weight's: more rows, or another shape of the same size
	Rows [2]string // rows taken, as expressions; empty = all
	Each string    // number of groups of rows, as an expression: Rows are taken of each of them
	Step [2]int    // {i, n}: every n-th row from row i on is taken
	Turn bool      // the last two axes of Of are exchanged in the file: Of is the shape there
	// Turned is the shape of the rows taken, with more axes, whose last two are exchanged.
	Turned string
	Map    Kind   // NegExp: what is done to every value
	View   string // shape that Turn sees, if it is not that of the file
	Frames bool   // the images that a patch spans have tensors of their own, name, name.1, …
}

// taken returns the transforms from a tensor of shape Of to a weight of shape
// want. Rows are those of the tensor with its outer axes joined, so that it has
// as many axes as the weight.
func (o *Origin) taken(c *Config, of, want tensor.Shape) ([]Transform, error) {
	var ts []Transform
	if o.View != "" {
		view, err := c.shape(o.View)
		if err != nil {
			return nil, err
		}
		ts = append(ts, Transform{Kind: Reshape, Shape: view})
		of = view
	}
	if o.Turn {
		t := Transform{Kind: Transpose}
		ts = append(ts, t)
		var err error
		if of, err = t.Apply(of); err != nil {
			return nil, err
		}
	}
	rows := o.Rows[0] != "" || o.Step[1] > 0
	if flat := joined(of, len(want)); rows && !flat.Equal(of) {
		ts = append(ts, Transform{Kind: Reshape, Shape: flat})
	}
	switch {
	case o.Rows[0] != "":
		t := Transform{Kind: SliceRows}
		var err1, err2, err3 error
		t.A, err1 = c.eval(o.Rows[0])
		t.B, err2 = c.eval(o.Rows[1])
		if o.Each != "" {
			t.Kind = SliceEach
			t.N, err3 = c.eval(o.Each)
		}
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		ts = append(ts, t)
	case o.Step[1] > 0:
		ts = append(ts, Transform{Kind: StepRows, A: o.Step[0], B: o.Step[1]})
	case o.Of != "" && !of.Equal(want):
		ts = append(ts, Transform{Kind: Reshape, Shape: want})
	}
	if o.Turned != "" {
		shape, err := c.shape(o.Turned)
		if err != nil {
			return nil, err
		}
		ts = append(ts, Transform{Kind: Reshape, Shape: shape}, Transform{Kind: Transpose}, Transform{Kind: Reshape, Shape: want})
	}
	if o.Map != "" {
		ts = append(ts, Transform{Kind: o.Map})
	}
	return ts, nil
}

// joined returns a shape with its outer axes multiplied until n are left.
func joined(s tensor.Shape, n int) tensor.Shape {
	out := slices.Clone(s)
	for len(out) > max(n, 1) {
		out[1] *= out[0]
		out = out[1:]
	}
	return out
}

// matrix, vector and their fused forms keep family literals to one line each.

func matrix(id, shape, hf, gguf string) WeightSpec {
	return WeightSpec{ID: id, Shape: shape, HF: named(hf, ".weight"), GGUF: named(gguf, ".weight")}
}

func norm(id, shape, hf, gguf string) WeightSpec {
	s := matrix(id, shape, hf, gguf)
	s.Norm = true
	return s
}

func bias(id, shape, cond, hf, gguf string) WeightSpec {
	return WeightSpec{ID: id, Shape: shape, If: cond, HF: named(hf, ".bias"), GGUF: named(gguf, ".bias")}
}

func named(name, suffix string) []Origin { return []Origin{{Name: name + suffix}} }

func (s WeightSpec) heads(n string) WeightSpec { s.Heads = n; return s }
func (s WeightSpec) when(c string) WeightSpec  { s.If = c; return s }

// slice returns a weight that both formats keep in rows lo to hi of a larger one
// of shape of.
func slice(id, shape, of, lo, hi, hf, gguf string) WeightSpec {
	o := Origin{Of: of, Rows: [2]string{lo, hi}}
	h, g := o, o
	h.Name, g.Name = hf+".weight", gguf+".weight"
	return WeightSpec{ID: id, Shape: shape, HF: []Origin{h}, GGUF: []Origin{g}}
}

// with returns the map with specs added, or replaced if the id exists.
func (m WeightMap) with(specs ...WeightSpec) WeightMap {
	out := append(WeightMap(nil), m...)
next:
	for _, s := range specs {
		for i := range out {
			if out[i].ID == s.ID {
				out[i] = s
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

func (m WeightMap) get(id string) *WeightSpec {
	for i := range m {
		if m[i].ID == id {
			return &m[i]
		}
	}
	return nil
}

const (
	hfLayer   = "{p}layers.{l}."
	ggufLayer = "blk.{l}."
)

// llamaWeights is the map that most decoders share. Section "One name table" of
// the plan's specification lists the spellings.
var llamaWeights = WeightMap{
	matrix("token_embd", "V,d", "{p}embed_tokens", "token_embd"),
	norm("output_norm", "d", "{p}norm", "output_norm"),
	matrix("output", "V,d", "{q}lm_head", "output"),
	norm("attn_norm", "d", hfLayer+"input_layernorm", ggufLayer+"attn_norm"),
	matrix("attn_q", "H*h,d", hfLayer+"self_attn.q_proj", ggufLayer+"attn_q").heads("H"),
	matrix("attn_k", "K*h,d", hfLayer+"self_attn.k_proj", ggufLayer+"attn_k").heads("K"),
	matrix("attn_v", "K*h,d", hfLayer+"self_attn.v_proj", ggufLayer+"attn_v"),
	matrix("attn_o", "d,H*h", hfLayer+"self_attn.o_proj", ggufLayer+"attn_output"),
	bias("attn_q_bias", "H*h", "qkv_bias", hfLayer+"self_attn.q_proj", ggufLayer+"attn_q").heads("H"),
	bias("attn_k_bias", "K*h", "qkv_bias", hfLayer+"self_attn.k_proj", ggufLayer+"attn_k").heads("K"),
	bias("attn_v_bias", "K*h", "qkv_bias", hfLayer+"self_attn.v_proj", ggufLayer+"attn_v"),
	bias("attn_o_bias", "d", "o_bias", hfLayer+"self_attn.o_proj", ggufLayer+"attn_output"),
	norm("attn_q_norm", "h", hfLayer+"self_attn.q_norm", ggufLayer+"attn_q_norm").when("qk_norm").heads("1"),
	norm("attn_k_norm", "h", hfLayer+"self_attn.k_norm", ggufLayer+"attn_k_norm").when("qk_norm").heads("1"),
	norm("ffn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"ffn_norm"),
	matrix("ffn_gate", "I,d", hfLayer+"mlp.gate_proj", ggufLayer+"ffn_gate"),
	matrix("ffn_up", "I,d", hfLayer+"mlp.up_proj", ggufLayer+"ffn_up"),
	matrix("ffn_down", "d,I", hfLayer+"mlp.down_proj", ggufLayer+"ffn_down"),
	bias("ffn_gate_bias", "I", "ffn_bias", hfLayer+"mlp.gate_proj", ggufLayer+"ffn_gate"),
	bias("ffn_up_bias", "I", "ffn_bias", hfLayer+"mlp.up_proj", ggufLayer+"ffn_up"),
	bias("ffn_down_bias", "d", "ffn_bias", hfLayer+"mlp.down_proj", ggufLayer+"ffn_down"),
}

// sandwichWeights adds norms after the attention and after the feed-forward
// layer. The norm before the latter is named differently in Hugging Face files.
var sandwichWeights = llamaWeights.with(
	norm("post_attn_norm", "d", hfLayer+"post_attention_layernorm", ggufLayer+"post_attention_norm"),
	norm("ffn_norm", "d", hfLayer+"pre_feedforward_layernorm", ggufLayer+"ffn_norm"),
	norm("post_ffn_norm", "d", hfLayer+"post_feedforward_layernorm", ggufLayer+"post_ffw_norm"),
)

// eval computes a sum of products of sizes: "H*h+2*K*h". Expressions are in
// family literals, so an unknown name is a bug in the family.
func (c *Config) eval(expr string) (int, error) {
	sum := 0
	for term := range strings.SplitSeq(expr, "+") {
		product := 1
		for factor := range strings.SplitSeq(term, "*") {
			v, err := c.size(factor)
			if err != nil {
				return 0, fmt.Errorf("size %q: %w", expr, err)
			}
			product *= v
		}
		sum += product
	}
	return sum, nil
}

func (c *Config) size(name string) (int, error) {
	switch name {
	case "d":
		return c.Hidden, nil
	case "H":
		return c.Heads, nil
	case "K":
		return c.KVHeads, nil
	case "h":
		return c.HeadDim, nil
	case "I":
		return c.FFN, nil
	case "V":
		return c.Vocab, nil
	case "context":
		return c.Context, nil
	case "E":
		return c.Mixture.Experts, nil
	case "F":
		return c.Mixture.Width, nil
	case "S":
		return c.Mixture.Shared, nil
	}
	for _, v := range terms {
		if f := v.sizes[name]; f != nil {
			return f(c), nil
		}
	}
	return strconv.Atoi(name)
}

// A vocabulary is the names that the weight maps of a group of families use in
// addition to those of all: of sizes in shapes, and of conditions.
type vocabulary struct {
	sizes map[string]func(*Config) int
	conds map[string]func(*Config) Presence
}

// terms are all vocabularies. Names that begin with the group's cannot clash:
// "scan.inner".
var terms = []*vocabulary{&mixtureTerms, &latentTerms, &scanTerms, &deltaTerms, &visionTerms, &encoderTerms, &audioTerms, &olderTerms}

func presentIf(b bool) Presence {
	if b {
		return Present
	}
	return Absent
}

func (c *Config) shape(expr string) (tensor.Shape, error) {
	var s tensor.Shape
	for e := range strings.SplitSeq(expr, ",") {
		n, err := c.eval(e)
		if err != nil {
			return nil, err
		}
		s = append(s, n)
	}
	return s, nil
}
