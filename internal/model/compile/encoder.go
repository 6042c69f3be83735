package compile

import (
	"slices"

	"atenia/internal/plan"
)

// encoderFamilies are models that turn a text into vectors.
var encoderFamilies = []*Family{&bert, &roberta, &distilBERT, &nomicBERT, &modernBERT, &gemmaEmbedding}

// encoderTerms are the names that their weight maps use.
var encoderTerms = vocabulary{
	sizes: map[string]func(*Config) int{
		"encoder.context": func(c *Config) int { return c.Context },
		"encoder.skip":    func(c *Config) int { return c.PosSkip },
		"encoder.types":   func(c *Config) int { return c.encoder().Types },
		"encoder.dense_2": func(c *Config) int { return c.encoder().width(1) },
		"encoder.dense_3": func(c *Config) int { return c.encoder().width(2) },
		"encoder.labels":  func(c *Config) int { return c.encoder().Labels },
	},
	conds: map[string]func(*Config) Presence{
		"encoder.types": func(c *Config) Presence { return presentIf(c.encoder().Types > 0) },
		"encoder.bias":  func(*Config) Presence { return ByTensor },
	},
}

// encoderTypes and encoderArchs are those of them that are refused by name.
var (
	encoderTypes = map[string]string{
		"albert":     sharedLayers,
		"deberta-v2": relativePositions,
		"mpnet":      relativePositions,
	}
	encoderArchs = map[string]string{
		"jina-bert-v2":   "known, but encoders with linear biases of attention are not supported yet",
		"jina-bert-v3":   "known, but encoders with adapters for each task are not supported yet",
		"nomic-bert-moe": "known, but encoders with experts are not supported yet",
		"neo-bert":       "a different network (NeoBERT) that is not supported",
	}
)

const (
	sharedLayers      = "a different network (layers that share weights) that is not supported"
	relativePositions = "known, but attention by relative positions is not supported yet"
)

// An Encoder is a model that turns a text into one vector, or into one a token.
type Encoder struct {
	Pool      string       // of the rows of a text: one of Pools
	Normalize bool         `json:",omitempty"` // vectors have length 1
	Causal    bool         `json:",omitempty"` // a token attends only to those before it: a decoder without its head
	Types     int          `json:",omitempty"` // rows of the table of token types
	MaxTokens int          `json:",omitempty"` // of a text, special tokens included; 0 = the context
	Dense     []Projection `json:",omitempty"` // after pooling, in order
	HeadNorm  bool         `json:",omitempty"` // a layer norm follows the first projection of a classifier
	Labels    int          `json:",omitempty"` // a classifier's scores; 0 = the result is a vector

	Prompts map[string]string `json:",omitempty"` // by name: what precedes a text
	Prompt  string            `json:",omitempty"` // name of the default; "" = none
}

// A Projection is one dense layer after pooling.
type Projection struct {
	Out int
	Act string // one of headActs
}

// Pools lists the ways to make one vector of the rows of a text: all of them
// ("none"), their mean, that of the first token, or that of the last one.
var Pools = []string{poolNone, poolMean, poolFirst, poolLast}

const (
	poolNone  = "none"
	poolMean  = "mean"
	poolFirst = "cls"
	poolLast  = "last"
)

// headActs maps the functions of projections to the numbers in plans.
var headActs = map[string]uint32{"": plan.HeadLinear, "tanh": plan.HeadTanh, "gelu": plan.HeadGELU, "relu": plan.HeadReLU}

// encoder returns what c says of an encoder, nothing for a decoder.
func (c *Config) encoder() *Encoder {
	if c.Encoder == nil {
		return &Encoder{}
	}
	return c.Encoder
}

// width returns the width of vectors after the first n projections.
func (e *Encoder) width(n int) int {
	if n > len(e.Dense) {
		return 0
	}
	return e.Dense[n-1].Out
}

// Width returns the number of values of a result.
func (c *Config) Width() int {
	switch e := c.Encoder; {
	case e == nil:
		return c.Vocab
	case e.Pool == poolNone:
		return c.Hidden
	case e.Labels > 0:
		return e.Labels
	case len(e.Dense) > 0:
		return e.width(len(e.Dense))
	}
	return c.Hidden
}

// Limit returns the most tokens of a text that the model was made for, special
// tokens included.
func (e *Encoder) Limit(context int) int {
	if e.MaxTokens > 0 {
		return min(e.MaxTokens, context)
	}
	return context
}

// Before returns what precedes texts of a kind: the first of the prompts with these
// names that the model has, or its default.
func (e *Encoder) Before(names ...string) string {
	for _, n := range append(names, e.Prompt) {
		if text, ok := e.Prompts[n]; ok {
			return text
		}
	}
	return ""
}

