package offload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"atenia/grad"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/policy/decide"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// A Param is a parameter of the run. Its Value and Grad are set while a block
// that reads it is entered.
type Param = grad.Param[float32]

// A Group is the parameters in one layer of the files, contiguous.
type Group struct {
	Layer
	Params []*Param
	// Keep keeps the gradients in memory between passes.
	Keep bool
}

// A PagedConfig describes what a [Pager] pages.
type PagedConfig struct {
	State   *State
	Groups  []Group // of the layers of State
	Blocks  [][]int // groups that each block reads
	Needed  []bool  // blocks that a backward pass enters
	BF16    bool    // values are rounded to bfloat16
	Account *ledger.Account
	Norm    *grad.Norm[float32]
	Dir     string // of gradients on the disk and of persistent ones
	FS      durable.FS
	Log     *Log // nil = decisions are not recorded
}

// A Log is where the placement of backward passes is recorded.
type Log struct {
	Recorder decide.Recorder
	Timeline io.Writer // nil = none
}

// A Pager pages the parameters of one run. It must be used by one goroutine.
type Pager struct {
	cfg     PagedConfig
	blocks  [][]int         // of both passes, in the order they are entered
	backs   []bool          // whether each is entered for the backward pass
	at      int             // the next of them
	ctx     context.Context // of the pass
	lowest  []int           // last block, on the way back, that adds to a group's gradient
	copied  []int           // groups that Copy has loaded
	values  []pagedValue
	grads   []gradient
	final   bool               // the pass makes gradients complete
	squares map[*Param]float64 // of complete gradients
	ahead   *reading           // groups that are being read
	writing <-chan error       // of a gradient that goes to the disk; nil = none
	coming  []byte             // memory of a gradient that comes from the disk
	written int                // the group of it
	scratch ledger.Block       // of reading
	manager *memory.Manager    // of gradients between passes
	cache   *blob.Cache        // of gradients of interrupted steps; nil until needed
	placer  placer             // of backward passes
	Moved   int64              // bytes read and written, without the optimizer's
	Waited  time.Duration      // for values and gradients, between the work on blocks
}

// A pagedValue is the parameters of a group in memory.
type pagedValue struct {
	block ledger.Block
	users int // blocks that have entered it
}

// A gradient is that of a group while a block adds to it.
type gradient struct {
	data  []byte
	block ledger.Block // of data
	kept  ledger.Block // memory of a gradient that the manager has
}

// NewPager returns a pager.
func NewPager(cfg PagedConfig) (*Pager, error) {
	cfg.FS = durable.Default(cfg.FS)
	p := &Pager{cfg: cfg, ctx: background, values: make([]pagedValue, len(cfg.Groups)), grads: make([]gradient, len(cfg.Groups)), lowest: make([]int, len(cfg.Groups)), squares: map[*Param]float64{}}
	for b := len(cfg.Blocks) - 1; b >= 0; b-- {
		for _, g := range cfg.Blocks[b] {
			if cfg.Needed[b] {
				p.lowest[g] = b
			}
		}
	}
	var err error
	if p.scratch, err = ledger.NewBlock(cfg.Account, ledger.Scratch, cfg.State.ReadBytes()); err != nil {
		return nil, err
	}
	// The gradients of a step are worth nothing after a power failure.
	p.manager = memory.New(memory.Config{Dir: filepath.Join(cfg.Dir, gradientFolder), FS: unsynced{cfg.FS}, Alloc: p.memory})
	p.placer = newPlacer(cfg.Log, p.manager)
	return p, nil
}

const gradientFolder = "gradients"

// Close waits for moves and gives all memory back.
func (p *Pager) Close() error {
	err := p.wait()
	p.drop()
	for g := range p.grads {
		p.forget(g)
		p.values[g].block.Release()
	}
	p.scratch.Release()
	return errors.Join(err, p.placer.close())
}

