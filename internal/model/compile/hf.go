package compile

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"

	"atenia/internal/model/file"
	"atenia/internal/model/quant"
)

// textTypes maps wrapper models to their decoders, for text_config objects
// without model_type.
var textTypes = map[string]string{"gemma3": "gemma3_text", "mistral3": "mistral"}

// normalizeHF reads a config.json. The order of the steps follows their
// dependencies: sizes before rope, rope before layers.
func (r *registry) normalizeHF(d *file.Description, opt Options) (*normalized, error) {
	path := filepath.Join(d.Path, "config.json")
	m, err := parseConfig(path, d.Config)
	if err != nil {
		return nil, err
	}
	prov := map[string]string{}
	top := &object{&Object{File: path, M: m, Faults: &faults{}, Prov: prov}}
	o, fam, tower, err := r.textConfig(top)
	if err != nil {
		return nil, err
	}
	if err := quantized(top, d); err != nil {
		return nil, err
	}
	c := &Config{Family: fam.ID, Arch: fam.Arch, Source: HuggingFace}
	readSizes(o, &fam.Defaults, c)
	readScalars(o, top, &fam.Defaults, c)
	n := o.Int("layers", fam.Defaults.Layers, maxLayers, "num_hidden_layers", "n_layer", "n_layers")
	if top.Faults.Err() != nil { // later faults would be consequences of these
		return nil, top.Faults
	}
	c.Layers = make([]Layer, n)
	for i := range c.Layers {
		c.Layers[i] = Layer{Mixer: mixAttention, FFN: ffnDense}
	}
	readRopes(o, &fam.Defaults, c)
	if fam.HF != nil {
		fam.HF(o, c)
	}
	readSlidingRope(o, &fam.Defaults, c)
	if tower != nil {
		o.readVision(tower, top, c)
	}
	o.readModules(d, c)
	o.readSpeech(d, c)
	opt.encode(c)
	c.canonicalise()
	c.check(path, top.Faults)
	if err := top.Faults.Err(); err != nil {
		return nil, err
	}
	return &normalized{fam: fam, c: c, prov: prov}, nil
}

// quantized refuses weights that package file could not unpack.
func quantized(top *object, d *file.Description) error {
	q := top.sub("quantization_config")
	if q == nil || d.Packed != "" {
		return nil
	}
	return &UnsupportedModelError{Key: "quantization_config", Name: q.Text("quantization", "an unnamed method", "quant_method"),
		Why: "weights quantized this way cannot be read: use the original model or a GGUF file", Supported: quant.Methods()}
}

// An object is a JSON object of a configuration with the methods that families
// use.
type object struct{ *Object }

func (o *object) sub(key string) *object {
	if s := o.Sub(key); s != nil {
		return &object{s}
	}
	return nil
}

// textConfig finds the object that describes the text decoder, and its family.
// Text-only wrappers are unwrapped; those with audio parts, or with towers that
// are not known, are rejected under their own name.
func (r *registry) textConfig(top *object) (*object, *Family, *imageTower, error) {
	outer := top.Text("model", "", "model_type")
	if err := top.Faults.Err(); err != nil {
		return nil, nil, nil, err
	}
	o, name := top, outer
	if text := top.sub("text_config"); text != nil && !top.Has("vision_config") && !top.Has("audio_config") {
		o, name = text, text.Text("model", textTypes[outer], "model_type")
	}
	tower := towerFor(outer)
	if tower != nil && top.Has("vision_config") {
		name = tower.Text
		if text := top.sub("text_config"); text != nil {
			o, name = text, text.Text("model", tower.Text, "model_type")
		}
	} else {
		tower = nil
	}
	if err := top.Faults.Err(); err != nil {
		return nil, nil, nil, err
	}
	fam, err := choose("model_type", name, r.types, knownModelTypes)
	if err == nil && fam.Variant != nil {
		fam = fam.Variant(o, fam)
	}
	return o, fam, tower, err
}

func readSizes(o *object, d *Defaults, c *Config) {
	c.Hidden = o.Int("hidden", d.Hidden, maxWidth, "hidden_size", "n_embd", "n_embed", "d_model", "dim")
	c.Heads = o.Int("heads", d.Heads, maxHeads, "num_attention_heads", "n_head", "n_heads")
	c.KVHeads = o.Int("kv_heads", d.KVHeads, maxHeads, "num_key_value_heads", "num_kv_heads")
	c.HeadDim = o.Int("head_dim", d.HeadDim, maxWidth, "head_dim")
	c.FFN = o.Int("ffn", d.FFN, maxWidth, "intermediate_size", "n_inner", "ffn_hidden_size", "hidden_dim")
	c.Vocab = o.Int("vocab", d.Vocab, maxVocab, "vocab_size")
	c.Context = o.Int("context", d.Context, maxLength, "max_position_embeddings", "n_positions", "max_seq_len")
	if c.KVHeads == 0 {
		c.KVHeads = c.Heads
		o.Prov["kv_heads"] = "derived"
	}
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Hidden / c.Heads
		o.Prov["head_dim"] = "derived"
	}
}