// check reports invalid values.
func (e *Encoder) check(hidden int, bad func(field, want string, got any)) {
	if !slices.Contains(Pools, e.Pool) {
		bad("pooling", "none, mean, cls or last", e.Pool)
	}
	if len(e.Dense) > 2 {
		bad("projections", "at most 2", len(e.Dense))
	}
	for _, p := range e.Dense {
		if p.Out < 1 || p.Out > maxWidth {
			bad("projection", "a width above 0", p.Out)
		}
		if _, ok := headActs[p.Act]; !ok {
			bad("projection", "no function, tanh, gelu or relu", p.Act)
		}
	}
	if e.Labels > 0 && (len(e.Dense) != 1 || e.Dense[0].Out != hidden) {
		bad("classifier", "one projection of the hidden width before the labels", e.Dense)
	}
	for _, n := range []int{e.Types, e.Labels, e.MaxTokens} {
		if n < 0 || n > maxVocab {
			bad("encoder", "sizes of 0 or more", n)
		}
	}
}

// The ops that follow the last layer of an encoder.
var (
	poolOp     = plan.LayerOp{Op: plan.OpPool, Out: "v", In: []string{"x", "rows"}, Tag: "pool"}
	unitOp     = plan.LayerOp{Op: plan.OpPool, Out: "u", In: []string{"x"}, Tag: "normalize"}
	headNormOp = plan.LayerOp{Op: plan.OpNorm, Out: "hn", In: []string{"x"}, W: w{"weight": "cls_norm", "bias": "cls_norm_bias"}, Tag: "cls_norm"}
)

func denseOp(id, out string) plan.LayerOp {
	return plan.LayerOp{Op: plan.OpLMHead, Out: out, In: []string{"x"}, W: w{"weight": id, "bias": id + "_bias"}, Tag: id}
}

// denseIDs are the weights of projections of vectors.
var denseIDs = [...]string{"dense_2", "dense_3"}

// epilogues returns the programs after the last layer: over all rows, then the
// choice of rows, then over those. A decoder chooses rows first, so that the head
// runs on few, and so do encoders but for the mean of a text, which needs all.
func (c *Config) epilogues(fam *Family) (all, choice, chosen plan.Program) {
	e := c.Encoder
	if e == nil {
		return nil, gather, fam.Epilogue
	}
	for _, op := range fam.Epilogue { // the last norm
		if op.Op != plan.OpLMHead {
			chosen = append(chosen, op)
		}
	}
	choice = gather
	if e.Pool == poolMean {
		all, choice, chosen = chosen, plan.Program{poolOp}, nil
	}
	for _, op := range e.steps() { // each reads what the one before it wrote
		if n := len(chosen); n > 0 {
			op.In = []string{chosen[n-1].Out}
		}
		chosen = append(chosen, op)
	}
	return all, choice, chosen
}

// steps are what follows pooling.
func (e *Encoder) steps() (out []plan.LayerOp) {
	switch {
	case e.Pool == poolNone:
	case e.Labels > 0:
		out = append(out, denseOp("cls", "c"))
		if e.HeadNorm {
			out = append(out, headNormOp)
		}
		return append(out, denseOp("cls_out", "scores"))
	default:
		for i := range e.Dense {
			out = append(out, denseOp(denseIDs[i], denseIDs[i]))
		}
	}
	if e.Normalize {
		out = append(out, unitOp)
	}
	return out
}

// poolParams returns the parameters of a pooling op.
func (e *Encoder) poolParams(tag string) *plan.PoolParams {
	if tag == unitOp.Tag {
		return &plan.PoolParams{Kind: plan.PoolRows, Normalize: 1}
	}
	return &plan.PoolParams{Kind: plan.PoolMean}
}

// headParams returns the parameters of a projection, nil for the head of a
// decoder.
func (c *Config) headParams(tag string) *plan.HeadParams {
	e := c.Encoder
	p := &plan.HeadParams{Dim: uint32(c.Hidden), Scale: 1}
	switch tag {
	case "cls", "dense_2":
		p.Vocab, p.Act = uint32(e.width(1)), headActs[e.Dense[0].Act]
	case "dense_3":
		p.Dim, p.Vocab, p.Act = uint32(e.width(1)), uint32(e.width(2)), headActs[e.Dense[1].Act]
	case "cls_out":
		p.Vocab = uint32(e.Labels)
	default:
		return nil
	}
	return p
}

// encoderCols returns the width of an op's output, 0 for that of all others.
func (c *Config) encoderCols(op plan.Opcode, tag string) uint32 {
	if c.Encoder == nil {
		return 0
	}
	if op == plan.OpPool && tag == unitOp.Tag {
		return uint32(c.Width())
	}
	if op == plan.OpLMHead {
		if p := c.headParams(tag); p != nil {
			return p.Vocab
		}
	}
	return 0
}

// noRope removes the rotary tables of models with learned positions.
func (c *Config) noRope() {
	c.Ropes = nil
	for i := range c.Layers {
		c.Layers[i].Rope = ""
	}
}