// Expect says which pass comes: a loss, or a loss and its gradients, which the
// last batch of a step completes. When ctx ends, so does the pass: its gradients are
// worth nothing then.
func (p *Pager) Expect(ctx context.Context, back, final bool) {
	p.ctx = ctx
	for _, g := range p.copied {
		p.leave(g)
	}
	p.copied, p.blocks, p.backs, p.at, p.final = nil, p.blocks[:0], p.backs[:0], 0, final
	add := func(b int, back bool) { p.blocks, p.backs = append(p.blocks, p.cfg.Blocks[b]), append(p.backs, back) }
	last := len(p.cfg.Blocks) - 1
	for b := range last {
		add(b, false)
	}
	add(last, back)
	for b := last - 1; back && b >= 0; b-- {
		if p.cfg.Needed[b] {
			add(b, true)
		}
	}
}

// Failures returns the moves of gradients that failed since the last call, of a run
// whose decisions are recorded.
func (p *Pager) Failures() (out []string) {
	out, p.placer.failures = p.placer.failures, nil
	return out
}

// Enter implements [tape.Pager] for blocks of parameters of the run.
func (p *Pager) Enter(block int, back bool) error {
	began := time.Now()
	defer func() { p.Waited += time.Since(began) }()
	if err := p.ctx.Err(); err != nil {
		return err
	}
	groups := p.cfg.Blocks[block]
	for _, g := range groups {
		if err := p.load(g); err != nil {
			return err
		}
	}
	if back {
		if err := p.place(block); err != nil {
			return err
		}
		for _, g := range groups {
			if err := p.take(g); err != nil {
				return err
			}
		}
	}
	if p.at++; p.at < len(p.blocks) {
		p.readAhead(p.blocks[p.at])
	}
	return nil
}