func readScalars(o, top *object, d *Defaults, c *Config) {
	c.NormEps = o.Float("norm_eps", d.NormEps, "rms_norm_eps", "norm_eps", "layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", "norm_epsilon")
	act := o.Text("act", d.Act, "hidden_activation", "hidden_act", "activation_function", "activation")
	if name, ok := actAliases[act]; ok {
		c.Act = name
	} else {
		o.Bad("hidden_act", "a known activation", act)
	}
	tie := o
	if top.Has("tie_word_embeddings") {
		tie = top // the outer level wins
	}
	c.TiedHead = tie.Bool("tied_head", d.Tied, "tie_word_embeddings", "tie_embedding")
	c.QKVBias = o.presence("qkv_bias", d.QKVBias, "attention_bias")
	c.OutBias = o.presence("out_bias", d.OutBias, "attention_bias")
	c.FFNBias = o.presence("ffn_bias", d.FFNBias, "mlp_bias")
	c.NormPlus, c.NormKind, c.QKNorm, c.QKKind, c.Ungated = d.NormPlus, d.NormKind, d.QKNorm, d.QKKind, d.Ungated
	c.EmbedMul, c.BranchMul, c.LogitMul = 1, 1, 1
	if d.EmbedSqrt {
		c.EmbedMul = float32(math.Sqrt(float64(c.Hidden)))
		o.Prov["embed_mul"] = "derived"
	}
	if c.HeadDim > 0 {
		c.AttnScale = float32(1 / math.Sqrt(float64(c.HeadDim)))
	}
	o.Prov["attn_scale"] = "derived"
}

// presence reads whether a weight exists. A family that fixes it in its defaults
// reads no key.
func (o *object) presence(field string, def Presence, key string) Presence {
	if def != ByTensor {
		o.Prov[field] = "default"
		return def
	}
	v, _, ok := o.Find(field, []string{key})
	if !ok || v == nil {
		return ByTensor
	}
	if o.Bool(field, false, key) {
		return Present
	}
	return Absent
}

// layerKinds reads layer_types; nil if the key is missing.
func (o *object) layerKinds(n int) []string {
	kinds, ok := o.Strings("layer_types", "layer_types")
	if !ok {
		return nil
	}
	if len(kinds) != n {
		o.Bad("layer_types", fmt.Sprintf("%d layers", n), len(kinds))
		return nil
	}
	for i, k := range kinds {
		switch k {
		case "full_attention", "attention", "sliding_attention":
		default:
			o.Bad(fmt.Sprintf("layer_types[%d]", i), "full_attention, attention or sliding_attention", k)
			return nil
		}
	}
	return kinds
}

// setWindows sets the window of layers: those that layer_types calls sliding,
// or, without that key, those for which sliding returns true.
func (o *object) setWindows(c *Config, window int, sliding func(layer int) bool) {
	kinds := o.layerKinds(len(c.Layers))
	for i := range c.Layers {
		slides := window > 0 && sliding(i)
		if kinds != nil {
			slides = kinds[i] == "sliding_attention"
		}
		if slides {
			c.Layers[i].Window = window
		}
	}
}

func everyLayer(int) bool { return true }

// ropeObject returns the object with the rope scaling of the given layer kind,
// in either dialect: rope_parameters (one object, or one per layer kind) or
// rope_scaling. It is nil if there is none.
func (o *object) ropeObject(kind string) (r *object, perKind bool) {
	p := o.sub("rope_parameters")
	if p == nil {
		return o.sub("rope_scaling"), false
	}
	for _, k := range []string{"full_attention", "sliding_attention"} {
		if _, ok := p.M[k].(map[string]any); ok {
			return p.sub(kind), true
		}
	}
	return p, false
}

// readRopes reads the rotary table that all layers share. Families with more
// than one call readRope themselves.
func readRopes(o *object, d *Defaults, c *Config) {
	r, _ := o.ropeObject("full_attention")
	c.addRope(o.readRope("full", r, d.Theta, d.Original, c))
	for i := range c.Layers {
		c.Layers[i].Rope = "full"
	}
}

