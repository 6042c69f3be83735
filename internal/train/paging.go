package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
	"atenia/internal/train/offload"
)

// A Pager brings the parameters that a block of the model reads to memory, and
// with back their gradients, and takes them away.
type Pager interface {
	Enter(block int, back bool) error
	Leave(block int, back bool) error
	// Insist makes room until a reservation is met, or there is no more to be made.
	Insist(reserve func() error) error
	Close() error
}

// A Pageable is a [Learner] that computes its model block by block. Value and
// Grad of its parameters are nil between blocks.
type Pageable interface {
	Learner
	// Blocks returns the parameters that each block reads, by their place in
	// Params, and which blocks a backward pass enters.
	Blocks() (reads [][]int, needed []bool)
	// Fill writes the first values of a parameter.
	Fill(param int, dst []float32) error
	// Page sets the pager of all passes, and how the values of a parameter are
	// read between them, also after the run. The learner closes the pager.
	Page(p Pager, read func(param int, dst []float32) error)
}

// Paging keeps parameters, gradients and the optimizer's state in files, and in
// memory what fits: see [offload.Pager]. The learner must be a [Pageable]. A run
// ends with the bytes of the same run in memory.
type Paging struct {
	Account *ledger.Account // that everything is reserved in
	// Gradients are the bytes of gradients that may stay in memory during a step.
	Gradients int64
	// ChunkBytes is how much of the state is read at once; 0 is 16 MiB.
	ChunkBytes int
}

// interruptedName is the note about a step that was stopped between batches.
const interruptedName = "interrupted.json"

// An interrupted step has the gradients of some batches in the persistent cache.
type interrupted struct {
	Step    int     `json:"step"`    // the one before
	Batches int     `json:"batches"` // done
	Of      int     `json:"of"`      // batches of the step
	Groups  int     `json:"groups"`  // with gradients
	Loss    float64 `json:"loss"`    // of the batches that are done
}

// errPaused says that a step was interrupted and can be continued.
var errPaused = errors.New("the step is interrupted")

// openPaged opens or creates the files of a run whose parameters are paged.
func (r *run) openPaged(ctx context.Context) error {
	l, ok := r.learner.(Pageable)
	if !ok {
		return fmt.Errorf("%w: this kind of model cannot be trained in a budget that is smaller than its state", ErrConfig)
	}
	if in, err := r.inMemory(); err != nil || in {
		return errors.Join(err, fmt.Errorf("%w: %s has snapshots of a run in memory: resume it with a budget that all of it fits in, or without", ErrResume, r.cfg.Dir))
	}
	o := &offloaded{groups: groups(r.params)}
	r.index = map[*Param]int{}
	for i, p := range r.params {
		r.index[p] = i
	}
	room := offload.Room{Account: r.cfg.Paging.Account}
	var all offload.Floats // first values of a group
	defer func() { all.Release() }()
	err := r.openState(ctx, o, func(layer, offset int, dst []float32) (err error) {
		if offset == 0 {
			all.Release()
			if all, err = room.Parameters(o.groups[layer].Elements); err != nil {
				return err
			}
			x := all.Values
			for _, p := range o.groups[layer].params {
				if err := l.Fill(r.index[p], x[:length(p)]); err != nil {
					return err
				}
				x = x[length(p):]
			}
		}
		copy(dst, all.Values[offset:])
		return nil
	})
	if err != nil {
		return err
	}
	r.offload = o
	if err := r.openPager(l); err != nil {
		return err
	}
	if r.cfg.Resume {
		return r.warm(ctx)
	}
	return nil
}

// openPager makes the pager of the open files.
func (r *run) openPager(l Pageable) (err error) {
	reads, needed := l.Blocks()
	cfg := offload.PagedConfig{
		State: r.offload.state, Needed: needed, BF16: r.cfg.BF16, Account: r.cfg.Paging.Account, Norm: r.meter,
		Dir: filepath.Join(r.cfg.Dir, stateFolder), FS: r.cfg.FS, Log: r.cfg.Log,
	}
	at, left := map[*Param]int{}, r.cfg.Paging.Gradients
	for g := range r.offload.groups {
		group := &r.offload.groups[g]
		bytes := int64(4 * group.Elements)
		keep := bytes <= left
		if keep {
			left -= bytes
		}
		cfg.Groups = append(cfg.Groups, offload.Group{Layer: group.Layer, Params: group.params, Keep: keep})
		for _, p := range group.params {
			at[p] = g
		}
	}
	for _, params := range reads {
		var gs []int
		seen := map[int]bool{}
		for _, i := range params {
			if g := at[r.params[i]]; !seen[g] {
				seen[g] = true
				gs = append(gs, g)
			}
		}
		cfg.Blocks = append(cfg.Blocks, gs)
	}
	if r.pager, err = offload.NewPager(cfg); err != nil {
		return err
	}
	l.Page(r.pager, func(i int, dst []float32) error { return r.pager.Copy(at[r.params[i]], r.params[i], dst) })
	return nil
}

// pause keeps the gradients of the batches of a step that are done.
func (r *run) pause(ctx context.Context, batches int, loss float64) error {
	n, err := r.pager.Persist(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	was := interrupted{Step: r.place.Step, Batches: batches, Of: r.cfg.Accumulate, Groups: n, Loss: loss}
	err = durable.ReplaceIn(r.cfg.FS, r.path2(interruptedName), func(w io.Writer) error { return json.NewEncoder(w).Encode(&was) })
	return errors.Join(err, errPaused)
}

// path2 returns the path of a file beside the state.
func (r *run) path2(name string) string { return filepath.Join(r.cfg.Dir, stateFolder, name) }

// warm takes up a step that was interrupted between its batches. If something of
// it is missing, the step begins anew.
func (r *run) warm(ctx context.Context) error {
	b, err := r.cfg.FS.ReadFile(r.path2(interruptedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var was interrupted
	if json.Unmarshal(b, &was) != nil || was.Step != r.place.Step || was.Of != r.cfg.Accumulate || was.Batches >= was.Of {
		return r.unpause()
	}
	n, err := r.pager.Warm(ctx)
	if err = errors.Join(err, ctx.Err()); err != nil { // what was not read is not lost
		return err
	}
	if n != was.Groups {
		return errors.Join(r.pager.Clear(), r.unpause())
	}
	r.paused = was
	return nil
}

// unpause removes what an interrupted step has left.
func (r *run) unpause() error {
	r.paused = interrupted{}
	if err := r.cfg.FS.Remove(r.path2(interruptedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.pager.Unpersist()
}

// length returns the number of values of a parameter, which may be paged.
func length(p *Param) int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// PageSizes returns the bytes of values and gradients of the largest block, and of
// the gradient of the largest group that is stepped together.
func PageSizes(l Pageable) (block, group int64) {
	params := l.Params()
	gs := groups(params)
	at := map[*Param]int{}
	for g := range gs {
		group = max(group, 4*int64(gs[g].Elements))
		for _, p := range gs[g].params {
			at[p] = g
		}
	}
	reads, needed := l.Blocks()
	for b, list := range reads {
		n, seen := int64(0), map[int]bool{}
		for _, i := range list {
			g := at[params[i]]
			if seen[g] {
				continue
			}
			seen[g] = true
			n += 4 * int64(gs[g].Elements)
			if needed[b] {
				n += 4 * int64(gs[g].Elements)
			}
		}
		block = max(block, n)
	}
	return block, group
}
