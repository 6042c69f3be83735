package exec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"atenia/internal/kernel"
	"atenia/internal/kernel/chunk"
	"atenia/internal/machine/ledger"
	"atenia/internal/machine/pool"
	"atenia/internal/memory/pack"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/tensor"
)

// A Config sizes an executor. The zero value works.
type Config struct {
	Threads   int // workers; 0 = one
	MaxTokens int // rows of one step; 0 = 512
	MaxLogits int // rows of one step whose logits may be requested; 0 = 8, at most MaxTokens
	Context   int // largest position plus one; 0 = 4096
	// Precise keeps activations in float32 where a product of quantized
	// weights would round them to 8 bits: slower, and within float32 rounding
	// of the dequantized weights.
	Precise bool
	// Halves rounds the activations that BF16 weights multiply to BF16, too, as
	// PyTorch does, on machines that multiply such pairs faster
	// ([kernel.MultipliesPairs]). Weights must not be packed.
	Halves bool
	// Inputs, if set, receives the rows that every product multiplies, [rows, cols],
	// before it does: weight is the matrix's name, expert its number in a bank, else
	// 0. It needs Precise, since rows are not kept as floats otherwise, and is called
	// from the goroutine of the step.
	Inputs func(weight string, expert int, rows []float32, cols int)
	// Counters, if set, count the steps that have none of their own.
	Counters *Counters
	// Backend names the backends of plans in order of preference, see [Backends].
	Backend string
	// Account is what buffers are reserved in.
	Account *ledger.Account
	// Pack configures where the packed form of weights is stored.
	Pack pack.Config
	// Stream describes the weights that are streamed.
	Stream Stream
}

func (c Config) withDefaults() Config {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&c.Threads, 1)
	set(&c.MaxTokens, 512)
	set(&c.MaxLogits, 8)
	set(&c.Context, 4096)
	c.MaxLogits = min(c.MaxLogits, c.MaxTokens)
	return c
}

func (c Config) validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int
	}{{"Threads", c.Threads}, {"MaxTokens", c.MaxTokens}, {"MaxLogits", c.MaxLogits}, {"Context", c.Context}} {
		if f.value < 1 {
			errs = append(errs, fmt.Errorf("exec config: %s is %d, want at least 1", f.name, f.value))
		}
	}
	if c.Inputs != nil && !c.Precise {
		errs = append(errs, errors.New("exec config: Inputs need Precise"))
	}
	return errors.Join(errs...)
}

// pageAlign is the alignment of the pages of states, a cache line.
const pageAlign = 64

// An Executor holds the bound plans of one model. One goroutine at a time may
// use it.
type Executor struct {
	cfg    Config
	pool   *pool.Pool
	states []plan.StateDescriptor
	vocab  int // columns of the output
	tokens int // rows of the embedding table
	types  int // rows of the table of token types

	lowRanks atomic.Uint64 // adapters that were made
	// crossRows and crossCols are the size of [Run.Source]; 0 without cross attention.
	crossRows, crossCols int

	flat bool // an attention has no cache: its runs are whole sequences

	prefill, decode *program
	early           *program // the first layers; nil = none
	scatter         *program // before prefill, of models with images
	width           int      // of image rows
	deep            int      // inner vision layers that prefill reads
	whole           bool     // tokens of an image attend to each other: no step cuts it
	ropes           []*ropeTable
	recorded        []plan.Mode    // of plans whose backend records
	handoffs        []plan.Handoff // between the plans, with what their backends ask for
	graph           []bound        // recorded and not evaluated yet
	byPlace         bool           // some turn by time, row and column
	buffers, arena  ledger.Block   // registers; work
	work            []byte         // the bytes of arena
	workBytes       int
	registerBytes   int64
	measuring       bool        // [Measure] binds; no step will run
	weights         *pack.Store // the weights of products
	linearTask      linearTask
	chunks          []*chunk.Delta[float32]         // by worker
	generals        []*chunk.General[float32]       // by worker
	units           int                             // streamed units bound so far of the current plan
	acquired        [len(bankSlots)][]kernel.Matrix // by expert: those of the cache that the mixture in progress multiplies with
	numbers         map[string]int                  // of the weights of the plans
	shapes          [][2]int                        // of those that products multiply with, by number: rows and columns
	low             []float32                       // A·x of the product in progress
	lowTask         lowTask
}

// A program is one bound plan.
type program struct {
	bound    []bound
	logits   *register
	outs     []*register
	recorded bool // its backend records
	sync     bool // what it hands on is waited for
}

