package compile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A header reads the keys of a GGUF file. Keys are relative to the file's
// architecture: "block_count" is "llama.block_count". Keys "atenia.…" hold what
// the format has no key for; they override what is derived from the others.
type header struct {
	file    string
	arch    string
	meta    file.Metadata
	tensors map[string]*file.Tensor
	faults  *faults
	prov    map[string]string
	asked   map[string]bool // full names of keys
	kv, ffn []uint64        // key heads and feed-forward width of each layer, if the file says so
}

const ateniaKeys = "atenia."

// key returns the full name of a key and marks it as read.
func (h *header) key(key string) string {
	if !strings.HasPrefix(key, ateniaKeys) {
		key = h.arch + "." + key
	}
	h.asked[key] = true
	return key
}

// unread reports the keys of the architecture that were not read.
func (h *header) unread() (notes []plan.PlanDiagnostic) {
	const most = 32
	for key := range h.meta.All() {
		ours := strings.HasPrefix(key, h.arch+".") || strings.HasPrefix(key, ateniaKeys)
		if ours && !h.asked[key] && len(notes) < most {
			notes = append(notes, plan.PlanDiagnostic{Code: "unknown_key", Text: clip(key)})
		}
	}
	return notes
}

func (h *header) bad(key, want string, got any) {
	h.faults.Add(&configError{File: h.file, Field: h.key(key), Want: want, Got: fmt.Sprint(got)})
}

func (h *header) note(field, key string, found bool, err error) bool {
	h.prov[field] = "default"
	if err != nil {
		h.faults.Add(err)
		return false
	}
	if found {
		h.prov[field] = "file " + h.key(key)
	}
	return found
}

func (h *header) has(key string) bool { _, ok := h.meta.Get(h.key(key)); return ok }

// int reads an integer, or an array with one value per layer if all are equal.
func (h *header) int(field string, def, max int, key string) int {
	v, found := h.meta.Get(h.key(key))
	var n uint64
	var err error
	if found && v.Type() == file.Array {
		var all []uint64
		if all, _, err = h.meta.Uints(h.key(key)); err == nil {
			for i, x := range all {
				if x != all[0] {
					h.bad(key, "the same value in every layer", fmt.Sprintf("%d in layer %d and %d in layer 0", x, i, all[0]))
					return def
				}
				n = x
			}
			if found = len(all) > 0; !found {
				h.bad(key, "a value", "an empty array")
			}
		}
	} else {
		n, found, err = h.meta.Uint(h.key(key))
	}
	if !h.note(field, key, found, err) {
		return def
	}
	if n > uint64(max) {
		h.bad(key, fmt.Sprintf("a whole number from 0 to %d", max), n)
		return def
	}
	return int(n)
}

func (h *header) float(field string, def float64, key string) float32 {
	f, found, err := h.meta.Float(h.key(key))
	if !h.note(field, key, found, err) {
		return float32(def)
	}
	if math.IsNaN(f) || math.Abs(f) > math.MaxFloat32 {
		h.bad(key, "a number", f)
		return float32(def)
	}
	return float32(f)
}

func (h *header) text(field, def, key string) string {
	s, found, err := h.meta.String(h.key(key))
	if !h.note(field, key, found, err) {
		return def
	}
	return s
}

func (h *header) floats(field, key string) []float32 {
	xs, found, err := h.meta.Floats(h.key(key))
	if !h.note(field, key, found, err) {
		return nil
	}
	out := make([]float32, len(xs))
	for i, x := range xs {
		out[i] = float32(x)
	}
	return out
}

// vector reads a small F32 tensor that belongs to the configuration.
func (h *header) vector(name string) ([]float32, bool) {
	t := h.tensors[name]
	if t == nil {
		return nil, false
	}
	if t.View.DType != tensor.F32 || len(t.View.Shape) != 1 {
		h.faults.Add(&configError{File: h.file, Field: name, Want: "a vector of F32", Got: fmt.Sprintf("%s %v", t.View.DType, t.View.Shape)})
		return nil, false
	}
	out := make([]float32, len(t.View.Data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.View.Data[4*i:]))
	}
	return out, true
}

