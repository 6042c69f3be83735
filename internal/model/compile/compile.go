package compile

import (
	"fmt"
	"slices"

	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/tensor"
)

// Options are the choices left open by a model. The zero value works.
type Options struct {
	KVType     tensor.DType // elements of the key/value cache; Invalid = F16 when weights are quantized, else F32
	PageTokens int          // tokens a cache page holds; 0 = 16
	NoFuse     bool         // do not fuse instructions
	Early      int          // layers of the plan that guesses tokens, [plan.ModelPlans.Early]; 0 = there is none

	// Pool makes an encoder of the model, or replaces the pooling of one: one of
	// Pools. Normalize says whether its vectors are normalized; ByTensor = as the
	// model says, true for decoders.
	Pool      string
	Normalize Presence
}

// encode applies the options of encoders.
func (o *Options) encode(c *Config) {
	if o.Pool != "" {
		if c.Encoder == nil {
			c.Encoder = &Encoder{Causal: true, Normalize: true}
		}
		c.Encoder.Pool = o.Pool
	}
	if c.Encoder != nil && o.Normalize != ByTensor {
		c.Encoder.Normalize = o.Normalize == Present
	}
}

const (
	defaultPage = 16
	maxPage     = 1 << 12
)

func (o Options) fill(d *file.Description) (Options, error) {
	if o.PageTokens == 0 {
		o.PageTokens = defaultPage
	}
	if o.PageTokens < 1 || o.PageTokens > maxPage {
		return o, &configError{File: "options", Field: "page size", Want: fmt.Sprintf("1 to %d tokens", maxPage), Got: fmt.Sprint(o.PageTokens)}
	}
	if o.KVType == tensor.Invalid {
		o.KVType = tensor.F32
		if slices.ContainsFunc(d.Tensors, func(t file.Tensor) bool { return t.View.DType.Quantized() }) {
			o.KVType = tensor.F16
		}
	}
	if !slices.Contains(kvTypes, o.KVType) {
		return o, &configError{File: "options", Field: "key/value cache", Want: fmt.Sprintf("elements of %v", kvTypes), Got: o.KVType.String()}
	}
	return o, nil
}

// A Model is a compiled model: its plans, and the recipes for the weights they
// name.
type Model struct {
	Family      string
	Config      Config
	Plans       plan.ModelPlans
	Weights     map[string]Weight // by the names that plans use: "token_embd", "blk.3.attn_q", "const.rope.full"
	Diagnostics []plan.PlanDiagnostic
	Provenance  map[string]string // field of the configuration → "file KEY", "default" or "derived"

	family *Family
	tower  *imageTower // nil = none
	reg    *registry
}

// Compile turns a model file into plans. It reads names, shapes and the
// configuration, and only those tensor values that belong to the configuration,
// such as frequency divisors. A description without tensors compiles too, with
// the usual names of the family's files.
//
// Its errors are [*UnsupportedModelError], [*configError],
// [*weightBindingError], [*List] of these, those of package file, and
// those of package plan.
func Compile(d *file.Description, opt Options) (*Model, error) { return published.compile(d, opt) }

func (r *registry) compile(d *file.Description, opt Options) (*Model, error) {
	opt, err := opt.fill(d)
	if err != nil {
		return nil, err
	}
	tensors := make(map[string]*file.Tensor, len(d.Tensors))
	for i := range d.Tensors {
		tensors[d.Tensors[i].Name] = &d.Tensors[i]
	}
	n, err := r.normalize(d, tensors, opt)
	if err != nil {
		return nil, err
	}
	fam := n.fam
	var tower *imageTower
	if n.c.Vision != nil {
		tower = towerOf(n.c.Vision.Tower)
	}
	weights, notes, err := bind(n.c, fam, tower, tensors)
	if err != nil && d.Absent != nil {
		return nil, d.Absent // rather than its tensors
	}
	if err != nil {
		return nil, err
	}
	m := &Model{Family: fam.ID, Config: *n.c, Weights: weights, Diagnostics: append(n.notes, notes...), Provenance: n.prov, family: fam, tower: tower, reg: r}
	states, err := statesOf(n.c, opt)
	if err != nil {
		return nil, err
	}
	res := &resolver{c: &m.Config, weights: weights, states: states}
	if fam.Sound != nil {
		if m.Plans.VisionEncode, err = lowerSound(fam, res, opt); err != nil {
			return nil, fmt.Errorf("%s: encoder: %w", fam.ID, err)
		}
	}
	if m.Plans.Prefill, err = lower(plan.ModePrefill, fam, res, states, opt); err != nil {
		return nil, fmt.Errorf("%s: prefill: %w", fam.ID, err)
	}
	if tower != nil {
		if err := m.compileVision(tower, res, opt); err != nil {
			return nil, err
		}
	}
	if n.c.Encoder != nil {
		return m, nil
	}
	if m.Plans.Decode, err = lower(plan.ModeDecode, fam, res, states, opt); err != nil {
		return nil, fmt.Errorf("%s: decode: %w", fam.ID, err)
	}
	if opt.Early > 0 {
		if m.Plans.Early, err = lowerEarly(fam, res, states, opt); err != nil {
			return nil, fmt.Errorf("%s: early layers: %w", fam.ID, err)
		}
	}
	return m, nil
}

