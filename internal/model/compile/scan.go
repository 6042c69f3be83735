package compile

import (
	"fmt"
	"math"
	"slices"

	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/tensor"
)

// scanFamilies are models with selective scans (Mamba 1 and 2).
var scanFamilies = []*Family{&mamba, &falconMamba, &mamba2, &graniteHybrid, &bamba, &nemotronH}

// scanTerms are the names that their weight maps use.
var scanTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"scan.inner": func(c *Config) int { return c.Scan.Inner },
		"scan.state": func(c *Config) int { return c.Scan.State },
		"scan.conv":  func(c *Config) int { return c.Scan.Conv },
		"scan.rank":  func(c *Config) int { return c.Scan.DtRank },
		"scan.heads": func(c *Config) int { return c.Scan.Heads },
		"scan.group": func(c *Config) int { return c.Scan.Groups },
		"scan.part":  func(c *Config) int { return c.Scan.Inner / max(1, c.Scan.Groups) },
		"scan.mixed": func(c *Config) int { return c.Scan.mixed() },
	},
	conds: map[string]func(*Config) Presence{
		"scan.conv_bias": func(c *Config) Presence { return c.Scan.ConvBias },
		"scan.bias":      func(c *Config) Presence { return c.Scan.ProjBias },
		"scan.whole":     func(c *Config) Presence { return presentIf(c.WholeHeads) },
	},
}

// scanTypes and scanArchs are those of them that are refused by name.
var (
	scanTypes = map[string]string{
		"falcon_h1": needsRecurrent,
		"zamba2":    needsRecurrent,
		"jamba":     needsRecurrent,
	}
	scanArchs = map[string]string{
		"falcon-h1": needsRecurrent,
		"jamba":     needsRecurrent,
	}
)

// A Scan is a selective state space: Mamba 1 (arXiv 2312.00752) or Mamba 2 (arXiv
// 2405.21060).
type Scan struct {
	Inner    int // width of the mixer
	State    int // N: values of state for each inner channel
	Conv     int // K: width of the convolution
	DtRank   int `json:",omitempty"` // mamba1
	Heads    int `json:",omitempty"` // mamba2
	Groups   int `json:",omitempty"` // mamba2: sets of B and C, and parts that are normalized by themselves
	ConvBias Presence
	ProjBias Presence // of the projections in and out

	DtMin     float32 `json:",omitempty"` // mamba2: bounds of a step
	DtMax     float32 `json:",omitempty"` // 0 = none
	Chunk     int     `json:",omitempty"` // mamba2: tokens computed together, at most scanChunk
	PlainNorm bool    `json:",omitempty"` // mamba1: norm without weight of B, C and the steps
	NormEps   float32 // of norms inside the mixer
}

// scanChunk is the largest number of tokens that are computed together. Twice as
// many make larger products, but of more operations, and a larger state.
const scanChunk = 64

// mixed is the number of channels that are convolved.
func (s *Scan) mixed() int { return s.Inner + 2*s.Groups*s.State }

func (s *Scan) check(c *Config, bad func(field, want string, got any)) {
	type bound struct {
		field         string
		got, min, max int
	}
	bounds := []bound{
		{"width of scans", s.Inner, 1, maxWidth}, {"state of scans", s.State, 1, maxHead}, {"convolution of scans", s.Conv, 1, maxTaps},
	}
	if c.hasMixer(mixMamba1) {
		bounds = append(bounds, bound{"rank of steps", s.DtRank, 1, maxWidth})
	}
	if c.hasMixer(mixMamba2) {
		bounds = append(bounds, bound{"heads of scans", s.Heads, 1, maxHeads}, bound{"groups of scans", s.Groups, 1, maxHeads}, bound{"tokens of a chunk", s.Chunk, 1, scanChunk})
	}
	for _, x := range bounds {
		if x.got < x.min || x.got > x.max {
			bad(x.field, fmt.Sprintf("%d to %d", x.min, x.max), x.got)
			return
		}
	}
	if c.hasMixer(mixMamba2) {
		if s.Inner%s.Heads != 0 || s.Heads%s.Groups != 0 || s.Inner%s.Groups != 0 {
			bad("heads of scans", fmt.Sprintf("a divisor of the width %d and a multiple of the %d groups", s.Inner, s.Groups), s.Heads)
		}
	}
	if !(s.DtMin >= 0 && s.DtMin < 1e30) || !(s.DtMax >= 0 && s.DtMax < 1e30) || s.DtMax > 0 && s.DtMax < s.DtMin {
		bad("bounds of steps", "two ascending numbers, 0 or above", fmt.Sprintf("%g and %g", s.DtMin, s.DtMax))
	}
	if !(s.NormEps > 0 && s.NormEps < 1e30) {
		bad("norm epsilon of scans", "a number above 0", s.NormEps)
	}
}

