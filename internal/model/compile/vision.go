package compile

import (
	"fmt"
	"math"
	"slices"

	"atenia/internal/model/file"
	"atenia/internal/plan"
)

// visionFamilies are the decoders of models with images.
var visionFamilies = []*Family{&qwen2VL, &qwen3VL, &qwen3VLMoE}

// visionTerms are the names that the weight maps of towers use: d hidden, I
// feed-forward width, p values of a patch, g rows of the table of positions, m
// width of joined patches, h hidden width of the projector, H heads.
var visionTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"v.d": func(c *Config) int { return c.Vision.Hidden },
		"v.I": func(c *Config) int { return c.Vision.FFN },
		"v.c": func(c *Config) int { return c.Vision.Channels },
		"v.t": func(c *Config) int { return c.Vision.Temporal },
		"v.P": func(c *Config) int { return c.Vision.Patch },
		"v.p": func(c *Config) int { return c.Vision.patchValues() },
		"v.g": func(c *Config) int { return c.Vision.Positions * c.Vision.Positions },
		"v.m": func(c *Config) int { return c.Vision.Hidden * c.Vision.Merge * c.Vision.Merge },
		"v.k": func(c *Config) int { return c.Vision.Merge * c.Vision.Merge },
		"v.h": func(c *Config) int { return c.Vision.Projector },
		"v.H": func(c *Config) int { return c.Vision.Heads },
	},
	conds: map[string]func(*Config) Presence{
		"v.pos":       func(c *Config) Presence { return presentIf(c.Vision.Positions > 0) },
		"v.any":       func(*Config) Presence { return ByTensor },
		"v.straight":  func(c *Config) Presence { return presentIf(!c.Vision.Exchanged) },
		"v.exchanged": func(c *Config) Presence { return presentIf(c.Vision.Exchanged) },
	},
}

// visionTypes and visionArchs are those of them that are refused by name.
var (
	visionTypes = map[string]string{}
	visionArchs = map[string]string{
		"clip": "the image tower of a model, without its decoder: open the decoder's file, and this one with it",
	}
)

// A Vision is the image tower of a model.
type Vision struct {
	Tower   string // its kind
	Hidden  int
	Layers  int
	Heads   int
	HeadDim int
	FFN     int
	Act     string
	Gated   bool `json:",omitempty"`
	// Exchanged says that the file calls the first product of feed-forward layers
	// ffn_down and the second ffn_up.
	Exchanged bool `json:",omitempty"`
	RMS       bool `json:",omitempty"` // norms divide by the root mean square; otherwise they are layer norms
	NormEps   float32
	Patch     int // pixels of a patch's side
	Temporal  int // images that a patch spans
	Channels  int
	Merge     int // patches of the side of a token

	Positions int     `json:",omitempty"` // side of the grid of learned positions; 0 = none
	Resize    string  `json:",omitempty"` // of that grid: "", "corners", "area"
	Theta     float32 `json:",omitempty"` // of rotation by row and column; 0 = none
	Alternate bool    `json:",omitempty"` // rows and columns take turns in its frequencies; otherwise both have the same
	Window    int     `json:",omitempty"` // tokens of the side of a window; 0 = all layers see whole frames
	Full      []int   `json:",omitempty"` // layers that see whole frames nevertheless
	Deepstack []int   `json:",omitempty"` // layers whose features the first layers of the decoder add

	Pool      bool `json:",omitempty"` // patches of a token are averaged
	Joined    bool `json:",omitempty"` // the projector's norm is of the joined patches
	Projector int  `json:",omitempty"` // hidden width of the projector; 0 = it is one product
	ProjEps   float32
	Whole     bool `json:",omitempty"` // tokens of an image attend to each other in both directions

	Side       int     `json:",omitempty"` // pixels of the side of every image, or of the longest; 0 = any size
	ImageToken int     // placeholder of an image's tokens
	VideoToken int     `json:",omitempty"`
	StartToken int     `json:",omitempty"`
	EndToken   int     `json:",omitempty"`
	BreakToken int     `json:",omitempty"` // ends each row of an image but the last; 0 = none
	Video      bool    `json:",omitempty"` // frames that share patches are shown as one piece
	PerSecond  float32 `json:",omitempty"` // positions of a second of video; 0 = one of each frame

	Images Images // how its images are prepared, unless a processor's settings say otherwise
	Videos Videos `json:",omitzero"` // and its videos
}