// Weights are bound by the canonical names of [plan.WeightBinding].
type Weights map[string]tensor.View

// New binds the plans of a model to its weights. It fails with an error that
// matches [plan.ErrUnsupportedOpcode], [plan.ErrWeightBinding] or another
// sentinel of package plan before any weight is read.
func New(plans *plan.ModelPlans, w Weights, cfg Config) (*Executor, error) {
	x, err := prepare(plans, cfg)
	if err != nil {
		return nil, err
	}
	if err := x.start(x.bindAll(plans, w), "a step", "a shorter context or fewer tokens a step need less"); err != nil {
		return nil, err
	}
	if !x.cfg.Precise { // products of floats read quantized weights as the file has them
		x.weights.OpenHeld(x.cfg.Stream.Held)
	}
	return x, nil
}

// start takes the memory that binding found to be needed, opens the weights and starts
// the workers. It fails with the error of binding, or if there is no such memory for
// what it is, which the hint says how to lessen; the registers are released then.
func (x *Executor) start(bound error, what, hint string) error {
	err := bound
	if err == nil {
		if x.arena, err = ledger.NewHugeBlock(x.cfg.Account, ledger.Scratch, x.workBytes); err != nil {
			err = fmt.Errorf("work memory of %s: %w; %s", what, err, hint)
		}
	}
	if err != nil {
		x.buffers.Release()
		return err
	}
	x.work = x.arena.Bytes
	x.weights.Open(x.ScratchBytes())
	x.pool = pool.New(x.cfg.Threads)
	return nil
}

// prepare returns an executor without bindings or memory.
func prepare(plans *plan.ModelPlans, cfg Config) (*Executor, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if plans.Prefill == nil {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "a model needs a prefill plan")
	}
	x := &Executor{cfg: cfg, states: plans.Prefill.Plan.States, weights: pack.New(cfg.Pack)}
	if err := x.route(plans); err != nil {
		return nil, err
	}
	for i := range x.states {
		if a := x.states[i].AlignBytes; a > pageAlign {
			return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "state %d needs pages aligned to %d bytes; they are aligned to %d", i, a, pageAlign)
		}
	}
	return x, nil
}

// bindAll maps the registers of both plans onto one set of buffers and binds
// every instruction.
func (x *Executor) bindAll(plans *plan.ModelPlans, w Weights) error {
	stages := []stage{{c: plans.Prefill, size: plan.Sizing{Tokens: uint64(x.cfg.MaxTokens), Requested: uint64(x.cfg.MaxLogits)}, to: &x.prefill}}
	if plans.Decode != nil {
		stages = append(stages, stage{c: plans.Decode, size: plan.Sizing{Slots: uint64(x.cfg.MaxLogits)}, to: &x.decode})
	}
	if plans.Early != nil && len(x.cfg.Stream.Units) == 0 && x.cfg.Stream.Experts == nil { // streamed weights come in the order of whole passes
		stages = append(stages, stage{c: plans.Early, size: plan.Sizing{Slots: uint64(x.cfg.MaxLogits)}, to: &x.early})
	}
	if plans.Scatter != nil {
		stages = append(stages, stage{c: plans.Scatter, size: plan.Sizing{Tokens: uint64(x.cfg.MaxTokens)}, to: &x.scatter})
	}
	if err := x.bindStages(stages, w); err != nil {
		return err
	}
	x.vocab = int(x.prefill.logits.cols)
	return nil
}

// A stage is a plan with its sizes.
type stage struct {
	c    *plan.CompiledPlan
	size plan.Sizing
	m    plan.PhysicalMapping
	to   **program
}

// bindStages maps the registers of plans onto one set of buffers and binds their
// instructions.
func (x *Executor) bindStages(stages []stage, w Weights) error {
	x.mapStages(stages)
	var sizes []uint64
	for i := range stages {
		s := &stages[i]
		sizes = append(sizes, make([]uint64, max(0, len(s.m.Buffers)-len(sizes)))...)
		bufferSizes(sizes, s.c, &s.m, s.size)
	}
	buffers, err := x.allocate(sizes)
	if err != nil {
		return err
	}
	recorded := 0
	for i := range stages {
		s := &stages[i]
		if *s.to, err = x.bindPlan(s.c, &s.m, buffers, w); err != nil {
			return fmt.Errorf("%s plan: %w", s.c.Plan.Mode, err)
		}
		p := *s.to
		p.recorded = slices.Contains(x.recorded, s.c.Plan.Mode)
		p.sync = slices.ContainsFunc(x.handoffs, func(h plan.Handoff) bool { return h.Sync && h.From == s.c.Plan.Mode })
		if p.recorded {
			recorded += len(p.bound)
		}
	}
	x.graph = make([]bound, 0, recorded)
	return nil
}