func (r *resolver) mamba1(layer int) (plan.Params, error) {
	s := &r.c.Scan
	return &plan.SSMParams{
		Layer: uint32(r.states.ordinal[layer]), Inner: uint32(s.Inner), State: uint32(s.State), Conv: uint32(s.Conv),
		DtRank: uint32(s.DtRank), NormEps: s.NormEps, DtMax: math.MaxFloat32, PlainNorm: toFlag(s.PlainNorm),
	}, nil
}

func (r *resolver) mamba2(layer int) (plan.Params, error) {
	s := &r.c.Scan
	p := &plan.SSMParams{
		Layer: uint32(r.states.ordinal[layer]), Inner: uint32(s.Inner), State: uint32(s.State), Conv: uint32(s.Conv),
		Heads: uint32(s.Heads), HeadDim: uint32(s.Inner / s.Heads), Groups: uint32(s.Groups), NormGroups: uint32(s.Groups),
		NormEps: s.NormEps, DtMin: s.DtMin, DtMax: s.DtMax, Chunk: uint32(s.Chunk),
	}
	if s.DtMax == 0 {
		p.DtMax = math.MaxFloat32
	}
	return p, nil
}

// scanSections are the parts of a layer's state: the last inputs of the
// convolution, and the state of each channel. Mamba 2 has the state at the
// beginning of the current chunk, and the rows of that chunk so far: inputs, B by
// columns, sums of decays.
func (c *Config) scanSections(mixer string) []plan.Section {
	s := &c.Scan
	if mixer == mixMamba1 {
		return []plan.Section{floatSection("conv", (s.Conv-1)*s.Inner), floatSection("ssm", s.Inner*s.State)}
	}
	return []plan.Section{
		floatSection("conv", (s.Conv-1)*s.mixed()), floatSection("ssm", s.Inner*s.State),
		floatSection("x", s.Chunk*s.Inner), floatSection("b", s.Chunk*s.Groups*s.State),
		{Name: "sums", Bytes: 8 * uint64(s.Chunk*s.Heads), DType: tensor.F64},
	}
}

// readScan reads the keys that configurations of Mamba 1 and 2 have in common.
func (o *object) readScan(c *Config, expand float64) {
	s := &c.Scan
	c.Heads, c.KVHeads, c.HeadDim, c.FFN, c.AttnScale = 0, 0, 0, 0, 0
	s.State = o.Int("scan.state", s.State, maxHead, "state_size", "ssm_state_size")
	s.Conv = o.Int("scan.conv", 4, maxTaps, "conv_kernel")
	s.Inner = int(float64(o.Float("scan.expand", expand, "expand")) * float64(c.Hidden))
	s.ConvBias = presentIf(o.Bool("scan.conv_bias", true, "use_conv_bias"))
	s.ProjBias = presentIf(o.Bool("scan.bias", false, "use_bias"))
	s.NormEps = c.NormEps
	o.onlySiLU(c)
}

// onlySiLU refuses other activations inside the mixer.
func (o *object) onlySiLU(c *Config) {
	if c.Act != "silu" {
		o.Bad("hidden_act", "silu", c.Act)
	}
}

// mamba1Of reads a configuration of Mamba 1.
func (o *object) mamba1Of(c *Config) {
	c.Scan.State = 16
	o.readScan(c, 2)
	if n := o.Int("scan.inner", 0, maxWidth, "intermediate_size"); n > 0 {
		c.Scan.Inner = n
	}
	if o.M["time_step_rank"] == "auto" || o.M["time_step_rank"] == nil {
		c.Scan.DtRank = (c.Hidden + 15) / 16
		o.Prov["scan.rank"] = "derived"
	} else {
		c.Scan.DtRank = o.Int("scan.rank", 0, maxWidth, "time_step_rank")
	}
	c.everyLayer(mixMamba1)
}