// lowerEarly builds the plan of the first layers: what they leave goes through the last
// norm and the head as if it were the last layer's.
func lowerEarly(fam *Family, r *resolver, states *layerStates, opt Options) (*plan.CompiledPlan, error) {
	if n := len(r.c.Layers); opt.Early >= n {
		return nil, &configError{File: "options", Field: "early layers", Want: fmt.Sprintf("1 to %d, fewer than the model has", n-1), Got: fmt.Sprint(opt.Early)}
	}
	early, c := *r, *r.c
	c.Layers = c.Layers[:opt.Early]
	early.c = &c
	return lower(plan.ModeDecode, fam, &early, states, opt)
}

// normalized is the result of the first step.
type normalized struct {
	fam   *Family
	c     *Config
	prov  map[string]string
	notes []plan.PlanDiagnostic
}

func (r *registry) normalize(d *file.Description, tensors map[string]*file.Tensor, opt Options) (*normalized, error) {
	switch d.Format {
	case file.HuggingFace:
		return r.normalizeHF(d, opt)
	case file.GGUF:
		return r.normalizeGGUF(d, tensors, opt)
	}
	return nil, &UnsupportedModelError{Key: "format", Name: d.Format, Why: "such a file has no configuration", Supported: []string{file.GGUF, file.HuggingFace}}
}

// lower builds the plan of one mode and runs the compiler passes over it.
func lower(mode plan.Mode, fam *Family, r *resolver, states *layerStates, opt Options) (*plan.CompiledPlan, error) {
	b := plan.NewBuilder(mode, r)
	rows := plan.RowsTokens
	if mode == plan.ModeDecode {
		rows = plan.RowsSlots
	}
	images := r.c.Vision != nil && mode == plan.ModePrefill
	var x plan.RegisterRef
	if images {
		x = inputImages(b, r.c)
	} else {
		x = b.Input("tokens", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: rows, Cols: 1})
	}
	if mode == plan.ModePrefill {
		b.Input("rows", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: plan.RowsRequested, Cols: 1})
	}
	for _, s := range states.all {
		b.State(s)
	}
	if !images {
		x = b.Lower(fam.Prologue, -1, x, rows)
	}
	for i, l := range r.c.Layers {
		x = b.Lower(fam.Mixers[l.Mixer], i, x, rows)
		x = b.Lower(fam.FFNs[l.FFN], i, x, rows)
		if images && i < len(r.c.Vision.Deepstack) {
			x = b.Lower(inject(i), i, x, rows)
		}
	}
	all, choice, chosen := r.c.epilogues(fam)
	x = b.Lower(all, -1, x, rows)
	if mode == plan.ModePrefill {
		rows = plan.RowsRequested
		x = b.Lower(choice, -1, x, rows)
	}
	return finish(b, opt, b.Lower(chosen, -1, x, rows))
}

// finish runs the compiler passes over a plan.
func finish(b *plan.Builder, opt Options, outs ...plan.RegisterRef) (*plan.CompiledPlan, error) {
	p, err := b.Build(outs...)
	if err != nil {
		return nil, err
	}
	return pass.Compile(p, pass.Options{NoFuse: opt.NoFuse})
}