// mapStages maps the registers of plans. What one plan of a step hands to another stays in
// the buffer that the consumer gives it, until it releases that ([plan.Handoff]). Image
// rows cross their boundary in the caller's memory ([Span.Image]).
func (x *Executor) mapStages(stages []stage) {
	find := func(mode plan.Mode) *stage {
		if i := slices.IndexFunc(stages, func(s stage) bool { return s.c.Plan.Mode == mode }); i >= 0 {
			return &stages[i]
		}
		return nil
	}
	for i := range stages {
		s := &stages[i]
		external, held := pass.Inputs(s.c), map[plan.RegisterRef]uint32{}
		for _, h := range x.handoffs {
			if h.To == s.c.Plan.Mode && find(h.From) != nil {
				delete(external, h.ToReg)
				held[h.ToReg] = h.ReleaseAfter
			}
		}
		s.m = pass.MapStage(s.c, s.size, external, held)
	}
	for _, h := range x.handoffs {
		if from, to := find(h.From), find(h.To); from != nil && to != nil {
			from.m.Place(h.FromReg, to.m.ToPhysical[h.ToReg])
		}
	}
}

// bufferSizes raises sizes to the needs of a plan: those of its mapping, and
// those of norms in the form that products read, which may exceed floats.
func bufferSizes(sizes []uint64, c *plan.CompiledPlan, m *plan.PhysicalMapping, sizing plan.Sizing) {
	for i, b := range m.Buffers {
		sizes[i] = max(sizes[i], b.Size)
	}
	for i := range c.Plan.Instructions {
		ins := &c.Plan.Instructions[i]
		if ins.Op != plan.OpNorm && ins.Op != plan.OpResidualAdd {
			continue
		}
		r := ins.Out[len(ins.Out)-1]
		spec, b := &c.Plan.Registers[r], m.ToPhysical[r]
		if b != plan.NoBuffer {
			sizes[b] = max(sizes[b], sizing.Rows(spec.Rows)*uint64(kernel.FormQ8.RowBytes(int(spec.Cols))))
		}
	}
}

// allocate makes one block for all buffers and divides it.
func (x *Executor) allocate(sizes []uint64) ([][]float32, error) {
	total := uint64(0)
	for _, n := range sizes {
		total += n
	}
	x.registerBytes = int64(min(total, math.MaxInt64))
	if x.measuring {
		return make([][]float32, len(sizes)), nil
	}
	var err error
	if x.buffers, err = ledger.NewHugeBlock(x.cfg.Account, ledger.Scratch, int(min(total, math.MaxInt))); err != nil {
		return nil, fmt.Errorf("register buffers: %w; fewer tokens a step need less", err)
	}
	all := floats(x.buffers.Bytes)
	buffers := make([][]float32, len(sizes))
	for i, n := range sizes {
		buffers[i], all = all[:n/4:n/4], all[n/4:]
	}
	return buffers, nil
}

func (x *Executor) bindPlan(c *plan.CompiledPlan, m *plan.PhysicalMapping, buffers [][]float32, w Weights) (*program, error) {
	p := &c.Plan
	regs := make([]*register, len(p.Registers))
	for r, spec := range p.Registers {
		regs[r] = &register{rows: spec.Rows, cols: spec.Cols}
		if b := m.ToPhysical[r]; b != plan.NoBuffer {
			regs[r].buf = buffers[b]
		}
	}
	if len(p.Outputs) != 1 && p.Mode != plan.ModeVisionEncode || len(p.Outputs) == 0 {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "%d outputs, want the logits alone", len(p.Outputs))
	}
	x.units = 0
	b := &binder{x: x, plan: p, regs: regs, weights: w}
	kernels, err := plan.Bind(p, cpuTable, b)
	if err != nil {
		return nil, err
	}
	for i, k := range kernels {
		b.bound[i].run = k
	}
	x.guardAll(b.bound, c, regs)
	if p.Mode != plan.ModeScatter { // it reads no products
		if err := x.cfg.Stream.check(x.units); err != nil {
			return nil, err
		}
	}
	for i := range p.Instructions {
		for _, r := range p.Instructions[i].In {
			regs[r].reads++
		}
	}
	for _, r := range p.Outputs {
		regs[r].reads++
	}
	for _, r := range regs {
		r.choose()
	}
	done := &program{bound: b.bound, logits: regs[p.Outputs[0]]}
	for _, r := range p.Outputs {
		done.outs = append(done.outs, regs[r])
	}
	return done, nil
}