// everyLayer makes all layers one mixer without feed-forward layers.
func (c *Config) everyLayer(mixer string) {
	for i := range c.Layers {
		c.Layers[i] = Layer{Mixer: mixer, FFN: ffnNone}
	}
}

// chunk reads how many tokens the reference computes together: more than
// scanChunk make no difference to the model.
func (o *object) chunk(keys ...string) int {
	return min(max(1, o.Int("scan.chunk", 256, maxLength, keys...)), scanChunk)
}

// stepLimits reads the bounds of steps; an infinite one is none.
func (o *object) stepLimits(c *Config) {
	list, ok := o.M["time_step_limit"].([]any)
	if !ok {
		return
	}
	if len(list) != 2 {
		o.Bad("time_step_limit", "two numbers", list)
		return
	}
	for i, to := range []*float32{&c.Scan.DtMin, &c.Scan.DtMax} {
		v := list[i]
		if m, ok := v.(map[string]any); ok { // as transformers 5 writes what JSON has no number for
			v = m["__float__"]
		}
		f, isNumber := pyNumber(v)
		switch {
		case i == 1 && (v == "Infinity" || isNumber && math.IsInf(f, 1)):
		case !isNumber || !(f >= 0 && f < 1e30):
			o.Bad(fmt.Sprintf("time_step_limit[%d]", i), "a number, 0 or above", list[i])
		default:
			*to = float32(f)
		}
	}
	o.Prov["scan.limits"] = "file " + o.Prefix + "time_step_limit"
}

// hybridScan reads the keys "mamba_…" of models that also attend, and which
// layers are scans.
func (o *object) hybridScan(c *Config) {
	s := &c.Scan
	s.Inner = int(o.Float("scan.expand", 2, "mamba_expand") * float32(c.Hidden))
	s.State = o.Int("scan.state", 256, maxHead, "mamba_d_state")
	s.Conv = o.Int("scan.conv", 4, maxTaps, "mamba_d_conv")
	s.Heads = o.Int("scan.heads", 128, maxHeads, "mamba_n_heads")
	s.Groups = o.Int("scan.groups", 1, maxHeads, "mamba_n_groups")
	s.Chunk = o.chunk("mamba_chunk_size")
	s.ConvBias = presentIf(o.Bool("scan.conv_bias", true, "mamba_conv_bias"))
	s.ProjBias = presentIf(o.Bool("scan.bias", false, "mamba_proj_bias"))
	s.NormEps = c.NormEps
	if w := o.M["mamba_d_head"]; w != nil && w != "auto" {
		if n := o.Int("scan.head_dim", 0, maxHead, "mamba_d_head"); n*s.Heads != s.Inner {
			o.Bad("mamba_d_head", fmt.Sprintf("%d channels of %d heads", s.Inner, s.Heads), n)
		}
	}
	o.stepLimits(c)
	o.onlySiLU(c)
	if o.setMixers(c, map[string]string{"mamba": mixMamba2, "linear_attention": mixMamba2, "attention": mixAttention, "full_attention": mixAttention}) {
		return
	}
	attends := o.Floats("attention_layers", "attn_layer_indices")
	for i := range c.Layers {
		if !slices.Contains(attends, float32(i)) {
			c.setMixer(i, mixMamba2)
		}
	}
}