// Images is how an image processor works by default.
type Images struct {
	Sizes     string // "area", "square", "tiles", "longest"
	Frame     string `json:",omitempty"` // what stands around placeholders: one of the constants below
	Filter    int    // as in Pillow: 1 lanczos, 2 bilinear, 3 bicubic
	MinPixels int    `json:",omitempty"`
	MaxPixels int    `json:",omitempty"`
	Mean, Std [3]float32
}

// Videos is how a video processor works by default. What it does not have is as for
// images.
type Videos struct {
	// Timed says that each group of frames that share patches is shown by itself, after
	// the second when it is seen.
	Timed     bool `json:",omitempty"`
	Whole     bool `json:",omitempty"` // the pixels are those of all frames together
	Sampled   bool `json:",omitempty"` // some frames of each second are shown
	MinPixels int
	MaxPixels int
}

// What stands around the placeholders of an image.
const (
	FrameTemplate  = ""          // the chat template writes it
	FrameParagraph = "paragraph" // its first and last token, in a paragraph of its own
	FrameTiles     = "tiles"     // its first and last token; each tile begins with its row and column
	FrameRows      = "rows"      // a token after each row, another one after the last
)

var (
	clipMean3 = [3]float32{0.48145466, 0.4578275, 0.40821073}
	clipStd3  = [3]float32{0.26862954, 0.26130258, 0.27577711}
	half3     = [3]float32{0.5, 0.5, 0.5}
)

func (v *Vision) patchValues() int { return v.Patch * v.Patch * v.Channels * v.Temporal }

// TowerRows returns the rows that room is kept for in the encoder of images or
// sounds: patches of an image of the one size that the model reads, or of a megapixel
// in a context of so many tokens; frames of a window of sound. 0 = there is none.
func (c *Config) TowerRows(context int) int {
	const pixels = 1 << 20
	if c.Audio != nil {
		return 2 * c.Audio.Rows
	}
	v := c.Vision
	if v == nil {
		return 0
	}
	n := pixels / (v.Patch * v.Patch)
	if v.Images.Sizes == "square" {
		return (v.Side / v.Patch) * (v.Side / v.Patch)
	}
	return max(v.Merge*v.Merge, min(n, context*3/4*v.Merge*v.Merge))
}

