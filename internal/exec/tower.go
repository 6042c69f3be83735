package exec

import (
	"fmt"

	"atenia/internal/memory/pack"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
)

// Patches are the input of a tower: an image, or the frames of a video, cut into
// squares.
type Patches struct {
	// Grid is the frames, rows and columns of patches. A frame may stand for
	// several images, which its patches hold.
	Grid [3]int
	// Values has a row for each patch: frame by frame and, inside, by square blocks
	// of patches that become one token, rows of blocks from top to bottom.
	Values []float32
}

// A Tower runs the vision_encode plan of a model. It has its own buffers, sized
// by patches. One goroutine at a time may use it.
type Tower struct {
	x     *Executor
	p     *program
	merge int  // side of the block of patches of a token
	cols  int  // values of a patch
	sound bool // frames of a sound in place of patches: two become one row
	side  int  // windows of some layers, in tokens; 0 = none
	step  Step
	input Patches
	back  []int32 // row of the step's tokens → token
}

// NewTower binds the vision_encode plan of a model. Config.MaxTokens is the
// patches of the largest image. The plan must be one of a model that
// [pass.CheckHandoffs] accepts.
func NewTower(plans *plan.ModelPlans, w Weights, cfg Config) (*Tower, error) {
	x, t, err := prepareTower(plans, cfg)
	if err != nil {
		return nil, err
	}
	if err := x.start(t.bind(plans, w), fmt.Sprintf("an image of %d patches", cfg.MaxTokens), "a smaller image needs less"); err != nil {
		return nil, err
	}
	return t, nil
}

func prepareTower(plans *plan.ModelPlans, cfg Config) (*Executor, *Tower, error) {
	cfg = cfg.withDefaults()
	cfg.Context = cfg.MaxTokens
	if err := cfg.validate(); err != nil {
		return nil, nil, err
	}
	c := plans.VisionEncode
	if c == nil {
		return nil, nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the model has no tower")
	}
	if _, err := pass.Route(c, 1, onCPU); err != nil {
		return nil, nil, err
	}
	if err := pass.CheckHandoffs(plans); err != nil {
		return nil, nil, err
	}
	x := &Executor{cfg: cfg, weights: pack.New(cfg.Pack)}
	t := &Tower{x: x}
	if err := t.read(&c.Plan); err != nil {
		return nil, nil, err
	}
	return x, t, nil
}

// read finds the shape of images or sounds in a tower's program.
func (t *Tower) read(c *plan.ExecutionPlan) error {
	t.merge = 1
	for i := range c.Instructions {
		ins := &c.Instructions[i]
		p, err := c.Params[ins.Param].Decode()
		if err != nil {
			return err
		}
		switch p := p.(type) {
		case *plan.MergeParams:
			t.merge = int(p.Merge)
		case *plan.PatchParams:
			if ins.Op == plan.OpConvStem {
				t.sound, t.cols = true, int(p.Channels)
				continue
			}
			t.cols = int(p.Patch * p.Patch * p.Channels * p.Temporal)
		case *plan.AttentionParams:
			if p.Windows != 0 {
				t.side = int(p.Window)
			}
		}
	}
	return nil
}

// TowerSizing returns the sizes of a tower's step over so many patches, or frames of a sound.
func TowerSizing(c *plan.CompiledPlan, patches int) (plan.Sizing, error) {
	var t Tower
	err := t.read(&c.Plan)
	return t.sizing(uint64(patches)), err
}

func (t *Tower) sizing(patches uint64) plan.Sizing {
	s := plan.Sizing{Patches: patches, Merged: patches / uint64(t.merge*t.merge)}
	if t.sound {
		s.Merged = (patches + 1) / 2
	}
	return s
}

func (t *Tower) bind(plans *plan.ModelPlans, w Weights) error {
	all := []stage{{c: plans.VisionEncode, size: t.sizing(uint64(t.x.cfg.MaxTokens)), to: &t.p}}
	return t.x.bindStages(all, w)
}

// Encode runs the tower over one image or video. Counters and the like are of
// the step, which may be nil.
func (t *Tower) Encode(p *Patches, s *Step) (*Encoded, error) {
	if s == nil {
		s = &t.step
	}
	if err := t.check(p); err != nil {
		return nil, err
	}
	t.lay(p, s)
	if err := t.run(s); err != nil {
		return nil, err
	}
	e := &Encoded{Grid: [3]int{p.Grid[0], p.Grid[1] / t.merge, p.Grid[2] / t.merge}}
	for i, r := range t.p.outs {
		rows := t.restore(r.f32(s), int(r.cols))
		if i == 0 {
			e.Rows = rows
		} else {
			e.Deep = append(e.Deep, rows)
		}
	}
	return e, nil
}