// readScan reads the keys "ssm.…", and from the tensors of the first scan which
// biases there are.
func (h *header) readScan(c *Config) {
	s := &c.Scan
	s.Inner = h.int("scan.inner", 0, maxWidth, "ssm.inner_size")
	s.State = h.int("scan.state", 0, maxHead, "ssm.state_size")
	s.Conv = h.int("scan.conv", 0, maxTaps, "ssm.conv_kernel")
	s.NormEps = c.NormEps
	s.ConvBias, s.ProjBias = Absent, Absent
	for i := range c.Layers {
		if h.tensors[fmt.Sprintf("blk.%d.ssm_conv1d.bias", i)] != nil || len(h.tensors) == 0 {
			s.ConvBias = Present
		}
		if h.tensors[fmt.Sprintf("blk.%d.ssm_in.bias", i)] != nil {
			s.ProjBias = Present
		}
	}
	if c.hasMixer(mixMamba1) {
		s.DtRank = h.int("scan.rank", 0, maxWidth, "ssm.time_step_rank")
		plain, found, err := h.meta.Bool(h.key("ssm.dt_b_c_rms"))
		s.PlainNorm = h.note("scan.norms", "ssm.dt_b_c_rms", found, err) && plain
		return
	}
	s.Heads = h.int("scan.heads", 0, maxHeads, "ssm.time_step_rank")
	s.Groups = h.int("scan.groups", 1, maxHeads, "ssm.group_count")
	s.Chunk = scanChunk
}

// scanKeys returns llama.cpp's keys of scans.
func (c *Config) scanKeys(u32 func(key string, v int), put func(key string, v file.Value)) {
	s := &c.Scan
	if s.Inner == 0 {
		return
	}
	u32("ssm.conv_kernel", s.Conv)
	u32("ssm.inner_size", s.Inner)
	u32("ssm.state_size", s.State)
	if c.hasMixer(mixMamba1) {
		u32("ssm.time_step_rank", s.DtRank)
		put("ssm.dt_b_c_rms", file.ValueOf(s.PlainNorm))
		return
	}
	u32("ssm.time_step_rank", s.Heads)
	u32("ssm.group_count", s.Groups)
	if c.hasMixer(mixAttention) && !c.hasMixer(mixNone) {
		put("rope.scaling.finetuned", file.ValueOf(c.rope("full") != nil))
	}
}

var (
	scan1 = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm"}, Tag: "attn_norm"},
		{Op: plan.OpMamba1, Out: "a", In: []string{"n"}, W: w{
			"in": "ssm_in", "conv": "ssm_conv", "conv_bias": "ssm_conv_bias", "x": "ssm_x", "dt": "ssm_dt", "dt_bias": "ssm_dt_bias",
			"a": "ssm_a", "d": "ssm_d", "out": "ssm_out", "in_bias": "ssm_in_bias", "out_bias": "ssm_out_bias",
		}, Tag: "mamba1"},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}, Tag: "mamba_add"},
	}
	scan2 = plan.Program{
		scan1[0],
		{Op: plan.OpMamba2, Out: "a", In: []string{"n"}, W: w{
			"in": "ssm_in", "conv": "ssm_conv", "conv_bias": "ssm_conv_bias", "a": "ssm_a", "d": "ssm_d", "dt_bias": "ssm_dt_bias",
			"norm": "ssm_norm", "out": "ssm_out", "in_bias": "ssm_in_bias", "out_bias": "ssm_out_bias",
		}, Tag: "mamba2"},
		scan1[2],
	}
	noFFN        = map[string]plan.Program{ffnNone: {}}
	hybridMixers = map[string]plan.Program{mixAttention: attention, mixMamba2: scan2}
)

// scanWeights are those of Mamba 2 under hf; a vector of heads is a column in GGUF
// files.
func scanWeights(hf string) WeightMap {
	column := func(id, hfName, gguf string, k Kind) WeightSpec {
		return WeightSpec{ID: id, Shape: "scan.heads", HF: []Origin{{Name: hf + hfName, Map: k}}, GGUF: []Origin{{Name: ggufLayer + gguf, Of: "scan.heads,1"}}}
	}
	return WeightMap{
		matrix("ssm_in", "scan.inner+scan.mixed+scan.heads,d", hf+"in_proj", ggufLayer+"ssm_in"),
		bias("ssm_in_bias", "scan.inner+scan.mixed+scan.heads", "scan.bias", hf+"in_proj", ggufLayer+"ssm_in"),
		taps("ssm_conv", "scan.mixed", "scan.conv", hf+"conv1d", ggufLayer+"ssm_conv1d"),
		bias("ssm_conv_bias", "scan.mixed", "scan.conv_bias", hf+"conv1d", ggufLayer+"ssm_conv1d"),
		column("ssm_a", "A_log", "ssm_a", NegExp),
		column("ssm_d", "D", "ssm_d", ""),
		{ID: "ssm_dt_bias", Shape: "scan.heads", HF: []Origin{{Name: hf + "dt_bias"}}, GGUF: named(ggufLayer+"ssm_dt", ".bias")},
		{ID: "ssm_norm", Shape: "scan.inner", HF: named(hf+"norm", ".weight"), GGUF: []Origin{{Name: ggufLayer + "ssm_norm.weight", Of: "scan.group,scan.part"}}},
		matrix("ssm_out", "d,scan.inner", hf+"out_proj", ggufLayer+"ssm_out"),
		bias("ssm_out_bias", "d", "scan.bias", hf+"out_proj", ggufLayer+"ssm_out"),
	}
}