// Leave ends the use of a block.
func (p *Pager) Leave(block int, back bool) error {
	began := time.Now()
	defer func() { p.Waited += time.Since(began) }()
	for _, g := range p.cfg.Blocks[block] {
		p.leave(g)
		if back {
			if err := p.put(g, p.final && p.lowest[g] == block); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave gives the values of a group back.
func (p *Pager) leave(g int) {
	v := &p.values[g]
	if v.users--; v.users > 0 {
		return
	}
	v.block.Release()
	for _, w := range p.cfg.Groups[g].Params {
		w.Value = nil
	}
}

// size returns the bytes of a group's float32 values.
func (p *Pager) size(g int) int { return 4 * p.cfg.Groups[g].Elements }

// alloc takes memory for a block that is about to be computed.
func (p *Pager) alloc(u ledger.Use, n int) (b ledger.Block, err error) {
	err = p.Insist(func() error { b, err = ledger.NewBlock(p.cfg.Account, u, n); return err })
	return b, err
}

// Insist makes room until a reservation is met, or there is no more to be made: what
// is read ahead gives way to it, and it waits for what is being written.
func (p *Pager) Insist(reserve func() error) error {
	for {
		err := reserve()
		switch {
		case err == nil || !errors.Is(err, ledger.ErrFull):
			return err
		case p.writing != nil:
			if werr := p.wait(); werr != nil {
				return werr
			}
		case p.ahead != nil:
			p.drop()
		case len(p.copied) > 0: // between passes they are only kept to spare reading
			p.leave(p.copied[0])
			p.copied = p.copied[1:]
		default:
			return fmt.Errorf("training in the budget: %w", err)
		}
	}
}

// load brings the values of a group to memory.
func (p *Pager) load(g int) error {
	v := &p.values[g]
	if v.users++; v.users > 1 {
		return nil
	}
	b, err := p.arrived(g)
	if err != nil {
		return err
	}
	if b.Bytes == nil {
		if b, err = p.alloc(ledger.Parameters, p.size(g)); err != nil {
			return err
		}
		if err := p.read(g, floats(b.Bytes), p.scratch.Bytes); err != nil {
			b.Release()
			return err
		}
		p.Moved += p.fileBytes(g)
	}
	v.block = b
	x := floats(b.Bytes)
	for _, w := range p.cfg.Groups[g].Params {
		n := length(w)
		w.Value, x = x[:n:n], x[n:]
	}
	return nil
}

func (p *Pager) fileBytes(g int) int64 {
	if p.cfg.BF16 {
		return int64(p.size(g) / 2)
	}
	return int64(p.size(g))
}

func (p *Pager) read(g int, dst []float32, buffer []byte) error {
	return p.cfg.State.Read(p.ctx, g, dst, p.cfg.BF16, buffer)
}

// length returns the number of values of a parameter.
func length(w *Param) int {
	n := 1
	for _, d := range w.Shape {
		n *= d
	}
	return n
}

// A reading is the groups of the next block, on their way.
type reading struct {
	groups []int
	blocks []ledger.Block
	errs   []error
	done   <-chan error
}

// readAhead starts to read the groups of a block, as far as there is room.
func (p *Pager) readAhead(groups []int) {
	if p.ahead != nil {
		return
	}
	r := &reading{}
	room, err := ledger.NewBlock(p.cfg.Account, ledger.Scratch, len(p.scratch.Bytes))
	if err != nil {
		return
	}
	for _, g := range groups {
		if p.values[g].users > 0 {
			continue
		}
		b, err := ledger.NewBlock(p.cfg.Account, ledger.Parameters, p.size(g))
		if err != nil {
			break
		}
		r.groups, r.blocks = append(r.groups, g), append(r.blocks, b)
		p.Moved += p.fileBytes(g)
	}
	r.errs = make([]error, len(r.groups))
	p.ahead = r
	r.done = start(func() error {
		defer room.Release()
		for i, g := range r.groups {
			r.errs[i] = p.read(g, floats(r.blocks[i].Bytes), room.Bytes)
		}
		return nil
	})
}

// wait waits for the groups. If reading panicked, none of them is of use.
func (r *reading) wait() {
	if err := <-r.done; err != nil {
		for i := range r.errs {
			r.errs[i] = err
		}
	}
}

// arrived returns a group that was read ahead, or an empty block.
func (p *Pager) arrived(g int) (ledger.Block, error) {
	r := p.ahead
	if r == nil {
		return ledger.Block{}, nil
	}
	i := slices.Index(r.groups, g)
	if i < 0 {
		return ledger.Block{}, nil
	}
	r.wait()
	b := r.blocks[i]
	r.groups[i], r.blocks[i] = -1, ledger.Block{}
	if err := r.errs[i]; err != nil {
		b.Release()
		return ledger.Block{}, err
	}
	if !slices.ContainsFunc(r.groups, func(g int) bool { return g >= 0 }) {
		p.ahead = nil
	}
	return b, nil
}

// drop gives back what was read ahead.
func (p *Pager) drop() {
	if p.ahead == nil {
		return
	}
	p.ahead.wait()
	for i := range p.ahead.blocks {
		p.ahead.blocks[i].Release()
	}
	p.ahead = nil
}

// Copy reads the values of a parameter between passes. Those of the last two
// groups stay in memory until the next pass.
func (p *Pager) Copy(g int, w *Param, dst []float32) error {
	if p.ctx.Err() != nil { // the model is written after the run, too
		p.drop()
		p.ctx = background
	}
	i := slices.Index(p.copied, g)
	if i < 0 {
		if len(p.copied) > 1 {
			p.leave(p.copied[0])
			p.copied = slices.Delete(p.copied, 0, 1)
		}
		if err := p.load(g); err != nil {
			return err
		}
		p.copied = append(p.copied, g)
	}
	copy(dst, w.Value)
	return nil
}

// NormOf returns the Euclidean norm of the complete gradients, with the bits of
// [grad.Norm.Of].
func (p *Pager) NormOf(params []*Param) float64 {
	all := 0.0
	for _, w := range params {
		all += p.squares[w]
	}
	return math.Sqrt(all)
}

// unsynced is a file system for files that serve this process alone.
type unsynced struct{ durable.FS }

func (u unsynced) OpenFile(name string, flag int, mode fileMode) (durable.File, error) {
	f, err := u.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

var background = context.Background()