// EncodeSound runs the tower over the features of a sound, [frames, cols], and
// returns its rows, of which there are half as many, rounded up. They are valid
// until the next call.
func (t *Tower) EncodeSound(features []float32) ([]float32, error) {
	s, n := &t.step, 0
	if t.cols > 0 {
		n = len(features) / t.cols
	}
	switch {
	case !t.sound:
		return nil, stepErrorf("the model has no encoder of sound")
	case n == 0 || n*t.cols != len(features):
		return nil, stepErrorf("%d features, want frames of %d", len(features), t.cols)
	case n > t.x.cfg.MaxTokens:
		return nil, stepErrorf("%d frames of sound, at most %d", n, t.x.cfg.MaxTokens)
	}
	s.rows, s.merged = n, (n+1)/2
	t.input.Values = features
	s.patches = &t.input
	s.Runs = append(s.Runs[:0], Run{Len: s.merged})
	s.rowRun = s.rowRun[:0]
	for range s.merged {
		s.rowRun = append(s.rowRun, 0)
	}
	if err := t.run(s); err != nil {
		return nil, err
	}
	return t.p.outs[0].f32(s), nil
}

// run runs the tower's plan over the rows of a step.
func (t *Tower) run(s *Step) error {
	s.x = t.x
	if err := s.layRuns(t.x); err != nil {
		return err
	}
	t.x.limit(s.Threads)
	for _, r := range t.x.ropes {
		r.fill(s)
	}
	return t.x.stage(t.p, s, true)
}

// restore returns rows of a step in the order of the image.
func (t *Tower) restore(rows []float32, cols int) []float32 {
	out := make([]float32, len(rows))
	for i, to := range t.back {
		copy(out[int(to)*cols:(int(to)+1)*cols], rows[i*cols:(i+1)*cols])
	}
	return out
}

// Close stops the workers and frees the memory.
func (t *Tower) Close() { t.x.Close() }

// MaxPatches returns the patches of the largest image that fits.
func (t *Tower) MaxPatches() int { return t.x.cfg.MaxTokens }

func (t *Tower) check(p *Patches) error {
	for i, n := range p.Grid {
		if n < 1 || i > 0 && n%t.merge != 0 {
			return stepErrorf("a grid of %v patches, want multiples of %d", p.Grid, t.merge)
		}
	}
	if p.Grid[0] > t.x.cfg.MaxTokens || p.Grid[1] > t.x.cfg.MaxTokens || p.Grid[2] > t.x.cfg.MaxTokens {
		return stepErrorf("a grid of %v patches, at most %d altogether", p.Grid, t.x.cfg.MaxTokens)
	}
	n := p.Grid[0] * p.Grid[1] * p.Grid[2]
	if n > t.x.cfg.MaxTokens {
		return stepErrorf("a grid of %v has %d patches, at most %d", p.Grid, n, t.x.cfg.MaxTokens)
	}
	if len(p.Values) != n*t.cols {
		return stepErrorf("a grid of %v patches has %d values, want %d for each patch", p.Grid, len(p.Values), t.cols)
	}
	return nil
}

// lay orders the patches: each frame is a run and, if some layers attend within
// windows, the patches of a window follow each other (arXiv 2502.13923, section
// 2.1.1). Windows at the right and lower border may be smaller.
func (t *Tower) lay(p *Patches, s *Step) {
	m := t.merge
	cell := m * m
	h, w := p.Grid[1]/m, p.Grid[2]/m
	side := t.side
	if side == 0 {
		side = max(h, w)
	}
	s.rows, s.merged, s.patches = p.Grid[0]*h*w*cell, p.Grid[0]*h*w, p
	s.Runs, s.windows = s.Runs[:0], s.windows[:0]
	s.order, s.places, s.rowRun, s.rowWindow, t.back = s.order[:0], s.places[:0], s.rowRun[:0], s.rowWindow[:0], t.back[:0]
	for f := range p.Grid[0] {
		s.Runs = append(s.Runs, Run{First: len(s.order), Len: h * w * cell})
		for top := 0; top < h; top += side {
			for left := 0; left < w; left += side {
				first := len(s.order)
				for y := top; y < min(top+side, h); y++ {
					for x := left; x < min(left+side, w); x++ {
						token := (f*h+y)*w + x
						t.back = append(t.back, int32(token))
						for k := range cell {
							s.order = append(s.order, int32(token*cell+k))
							s.places = append(s.places, [3]int32{int32(f), int32(y*m + k/m), int32(x*m + k%m)})
							s.rowRun = append(s.rowRun, int32(f))
							s.rowWindow = append(s.rowWindow, int32(len(s.windows)))
						}
					}
				}
				s.windows = append(s.windows, Run{First: first, Len: len(s.order) - first})
			}
		}
	}
}