// normalizeGGUF reads the header of a GGUF file.
func (r *registry) normalizeGGUF(d *file.Description, tensors map[string]*file.Tensor, opt Options) (*normalized, error) {
	arch, _, err := d.Meta.String("general.architecture")
	if err != nil {
		return nil, err
	}
	fam, err := choose("general.architecture", arch, r.archs, knownArchs)
	if err != nil {
		return nil, err
	}
	h := &header{file: d.Path, arch: arch, meta: d.Meta, tensors: tensors, faults: &faults{}, prov: map[string]string{}, asked: map[string]bool{}}
	c := &Config{Family: fam.ID, Arch: fam.Arch, Source: GGUF, Interleaved: fam.Reorders}
	h.readSizes(c)
	n := h.int("layers", 0, maxLayers, "block_count")
	if err := h.faults.Err(); err != nil {
		return nil, err
	}
	c.Layers = make([]Layer, n)
	for i := range c.Layers {
		c.Layers[i] = Layer{Mixer: mixAttention, FFN: ffnDense, Rope: "full"}
	}
	if err := h.readMixture(c, fam); err != nil {
		return nil, err
	}
	h.readScalars(&fam.Defaults, c)
	c.addRope(h.readRope("full", c))
	if fam.GGUF != nil {
		fam.GGUF(h, c)
	}
	h.readPooling(c)
	h.readTower(c)
	h.readOwn(c)
	h.readConfig(c)
	opt.encode(c)
	c.canonicalise()
	c.check(h.file, h.faults)
	if err := h.faults.Err(); err != nil {
		return nil, err
	}
	return &normalized{fam, c, h.prov, h.unread()}, nil
}

func (h *header) readSizes(c *Config) {
	c.Hidden = h.int("hidden", 0, maxWidth, "embedding_length")
	c.Heads = h.int("heads", 0, maxHeads, "attention.head_count")
	c.KVHeads = h.kvHeads(c.Heads)
	derived := 0
	if c.Heads > 0 {
		derived = c.Hidden / c.Heads
	}
	c.HeadDim = h.int("head_dim", derived, maxWidth, "attention.key_length")
	if v := h.int("head_dim", c.HeadDim, maxWidth, "attention.value_length"); v != c.HeadDim && !h.has("attention.kv_lora_rank") {
		h.bad("attention.value_length", fmt.Sprintf("the key width %d", c.HeadDim), v)
	}
	c.FFN, h.ffn = h.some("ffn", 0, maxWidth, "feed_forward_length")
	c.Context = h.int("context", 0, maxLength, "context_length")
	// The token table is authoritative: many files predate the key.
	c.Vocab = h.int("vocab", 0, maxVocab, "vocab_size")
	if t := h.tensors["token_embd.weight"]; t != nil && len(t.View.Shape) == 2 {
		c.Vocab = t.View.Shape[0]
		h.prov["vocab"] = "file token_embd.weight"
	}
	if v, ok := h.meta.Get("tokenizer.ggml.tokens"); ok && c.Vocab == 0 {
		c.Vocab = v.Len()
		h.prov["vocab"] = "file tokenizer.ggml.tokens"
	}
}

// kvHeads reads the number of key heads: one, or one for each layer, where layers
// with none do not attend.
func (h *header) kvHeads(def int) (n int) {
	n, h.kv = h.some("kv_heads", def, maxHeads, "attention.head_count_kv")
	return n
}

// some reads an integer that is the same in every layer but those with 0, and the
// values of all layers if the file has them.
func (h *header) some(field string, def, max int, key string) (int, []uint64) {
	v, found := h.meta.Get(h.key(key))
	if !found || v.Type() != file.Array {
		return h.int(field, def, max, key), nil
	}
	all, found, err := h.meta.Uints(h.key(key))
	if !h.note(field, key, found, err) {
		return def, nil
	}
	n := slices.Max(append(all, 0))
	if n > uint64(max) {
		h.bad(key, fmt.Sprintf("at most %d", max), n)
		return def, nil
	}
	for i, x := range all {
		if x != 0 && x != n {
			h.bad(key, "the same value in every layer that has one", fmt.Sprintf("%d in layer %d and %d in another", x, i, n))
			return def, nil
		}
	}
	return int(n), all
}

// hybrid gives layers without key heads another mixer.
func (h *header) hybrid(c *Config, mixer string) {
	if h.kv == nil || !h.perLayer("attention.head_count_kv", len(h.kv), c) {
		return
	}
	for i, n := range h.kv {
		if n == 0 {
			c.Layers[i].Mixer, c.Layers[i].Rope = mixer, ""
		}
	}
}