// readSlidingRope reads the rotary table of layers with a window if the file has
// one per layer kind.
func readSlidingRope(o *object, d *Defaults, c *Config) {
	r, perKind := o.ropeObject("sliding_attention")
	if !perKind || r == nil || c.rope("sliding") != nil {
		return
	}
	t := o.readRope("sliding", r, d.Theta, d.Original, c)
	if full := *c.rope("full"); full.Name != "" {
		full.Name = t.Name
		if reflect.DeepEqual(t, full) {
			return
		}
	}
	c.slidingRope(t)
}

// addRope adds a table or replaces that of the same name.
func (c *Config) addRope(r RotaryTable) {
	if old := c.rope(r.Name); old != nil {
		*old = r
		return
	}
	c.Ropes = append(c.Ropes, r)
}

// readRope reads one table. r may be nil; transformers 4 keeps in o what
// transformers 5 keeps in r. theta and original are the family's defaults.
func (o *object) readRope(name string, r *object, theta float64, original int, c *Config) RotaryTable {
	if r == nil {
		r = &object{&Object{File: o.File, Prefix: o.Prefix, M: map[string]any{}, Faults: o.Faults, Prov: o.Prov}}
	}
	field := "rope." + name + "."
	from := func(key string) *object {
		if r.M[key] != nil {
			return r
		}
		return o
	}
	t := RotaryTable{Name: name, Scaling: PlainRope, Scale: 1}
	t.Theta = from("rope_theta").Float(field+"theta", theta, "rope_theta")
	part := from("partial_rotary_factor").Float(field+"dim", 1, "partial_rotary_factor")
	if part < 0 || part > 1 {
		o.Bad("partial_rotary_factor", "a number from 0 to 1", part)
		part = 1
	}
	t.Dim = int(float64(c.HeadDim) * float64(part))
	switch kind := r.Text(field+"scaling", PlainRope, "rope_type", "type"); kind {
	case "mrope": // older configurations; the sections say the same
	case "su": // phi-3 before its scaling got a common name
		t.Scaling = Long
	case Yarn:
		t.Scaling = Yarn
		if r.M["long_factor"] != nil { // likewise
			t.Scaling = Long
		}
	case Listed, Divided: // types of GGUF files
		r.Bad("rope_type", "default, linear, dynamic, llama3, yarn or longrope", kind)
	default:
		t.Scaling = kind
	}
	if t.Scaling == PlainRope {
		return t
	}
	t.Original = from("original_max_position_embeddings").Int(field+"original", original, maxLength, "original_max_position_embeddings")
	stretch := 0.0
	if t.Original > 0 {
		stretch = float64(c.Context) / float64(t.Original)
	}
	t.Factor = r.Float(field+"factor", stretch, "factor")
	if t.Original == 0 {
		t.Original, stretch = c.Context, float64(t.Factor)
	}
	if t.Scaling == Linear {
		t.Original = 0 // not used by this type
	}
	r.readScaling(&t, field, stretch, c)
	return t
}

// readScaling reads the keys of one type of scaling. stretch is the ratio of the
// context length to the original one.
func (r *object) readScaling(t *RotaryTable, field string, stretch float64, c *Config) {
	switch t.Scaling {
	case Dynamic:
		t.Original = c.Context // the reference ignores other lengths
	case Llama3:
		t.Low = r.Float(field+"low", 1, "low_freq_factor")
		t.High = r.Float(field+"high", 4, "high_freq_factor")
	case Yarn:
		t.BetaFast = r.Float(field+"beta_fast", 32, "beta_fast")
		t.BetaSlow = r.Float(field+"beta_slow", 1, "beta_slow")
		t.Exact = !r.Bool(field+"exact", true, "truncate")
		s := float64(t.Factor)
		a := ropeStrength(s, 1)
		m, all := r.Float(field+"mscale", 0, "mscale"), r.Float(field+"mscale_all", 0, "mscale_all_dim")
		if m != 0 && all != 0 {
			a = ropeStrength(s, float64(m)) / ropeStrength(s, float64(all))
		}
		t.Scale = r.Float(field+"scale", a, "attention_factor")
	case Long:
		t.Short = r.Floats(field+"short", "short_factor")
		t.Long = r.Floats(field+"long", "long_factor")
		t.Scale = r.Float(field+"scale", longRopeScale(stretch, t.Original), "attention_factor")
		t.Factor = 0 // implied by the context lengths
	}
}

// flags reads a list of 0 and 1.
func (o *object) flags(field, key string) ([]bool, bool) {
	return listOf(o.Object, field, key, "0, 1, true or false", func(v any) (bool, bool) {
		if b, ok := v.(bool); ok {
			return b, true
		}
		n, ok := v.(json.Number)
		return n == "1", ok && (n == "0" || n == "1")
	})
}
