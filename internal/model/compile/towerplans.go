package compile

import (
	"fmt"
	"math"
	"slices"

	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/tensor"
)

// A towerResolver instantiates the programs of a tower.
type towerResolver struct {
	c       *Config
	v       *Vision
	weights map[string]Weight
}

// Params implements [plan.Resolver].
func (r *towerResolver) Params(op plan.Opcode, tag string, layer int) (plan.Params, error) {
	v := r.v
	kind := plan.NormLayer
	if v.RMS {
		kind = plan.NormRMS
	}
	switch op {
	case plan.OpPatchEmbed:
		return &plan.PatchParams{Patch: uint32(v.Patch), Temporal: uint32(v.Temporal), Channels: uint32(v.Channels), Dim: uint32(v.Hidden),
			GridSide: uint32(v.Positions), Resize: resizes[v.Resize], Merge: uint32(v.Merge)}, nil
	case plan.OpNorm:
		return &plan.NormParams{Dim: uint32(v.Hidden), Kind: kind, Eps: v.NormEps, Groups: 1}, nil
	case plan.OpAttention:
		return r.attention(layer), nil
	case plan.OpFFN:
		return &plan.FFNParams{Dim: uint32(v.Hidden), Hidden: uint32(v.FFN), Act: acts[v.Act], Gated: toFlag(v.Gated)}, nil
	case plan.OpResidualAdd:
		return &plan.AddParams{Scale: 1}, nil
	case plan.OpSpatialMerge:
		p := &plan.MergeParams{Merge: uint32(v.Merge), PostShuffleNorm: toFlag(v.Joined), Act: plan.ActGELUErf, Kind: kind, Eps: v.ProjEps, Pool: toFlag(v.Pool)}
		if v.Pool {
			p.Kind, p.Offset = plan.NormRMS, r.c.NormPlus
		}
		return p, nil
	case plan.OpDeepstackTap:
		return &plan.MergeParams{Merge: uint32(v.Merge), Layer: uint32(layer), PostShuffleNorm: 1, Act: plan.ActGELUErf, Kind: kind, Eps: v.ProjEps}, nil
	}
	return nil, fmt.Errorf("%s (%s) has no parameters in a tower", op, tag)
}

func (r *towerResolver) attention(layer int) *plan.AttentionParams {
	v := r.v
	p := &plan.AttentionParams{
		Heads: uint32(v.Heads), KVHeads: uint32(v.Heads), HeadDim: uint32(v.HeadDim), RopeScale: 1,
		Scale: float32(1 / math.Sqrt(float64(v.HeadDim))),
	}
	if v.Theta != 0 {
		p.RopeStyle, p.RopeDim = plan.RopeMBlocks, uint32(v.HeadDim)
		p.MropeH, p.MropeW = uint32(v.HeadDim/4), uint32(v.HeadDim/4)
	}
	if v.Window > 0 && !slices.Contains(v.Full, layer) {
		p.Windows, p.Window = 1, uint32(v.Window)
	}
	return p
}

// Cols implements [plan.Resolver].
func (r *towerResolver) Cols(op plan.Opcode, _ string, _ int) (uint32, error) {
	if op == plan.OpSpatialMerge || op == plan.OpDeepstackTap {
		return uint32(r.c.Hidden), nil
	}
	return uint32(r.v.Hidden), nil
}

// State implements [plan.Resolver]: a tower keeps nothing.
func (r *towerResolver) State(plan.Opcode, string, int) (plan.StateKey, bool) {
	return plan.StateKey{}, false
}

// Weight implements [plan.Resolver].
func (r *towerResolver) Weight(id string, layer int) (string, bool) {
	name := canonical(id, layer)
	if id == towerRopeID {
		name = towerRopeName
	}
	_, ok := r.weights[name]
	return name, ok
}

const towerRopeName = "const.rope.tower"