// backbone are the weights around the mixers of models without attention.
var backbone = WeightMap{
	matrix("token_embd", "V,d", "{p}embeddings", "token_embd"),
	norm("output_norm", "d", "{p}norm_f", "output_norm"),
	matrix("output", "V,d", "{q}lm_head", "output"),
	norm("attn_norm", "d", hfLayer+"norm", ggufLayer+"attn_norm"),
}

const hfMixer = hfLayer + "mixer."

var mamba1Weights = backbone.with(
	matrix("ssm_in", "2*scan.inner,d", hfMixer+"in_proj", ggufLayer+"ssm_in"),
	bias("ssm_in_bias", "2*scan.inner", "scan.bias", hfMixer+"in_proj", ggufLayer+"ssm_in"),
	taps("ssm_conv", "scan.inner", "scan.conv", hfMixer+"conv1d", ggufLayer+"ssm_conv1d"),
	bias("ssm_conv_bias", "scan.inner", "scan.conv_bias", hfMixer+"conv1d", ggufLayer+"ssm_conv1d"),
	matrix("ssm_x", "scan.rank+2*scan.state,scan.inner", hfMixer+"x_proj", ggufLayer+"ssm_x"),
	matrix("ssm_dt", "scan.inner,scan.rank", hfMixer+"dt_proj", ggufLayer+"ssm_dt"),
	bias("ssm_dt_bias", "scan.inner", "", hfMixer+"dt_proj", ggufLayer+"ssm_dt"),
	WeightSpec{ID: "ssm_a", Shape: "scan.inner,scan.state", HF: []Origin{{Name: hfMixer + "A_log", Map: NegExp}}, GGUF: []Origin{{Name: ggufLayer + "ssm_a"}}},
	WeightSpec{ID: "ssm_d", Shape: "scan.inner", HF: []Origin{{Name: hfMixer + "D"}}, GGUF: []Origin{{Name: ggufLayer + "ssm_d"}}},
	matrix("ssm_out", "d,scan.inner", hfMixer+"out_proj", ggufLayer+"ssm_out"),
	bias("ssm_out_bias", "d", "scan.bias", hfMixer+"out_proj", ggufLayer+"ssm_out"),
)

// unbounded is the context length of models whose configurations have none, as
// llama.cpp writes it.
const unbounded = 1 << 20

// mamba is the first selective scan.
var mamba = Family{
	ID: "mamba", ModelTypes: []string{"mamba"},
	Arch: "mamba", ReadsArch: true,
	Defaults: Defaults{Hidden: 768, Layers: 32, Vocab: 50280, Context: unbounded, NormEps: 1e-5, Theta: 1e4, Act: "silu", Tied: true},
	HF:       func(o *object, c *Config) { o.mamba1Of(c) },
	GGUF: func(h *header, c *Config) {
		c.everyLayer(mixMamba1)
		h.readScan(c)
	},
	Prologue: embedText, Mixers: map[string]plan.Program{mixMamba1: scan1}, FFNs: noFFN, Epilogue: headText, Weights: mamba1Weights,
}