func (v *Vision) check(c *Config, bad func(field, want string, got any)) {
	for _, x := range []struct {
		field         string
		got, min, max int
	}{
		{"tower: hidden size", v.Hidden, 1, maxWidth}, {"tower: layers", v.Layers, 1, maxLayers}, {"tower: heads", v.Heads, 1, maxHeads},
		{"tower: head width", v.HeadDim, 1, maxHead}, {"tower: feed-forward width", v.FFN, 1, maxWidth},
		{"tower: patch size", v.Patch, 1, 1 << 10}, {"tower: images of a patch", v.Temporal, 1, 16}, {"tower: channels", v.Channels, 1, 16},
		{"tower: patches merged", v.Merge, 1, 64}, {"tower: positions", v.Positions, 0, 1 << 12}, {"tower: window", v.Window, 0, 1 << 12},
		{"tower: projector width", v.Projector, 0, maxWidth}, {"tower: image token", v.ImageToken, 0, maxVocab},
		{"tower: image side", v.Side, 0, 1 << 15}, {"tower: token of rows", v.BreakToken, 0, maxVocab},
	} {
		if x.got < x.min || x.got > x.max {
			bad(x.field, fmt.Sprintf("%d to %d", x.min, x.max), x.got)
		}
	}
	if towerOf(v.Tower) == nil {
		bad("tower", "a kind of tower", v.Tower)
	}
	if _, ok := acts[v.Act]; !ok {
		bad("tower: activation", "an activation", fmt.Sprintf("%q", v.Act))
	}
	if v.Theta != 0 && v.HeadDim%4 != 0 {
		bad("tower: head width", "a multiple of 4, because it is turned by row and by column", v.HeadDim)
	}
	for _, x := range []float32{v.NormEps, v.ProjEps} {
		if !(x > 0 && x < 1) {
			bad("tower: norm epsilon", "a number above 0", x)
		}
	}
	if !(v.Theta >= 0 && v.Theta < 1e30) || !(v.PerSecond >= 0 && v.PerSecond < 1e6) {
		bad("tower: rotation", "numbers, 0 or above", []float32{v.Theta, v.PerSecond})
	}
	if len(v.Deepstack) > len(c.Layers) {
		bad("tower: inner layers", fmt.Sprintf("at most the %d layers of the decoder", len(c.Layers)), len(v.Deepstack))
	}
	for i, l := range v.Deepstack {
		if l < 0 || l >= v.Layers || slices.Contains(v.Deepstack[:i], l) {
			bad("tower: inner layers", fmt.Sprintf("different layers of its %d", v.Layers), v.Deepstack)
			break
		}
	}
	if _, ok := resizes[v.Resize]; !ok {
		bad("tower: positions", "a known way to resize them", v.Resize)
	}
}

// resizes maps Vision.Resize to the numbers in plans.
var resizes = map[string]uint32{"": plan.PosExact, "corners": plan.PosCorners, "area": plan.PosArea}

// frequencies returns the inverse frequencies of the pairs of a head: of those
// that turn by row, then of those that turn by column.
func (v *Vision) frequencies() []float32 {
	n := v.HeadDim / 4
	out := make([]float32, 2*n)
	for i := range 2 * n {
		k, dim := i%n*2, v.HeadDim/2
		if v.Alternate {
			k, dim = (i%n*2+i/n)*2, v.HeadDim
		}
		e := float32(k) / float32(dim)
		out[i] = 1 / float32(math.Pow(float64(v.Theta), float64(e)))
	}
	return out
}

// checkSections verifies the parts of a head that turn by time, row and column.
func (c *Config) checkSections(bad func(field, want string, got any)) {
	if len(c.Sections) == 0 {
		return
	}
	total := 0
	for _, n := range c.Sections {
		if n < 0 || n > maxHead {
			total = -1
			break
		}
		total += n
	}
	for i := range c.Ropes {
		if len(c.Sections) != 3 || total != c.Ropes[i].Dim/2 {
			bad("rope sections", fmt.Sprintf("3 with %d pairs altogether", c.Ropes[i].Dim/2), c.Sections)
		}
	}
}

// readSections reads mrope_section and how sections are arranged.
func (o *object) readSections(c *Config, mixed bool) {
	r, _ := o.ropeObject("full_attention")
	if r == nil || r.M["mrope_section"] == nil {
		return
	}
	c.Sections = nil // wrappers and decoders may both read them
	for _, x := range r.Floats("rope.sections", "mrope_section") {
		c.Sections = append(c.Sections, int(x))
	}
	c.Mixed = r.Bool("rope.mixed", mixed, "mrope_interleaved")
}

// mropeStyle sets how the pairs of a head turn.
func (c *Config) mropeStyle(p *plan.AttentionParams) {
	if len(c.Sections) != 3 {
		return
	}
	p.RopeStyle = plan.RopeMBlocks
	if c.Mixed {
		p.RopeStyle = plan.RopeMInterleaved
	}
	p.MropeT, p.MropeH, p.MropeW = uint32(c.Sections[0]), uint32(c.Sections[1]), uint32(c.Sections[2])
}