// lowerTower builds the vision_encode plan: patches to image rows and, for each
// inner layer that the decoder reads, others.
func lowerTower(t *imageTower, r *towerResolver, opt Options) (*plan.CompiledPlan, error) {
	b := plan.NewBuilder(plan.ModeVisionEncode, r)
	x := b.Input("patches", plan.RegSpec{DType: tensor.F32, Rank: 2, Rows: plan.RowsPatches, Cols: uint32(r.v.patchValues())})
	x = b.Lower(t.Prologue, -1, x, plan.RowsPatches)
	deep := map[int]plan.RegisterRef{}
	for i := range r.v.Layers {
		x = b.Lower(t.Block, i, x, plan.RowsPatches)
		if slices.Contains(r.v.Deepstack, i) {
			deep[i] = b.Lower(t.Tap, i, x, plan.RowsMerged)
		}
	}
	for i := range t.Epilogue {
		rows := plan.RowsPatches
		if i == len(t.Epilogue)-1 {
			rows = plan.RowsMerged
		}
		op := t.Epilogue[i]
		op.In = []string{"x"}
		x = b.Lower(plan.Program{op}, -1, x, rows)
	}
	outs := []plan.RegisterRef{x}
	for _, l := range r.v.Deepstack {
		outs = append(outs, deep[l])
	}
	return finish(b, opt, outs...)
}

// lowerScatter builds the plan that makes rows of tokens and images.
func lowerScatter(fam *Family, r *resolver, opt Options) (*plan.CompiledPlan, error) {
	b := plan.NewBuilder(plan.ModeScatter, r)
	x := b.Input("tokens", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: plan.RowsTokens, Cols: 1})
	b.Input("image", plan.RegSpec{DType: tensor.F32, Rank: 2, Rows: plan.RowsMerged, Cols: uint32(r.c.Hidden)})
	inputIndex(b)
	x = b.Lower(fam.Prologue, -1, x, plan.RowsTokens)
	x = b.Lower(plan.Program{{Op: plan.OpVisionScatter, Out: "s", In: []string{"x", "image", "index"}, Tag: "scatter"}}, -1, x, plan.RowsTokens)
	return finish(b, opt, x)
}

// inputIndex declares the image row of each token row.
func inputIndex(b *plan.Builder) {
	b.Input("index", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: plan.RowsTokens, Cols: 1})
}

// inputImages declares what prefill takes from the stages before it, and
// returns the rows.
func inputImages(b *plan.Builder, c *Config) plan.RegisterRef {
	x := b.Input("rows_in", plan.RegSpec{DType: tensor.F32, Rank: 2, Rows: plan.RowsTokens, Cols: uint32(c.Hidden)})
	for i := range c.Vision.Deepstack {
		b.Input(deepName(i), plan.RegSpec{DType: tensor.F32, Rank: 2, Rows: plan.RowsMerged, Cols: uint32(c.Hidden)})
	}
	if len(c.Vision.Deepstack) > 0 {
		inputIndex(b)
	}
	return x
}

func deepName(i int) string { return fmt.Sprintf("deep%d", i) }

// inject adds the features of inner layer i of the tower after layer i of the
// decoder.
func inject(i int) plan.Program {
	return plan.Program{{Op: plan.OpDeepstackInject, Out: "d", In: []string{"x", deepName(i), "index"}, Tag: "inject"}}
}

// compileVision adds the plans of images.
func (m *Model) compileVision(t *imageTower, res *resolver, opt Options) error {
	var err error
	c := &m.Config
	if m.Plans.VisionEncode, err = lowerTower(t, &towerResolver{c, c.Vision, m.Weights}, opt); err != nil {
		return fmt.Errorf("%s: vision_encode: %w", t.ID, err)
	}
	if m.Plans.Scatter, err = lowerScatter(m.family, res, opt); err != nil {
		return fmt.Errorf("%s: scatter: %w", t.ID, err)
	}
	hand := func(from plan.Mode, out int, to plan.Mode, in int) {
		a, b := m.Plans.ByMode(from), m.Plans.ByMode(to)
		h := plan.Handoff{From: from, To: to, FromReg: a.Plan.Outputs[out], ToReg: b.Plan.Inputs[in]}
		r := b.Plan.Registers[h.ToReg]
		h.DType, h.Layout, h.Cols, h.ReleaseAfter = r.DType, r.Layout, r.Cols, b.Live.LastRead[h.ToReg]
		m.Plans.Handoffs = append(m.Plans.Handoffs, h)
	}
	hand(plan.ModeVisionEncode, 0, plan.ModeScatter, 1)
	hand(plan.ModeScatter, 0, plan.ModePrefill, 0)
	for i := range c.Vision.Deepstack {
		hand(plan.ModeVisionEncode, 1+i, plan.ModePrefill, 1+i)
	}
	return pass.CheckHandoffs(&m.Plans)
}