// falconMamba is mamba with norms inside the mixer. Its GGUF files are read as
// mamba.
var falconMamba = Family{
	ID: "falcon_mamba", ModelTypes: []string{"falcon_mamba"},
	Arch:     "mamba",
	Defaults: Defaults{Hidden: 768, Layers: 32, Vocab: 50280, Context: unbounded, NormEps: 1e-5, Theta: 1e4, Act: "silu", Tied: true},
	HF: func(o *object, c *Config) {
		o.mamba1Of(c)
		c.Scan.PlainNorm = true
		c.Scan.NormEps = o.Float("scan.norm_eps", 1e-6, "mixer_rms_eps")
	},
	Prologue: embedText, Mixers: map[string]plan.Program{mixMamba1: scan1}, FFNs: noFFN, Epilogue: headText, Weights: mamba1Weights,
}

// mamba2 is the state space dual of one decay for each head.
var mamba2 = Family{
	ID: "mamba2", ModelTypes: []string{"mamba2"},
	Arch: "mamba2", ReadsArch: true,
	Defaults: Defaults{Hidden: 4096, Layers: 64, Vocab: 32768, Context: unbounded, NormEps: 1e-5, Theta: 1e4, Act: "silu"},
	HF: func(o *object, c *Config) {
		s := &c.Scan
		s.State = 128
		o.readScan(c, 2)
		s.Heads = o.Int("scan.heads", 128, maxHeads, "num_heads")
		s.Groups = o.Int("scan.groups", 8, maxHeads, "n_groups")
		s.Chunk = o.chunk("chunk_size")
		if n := o.Int("scan.head_dim", 64, maxHead, "head_dim"); n*s.Heads != s.Inner {
			o.Bad("head_dim", fmt.Sprintf("%d channels of %d heads", s.Inner, s.Heads), n)
		}
		o.stepLimits(c)
		c.everyLayer(mixMamba2)
	},
	GGUF: func(h *header, c *Config) {
		c.everyLayer(mixMamba2)
		h.readScan(c)
	},
	Prologue: embedText, Mixers: map[string]plan.Program{mixMamba2: scan2}, FFNs: noFFN, Epilogue: headText,
	Weights: backbone.with(scanWeights(hfMixer)...),
}

// graniteHybrid is granite in which most layers are scans. Without experts its
// shared feed-forward layer is the only one.
var graniteHybrid = Family{
	ID: "granitemoehybrid", ModelTypes: []string{"granitemoehybrid"},
	Arch: "granitehybrid", ReadsArch: true, Reorders: true, KVByLayer: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 32000, Context: 2048,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", FFNBias: Absent,
		Mixture: Mixture{Gate: gateTop, SharedPlain: true},
	},
	HF: func(o *object, c *Config) {
		graniteScales(o, c)
		o.hybridScan(c)
		if o.Text("positions", "", "position_embedding_type") != "rope" {
			for i := range c.Layers {
				c.Layers[i].Rope = ""
			}
		}
		shared := o.Int("shared_width", 1024, maxWidth, "shared_intermediate_size")
		o.readMixture(c, Mixture{Experts: 8, TopK: 2, Gate: gateTop, SharedPlain: true})
		if c.Mixture.Experts > 0 {
			c.Mixture.Width, c.Mixture.Shared = c.FFN, shared
		} else {
			c.FFN = shared
		}
	},
	GGUF: func(h *header, c *Config) {
		graniteLogits(h, c)
		if c.Mixture.Experts == 0 { // llama.cpp's converter names the unused width feed_forward_length
			c.FFN = h.int("ffn", c.FFN, maxWidth, "expert_shared_feed_forward_length")
		}
		h.hybrid(c, mixMamba2)
		h.readScan(c)
		turns, found, err := h.meta.Bool(h.key("rope.scaling.finetuned"))
		if !h.note("rope", "rope.scaling.finetuned", found, err) || !turns {
			for i := range c.Layers {
				c.Layers[i].Rope = ""
			}
		} else if !h.has("attention.key_length") && c.hasMixer(mixMamba2) {
			c.wholeHeads()
		}
	},
	Prologue: embedText, Mixers: hybridMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: graniteHybridWeights,
}