func (h *header) readScalars(d *Defaults, c *Config) {
	c.NormKind, c.Ungated = d.NormKind, d.Ungated
	eps := c.epsilonKey()
	if !h.has(eps) && h.has(rmsEpsilon) { // hooks may change the kind of norm later
		eps = rmsEpsilon
	} else if !h.has(eps) && h.has(layerEpsilon) {
		eps = layerEpsilon
	}
	c.NormEps = h.float("norm_eps", 0, eps)
	c.Act = actAliases[d.Act]
	c.QKNorm, c.QKKind = d.QKNorm, d.QKKind
	c.QKVBias, c.OutBias, c.FFNBias = d.QKVBias, d.OutBias, d.FFNBias
	_, untied := h.tensors["output.weight"]
	c.TiedHead = !untied
	h.prov["tied_head"] = "derived"
	embed := 1.0
	if d.EmbedSqrt {
		embed = math.Sqrt(float64(c.Hidden))
	}
	c.EmbedMul = h.float("embed_mul", embed, "embedding_scale")
	c.BranchMul = h.float("branch_mul", 1, "residual_scale")
	c.LogitMul = 1
	scale := 0.0
	if c.HeadDim > 0 {
		scale = 1 / math.Sqrt(float64(c.HeadDim))
	}
	c.AttnScale = h.float("attn_scale", scale, "attention.scale")
}

// epsilonKey returns the key of the number that norms add to variances.
func (c *Config) epsilonKey() string {
	if c.NormKind == layerNorm {
		return layerEpsilon
	}
	return rmsEpsilon
}

const (
	rmsEpsilon   = "attention.layer_norm_rms_epsilon"
	layerEpsilon = "attention.layer_norm_epsilon"
)

// readRope reads the keys "rope.…". Frequency divisors are tensors.
func (h *header) readRope(name string, c *Config) RotaryTable {
	field := "rope." + name + "."
	t := RotaryTable{Name: name, Scaling: PlainRope, Scale: 1}
	t.Dim = h.int(field+"dim", c.HeadDim, maxWidth, "rope.dimension_count")
	t.Theta = h.float(field+"theta", 10000, "rope.freq_base")
	factor := h.float(field+"factor", 0, "rope.scaling.factor")
	if factor == 0 && h.has("rope.scale_linear") { // key of files that predate scaling types
		factor = h.float(field+"factor", 0, "rope.scale_linear")
	}
	original := h.int(field+"original", c.Context, maxLength, "rope.scaling.original_context_length")
	attn := h.float(field+"scale", 1, "rope.scaling.attn_factor")
	kind := h.text(field+"scaling", Linear, "rope.scaling.type")
	if div, ok := h.vector(ropeFreqs); ok {
		t.Scaling, t.Short = Divided, div
		return t
	}
	short, isLong := h.vector(ropeShort)
	if isLong {
		t.Scaling, t.Short, t.Original = Long, short, original
		t.Long, _ = h.vector(ropeLongF)
		t.Scale = attn
		if !h.has("rope.scaling.attn_factor") {
			t.Scale = float32(longRopeScale(float64(c.Context)/float64(max(original, 1)), original))
		}
		return t
	}
	switch {
	case kind == "none" || kind == Linear && (factor == 0 || factor == 1):
	case kind == Linear:
		t.Scaling, t.Factor = Linear, factor
	case kind == Yarn:
		t.Scaling, t.Factor, t.Original = Yarn, factor, original
		t.BetaFast = h.float(field+"beta_fast", 32, "rope.scaling.yarn_beta_fast")
		t.BetaSlow = h.float(field+"beta_slow", 1, "rope.scaling.yarn_beta_slow")
		a := ropeStrength(float64(factor), 1)
		if all := h.float(field+"mscale_all", 0, "rope.scaling.yarn_log_multiplier"); all != 0 {
			a /= ropeStrength(float64(factor), float64(all))
		}
		t.Scale = float32(a * float64(attn))
	case kind == Long: // without its tensors there are no divisors
		h.bad("rope.scaling.type", "the tensors rope_factors_short and rope_factors_long", "neither")
	default:
		h.bad("rope.scaling.type", "none, linear, yarn or longrope", kind)
	}
	return t
}