// qwen2VL is qwen2 whose heads turn by time, row and column.
var qwen2VL = Family{
	ID: "qwen2_vl", ModelTypes: []string{"qwen2_vl_text", "qwen2_5_vl_text"},
	Arch: "qwen2vl", ReadsArch: true,
	Defaults: qwen2.Defaults,
	HF:       qwenWindows,
	GGUF:     func(h *header, c *Config) { h.readSections(c, false) },
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// qwen3VL is qwen3 in the same way.
var qwen3VL = Family{
	ID: "qwen3_vl", ModelTypes: []string{"qwen3_vl_text"},
	Arch: "qwen3vl", ReadsArch: true,
	Defaults: qwen3.Defaults,
	HF:       qwenWindows,
	GGUF:     func(h *header, c *Config) { h.readSections(c, true) },
	Prologue: embedText, Mixers: preMixers, FFNs: preFFNs, Epilogue: headText, Weights: llamaWeights,
}

// qwen3VLMoE keeps all experts of a layer in one tensor, columns first.
var qwen3VLMoE = Family{
	ID: "qwen3_vl_moe", ModelTypes: []string{"qwen3_vl_moe_text"},
	Arch: "qwen3vlmoe", ReadsArch: true,
	Defaults: qwen3MoE.Defaults,
	HF: func(o *object, c *Config) {
		mixtureWindow(o, c)
		o.readMixture(c, Mixture{Experts: 60, TopK: 4, Width: 1408})
	},
	GGUF:     func(h *header, c *Config) { h.readSections(c, true) },
	Prologue: embedText, Mixers: preMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: turnedExperts,
}

// turnedExperts are experts whose fused tensors have rows and columns exchanged.
var turnedExperts = qwenMoEWeights.with(
	turnedExpert("ffn_gate_exps", "E*F,d", "E,F,d", Origin{Name: "gate_up_proj", Of: "E,d,2*F", Rows: [2]string{"0", "F"}, Each: "E"}),
	turnedExpert("ffn_up_exps", "E*F,d", "E,F,d", Origin{Name: "gate_up_proj", Of: "E,d,2*F", Rows: [2]string{"F", "2*F"}, Each: "E"}),
	turnedExpert("ffn_down_exps", "E*d,F", "E,d,F", Origin{Name: "down_proj", Of: "E,F,d"}),
)

func turnedExpert(id, shape, in3 string, o Origin) WeightSpec {
	o.Name, o.Turn = hfLayer+"mlp.experts."+o.Name, true
	return WeightSpec{ID: id, Shape: shape, HF: []Origin{o}, GGUF: []Origin{{Name: ggufLayer + id + ".weight", Of: in3}}}
}

// sectionKeys returns the sections for a GGUF header.
func (c *Config) sectionKeys() []KV {
	if len(c.Sections) != 3 {
		return nil
	}
	var kvs []KV
	if c.Vision != nil && len(c.Vision.Deepstack) > 0 {
		kvs = append(kvs, KV{c.Arch + ".n_deepstack_layers", file.ValueOf(uint32(len(c.Vision.Deepstack)))})
	}
	n := []uint32{0, 0, 0, 0}
	for i, s := range c.Sections {
		n[i] = uint32(s)
	}
	return append(kvs, KV{c.Arch + ".rope.dimension_sections", file.ArrayOf(n)})
}

// readSections reads rope.dimension_sections: those of time, row and column, and
// a fourth that is not used.
func (h *header) readSections(c *Config, mixed bool) {
	h.key("n_deepstack_layers") // the tower's file says which layers they are
	const key = "rope.dimension_sections"
	ns, found, err := h.meta.Uints(h.key(key))
	if !h.note("sections", key, found, err) || len(ns) < 3 {
		return
	}
	for _, n := range ns[:3] {
		c.Sections = append(c.Sections, int(min(n, maxHead+1)))
	}
	c.Mixed = mixed
}