// wholeHeads changes the configuration of a file of llama.cpp's converter whose layers
// rotate. Of its hybrids that is only Bamba, which rotates the first half of each
// head; the converter reorders the rows of whole heads, so that no rows in its order
// are those that the rotated half has as pairs, and states the width of a whole head
// unless the configuration has attn_rotary_emb. Its files have no width of keys; ours
// do.
func (c *Config) wholeHeads() {
	t := c.rope("full")
	if t == nil || c.HeadDim%2 != 0 {
		return
	}
	if t.Dim == c.HeadDim {
		t.Dim = c.HeadDim / 2
	}
	c.Interleaved, c.WholeHeads = false, true
}

// fromWhole returns a weight that files of [Config.wholeHeads] have in their order:
// the rows of each of its heads that are neighbours belong to its two halves.
func fromWhole(s WeightSpec) WeightSpec {
	pick := func(c *Config) [][2]int {
		n, _ := c.eval(s.Heads) // a size that all know
		return pairHalves(n, c.HeadDim)
	}
	o := s.GGUF[0]
	o.If, o.Pick = "scan.whole", pick
	s.GGUF = []Origin{o, s.GGUF[0]}
	return s
}

var graniteHybridWeights = llamaWeights.with(
	fromWhole(*llamaWeights.get("attn_q")), fromWhole(*llamaWeights.get("attn_k")),
	fromWhole(*llamaWeights.get("attn_q_bias")), fromWhole(*llamaWeights.get("attn_k_bias")),
).with(graniteExperts...).with(scanWeights(hfLayer+"mamba.")...).with(
	WeightSpec{ID: "ffn_gate", Shape: "I,d", HF: []Origin{{Name: hfLayer + "shared_mlp.input_linear.weight", Of: "2*I,d", Rows: [2]string{"0", "I"}}, {Name: hfLayer + "feed_forward.gate_proj.weight"}}, GGUF: named(ggufLayer+"ffn_gate", ".weight")},
	WeightSpec{ID: "ffn_up", Shape: "I,d", HF: []Origin{{Name: hfLayer + "shared_mlp.input_linear.weight", Of: "2*I,d", Rows: [2]string{"I", "2*I"}}, {Name: hfLayer + "feed_forward.up_proj.weight"}}, GGUF: named(ggufLayer+"ffn_up", ".weight")},
	matrix("ffn_down", "d,I", hfLayer+"shared_mlp.output_linear", ggufLayer+"ffn_down"),
)

// bamba is llama in which most layers are scans. Its GGUF files are read as
// granitemoehybrid.
var bamba = Family{
	ID: "bamba", ModelTypes: []string{"bamba"},
	Arch: "granitehybrid", Reorders: true, KVByLayer: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, KVHeads: 8, FFN: 14336, Vocab: 128000, Context: 262144,
		NormEps: 1e-5, Theta: 1e4, Act: "silu",
	},
	HF: func(o *object, c *Config) {
		o.hybridScan(c)
		r, _ := o.ropeObject("full_attention")
		if t := c.rope("full"); t != nil && !o.Has("partial_rotary_factor") && (r == nil || !r.Has("partial_rotary_factor")) {
			t.Dim = c.HeadDim / 2 // the class knows no other
		}
	},
	Prologue: embedText, Mixers: hybridMixers, FFNs: preFFNs, Epilogue: headText,
	Weights: llamaWeights.with(scanWeights(hfLayer+"mamba.")...).with(
		norm("output_norm", "d", "{p}final_layernorm", "output_norm"),
		norm("ffn_norm", "d", hfLayer+"pre_ff_layernorm", ggufLayer+"ffn_norm"),
		matrix("ffn_gate", "I,d", hfLayer+"feed_forward.gate_proj", ggufLayer+"ffn_gate"),
		matrix("ffn_up", "I,d", hfLayer+"feed_forward.up_proj", ggufLayer+"ffn_up"),
		matrix("ffn_down", "d,I", hfLayer+"feed_forward.down_proj", ggufLayer+"ffn_down"),
		bias("ffn_gate_bias", "I", "ffn_bias", hfLayer+"feed_forward.gate_proj", ggufLayer+"ffn_gate"),
		bias("ffn_up_bias", "I", "ffn_bias", hfLayer+"feed_forward.up_proj", ggufLayer+"ffn_up"),
		bias("ffn_down_bias", "d", "ffn_bias", hfLayer+"feed_forward.down_proj", ggufLayer+"ffn_down"),
	),
}
