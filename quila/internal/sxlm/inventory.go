package sxlm

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// A row is one tensor that a file has to have.
type row struct {
	block int
	name  string
	kind  Kind
	dims  []int
	hold  hold
}

// A hold says where a model has a tensor.
type hold uint8

const (
	inText     hold = iota // configuration, tokenizer, tree, hashes: made from other fields
	inWeights              // converted to float32
	inMask                 // weights that are bits in a file
	inState                // Model.States
	inOther                // Model.Other
	inMoments              // Model.Moments, absent where they are zero
	inEngram               // of Model.Engram
	inIgnored              // neither read nor kept [R-5.1a]
	inPersona              // Model.Persona
	inOptional             // inMoments, and a file may lack it
)

// free are names whose tensors the file chooses: networks of VQ encoders and
// decoders, and the teacher of the consistency model.
var free = regexp.MustCompile(`^(vq\.(image|audio|video)\.(enc|dec)|cm\.teacher)\.[a-z0-9_.]+\.(w|b)$`)

// freeBlock is the block of a free name.
func freeBlock(name string) int {
	if strings.HasPrefix(name, "vq.") {
		return 4
	}
	return 1
}

// A shape is what the inventory depends on beside the configuration.
type shape struct {
	kind       Kind // of parameters
	edges      int
	optional   int // neurons with their own mHC matrix
	engramRows int
	inference  bool
	text       map[string]int // lengths of the byte tensors
	late       map[string]bool
}

// texts are the tensors of bytes, by block.
var texts = []struct {
	block int
	name  string
}{{1, "meta.config"}, {1, "meta.writer"}, {1, "cdcl.rules"}, {4, "tokenizer"}, {4, "blink.index"}}

// inventory lists the tensors of a file by block and name (section 6.5), without
// those of free names.
func inventory(c *config.Config, s shape) []row {
	v := &lister{c: c, s: s}
	for _, t := range texts {
		h := inText
		if t.name == "cdcl.rules" {
			h = inOther
		}
		v.add(t.block, t.name, U8, h, s.text[t.name])
	}
	for _, spec := range weights.Inventory(c, s.edges) {
		v.weight(spec)
	}
	v.add(1, "n.mhc_opt.id", U32, inOther, s.optional)
	v.add(1, "n.mhc_opt.w", s.kind, inOther, s.optional, 2, 2)
	v.moments("n.mhc_opt.w", inMoments, s.optional, 2, 2)
	for m := range c.Modalities {
		v.add(1, "boundary."+weights.Modalities[m]+".dst", U32, inOther, c.N)
		v.add(1, "boundary."+weights.Modalities[m]+".pos", U32, inOther, c.N)
	}
	v.add(1, "louvain.epoch", U64, inOther, 1)
	v.states()
	v.add(2, "s7.step", U64, inText, 1)
	// With several codebooks the three tensors about them have them as first axis.
	book := func(n int) []int {
		if c.Modalities > 1 {
			return []int{c.Modalities, n}
		}
		return []int{n}
	}
	v.add(4, "codebook.mean", F32, inOther, book(c.DE)...)
	v.add(4, "codebook.usage", U64, inOther, book(c.V)...)
	v.add(4, "codebook.sha256", U8, inText, book(32)...)
	v.add(6, "engram.table", F16, inEngram, s.engramRows, c.D)
	v.add(6, "engram.mul", U64, inEngram, engramProbes)
	v.add(6, "engram.w_k", F32, inEngram, c.D, c.D)
	v.add(6, "engram.w_v", F32, inEngram, c.D, c.D)
	v.add(7, "persona", F32, inPersona, c.PersonaDim)
	slices.SortFunc(v.rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.block, b.block), strings.Compare(a.name, b.name)) })
	return v.rows
}

type lister struct {
	c    *config.Config
	s    shape
	rows []row
}

func (v *lister) add(block int, name string, k Kind, h hold, dims ...int) {
	v.rows = append(v.rows, row{block, name, k, dims, h})
}

// moments adds those of Adam for a tensor.
func (v *lister) moments(name string, h hold, dims ...int) {
	if v.s.inference {
		return
	}
	for _, prefix := range []string{momentM, momentV} {
		if h != inOptional || v.s.late[prefix+name] {
			v.add(2, prefix+name, F32, h, dims...)
		}
	}
}

// Prefixes of the moments.
const (
	momentM = "s7.m."
	momentV = "s7.v."
)

// weight adds a float tensor of the network, and its moments.
func (v *lister) weight(w weights.Spec) {
	dims := w.Dims
	if len(dims) == 0 {
		dims = []int{1} // as numpy has it
	}
	kind := F32
	if !w.Single {
		kind = v.s.kind
	}
	switch {
	case w.Block == 3: // has its own container; its moments have not
		v.moments(w.Name, inMoments, dims[0], product(dims[1:]))
		return
	case w.Name == "s4.receptive":
		v.add(2, w.Name, U8, inMask, v.c.N, (v.c.D+7)/8)
		return
	}
	v.add(w.Block, w.Name, kind, inWeights, dims...)
	switch {
	case w.Block == 2:
		v.moments(w.Name, inOptional, dims...)
	case w.Block == 1 && w.Name != "cm.sigma_d" && w.Name != "evict.w" && !strings.HasPrefix(w.Name, "cm.ema."):
		v.moments(w.Name, inMoments, dims...)
	}
}

// Sizes of the states.
const (
	historyTicks  = 16 // s1.history
	utilityTicks  = 32 // s8.history
	stateFrames   = 8  // s3.frames
	traceGroups   = 7  // s7.lambda, s7.trace
	engramProbes  = 8
	attentionMost = 5 // ANALYSIS
)

func (v *lister) states() {
	c := v.c
	n, d := c.N, c.D
	add := func(h hold, k Kind, name string, dims ...int) { v.add(2, name, k, h, dims...) }
	add(inState, F32, "s1.activation", n)
	add(inState, F32, "s1.history", n, historyTicks)
	add(inState, U8, "s1.refractory", n)
	for _, name := range []string{"hidden", "ssm_state", "drc_acc", "residual"} {
		add(inIgnored, F32, "s2."+name, n, d)
	}
	if c.SSM == "recurrent" {
		add(inIgnored, F32, "s2.ssm_rec", n, d, c.NS)
	}
	if c.WKV == "rwkv4" {
		add(inIgnored, F32, "s2.wkv_den", n, d)
	}
	add(inState, F16, "s3.frames", n, stateFrames, d)
	add(inState, F16, "s3.momentum", n, d)
	add(inState, U8, "s4.attention_type", n)
	add(inState, U32, "s4.graph_pos", n, 2)
	add(inIgnored, F32, "s5.conf", n)
	add(inIgnored, F32, "s5.reliability", n)
	add(inIgnored, F32, "s5.uncertainty", n, d)
	add(inState, F32, "s6.routing", v.s.edges)
	add(inState, F16, "s6.neighbour", n, d)
	add(inState, U8, "s6.active", v.s.edges)
	add(inState, F32, "s7.lambda", n, traceGroups)
	add(inState, F32, "s7.trace", n, traceGroups)
	add(inState, F32, "s8.utility", n)
	add(inState, F32, "s8.history", n, utilityTicks)
	add(inState, F32, "s8.evict", n)
	add(inState, F32, "s8.u_dim", n, d)
	add(inState, F32, "s8.h_dim", n, d)
}