// Step runs one batch. On return [Executor.Logits] holds the requested rows.
// A step whose runs all have one row, each requested, runs the decode plan;
// any other runs the prefill plan. Both give the same values.
func (x *Executor) Step(s *Step) error {
	if err := s.check(x); err != nil {
		return err
	}
	s.x, s.Counters = x, cmp.Or(s.Counters, x.cfg.Counters)
	x.limit(s.Threads)
	s.requested = len(s.Requested)
	s.rowRun = s.rowRun[:0]
	for i := range s.Runs {
		for range s.Runs[i].Len {
			s.rowRun = append(s.rowRun, int32(i))
		}
	}
	s.layAdapted()
	if x.byPlace {
		s.placeRows()
	}
	for _, t := range x.ropes {
		t.fill(s)
	}
	passes := x.cfg.Stream.Passes
	if passes == nil {
		return x.pass(s)
	}
	passes.Begin(len(s.Runs) == s.rows, s.rows)
	var err error
	defer func() { passes.End(err) }() // after a panic as well: the executor can be closed then
	err = x.pass(s)
	return err
}

// pass executes the plan of a step.
func (x *Executor) pass(s *Step) error {
	if err := x.cfg.Stream.begin(s.Stop); err != nil {
		return err
	}
	var err error
	ended := false
	defer func() { x.cfg.Stream.end(ended && err == nil) }()
	if invariants {
		poison(floats(x.buffers.Bytes))
		poison(floats(x.work))
	}
	p := x.program(s)
	if p == x.prefill && x.scatter != nil {
		err = x.stage(x.scatter, s, false)
	}
	if err == nil {
		err = x.stage(p, s, true)
	}
	ended = true
	return err
}

// limit bounds the workers of a step.
func (x *Executor) limit(threads int) {
	if threads <= 0 {
		threads = x.cfg.Threads
	}
	x.pool.Limit(threads)
}

// Wake makes a step that waits for weights check [Step.Stop]. It may be called
// from any goroutine.
func (x *Executor) Wake() { x.cfg.Stream.wake() }

func (x *Executor) program(s *Step) *program {
	if s.Early {
		return x.early
	}
	if x.decode != nil && s.images == 0 && len(s.Runs) == s.rows && s.requested == s.rows && s.rows <= x.cfg.MaxLogits {
		return x.decode
	}
	return x.prefill
}

// Logits returns the logits of requested row i of the last step, valid until
// the next one. The caller may change them.
func (x *Executor) Logits(s *Step, i int) []float32 {
	r := x.program(s).logits
	return r.buf[i*int(r.cols) : (i+1)*int(r.cols)]
}

// Decodes reports whether the model continues texts: an encoder does not, and its
// rows are vectors or scores.
func (x *Executor) Decodes() bool { return x.decode != nil }

// Early reports whether there is a program of the first layers, for [Step.Early].
func (x *Executor) Early() bool { return x.early != nil }

// Vocab returns the number of logits per row.
func (x *Executor) Vocab() int { return x.vocab }

// States describes the states whose pages each [Run] passes, in order.
func (x *Executor) States() []plan.StateDescriptor { return slices.Clone(x.states) }

// Whole reports whether a step must not cut an image, whose tokens attend to each
// other.
func (x *Executor) Whole() bool { return x.whole }

// Config returns the configuration in force, defaults filled in.
func (x *Executor) Config() Config { return x.cfg }

// ScratchBytes returns the memory of register buffers and work arena.
func (x *Executor) ScratchBytes() int64 {
	return int64(len(x.buffers.Bytes) + len(x.work))
}

// Packing returns where the packed form of the weights is stored.
func (x *Executor) Packing() pack.Decision { return x.weights.Decision() }

// PackingTime returns how long threads have packed weights so far, all together.
func (x *Executor) PackingTime() time.Duration { return x.weights.Spent() }

// Migrations is [pool.Pool.Migrations] of the executor's pool. It may be called from
// any goroutine.
func (x *Executor) Migrations() int64 { return x.pool.Migrations() }

// Close stops the workers and frees the memory. The executor, and the logits it
// returned, must not be used afterwards. It is idempotent.
func (x *Executor) Close() {
	x.pool.Close()
	x.buffers.Release()
	x.arena.Release()
	x.weights.Close()
}
