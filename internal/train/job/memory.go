package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"atenia/internal/memory/ledger"
	"atenia/internal/memory/place"
	"atenia/internal/store/durable"
	"atenia/internal/train"
	"atenia/internal/train/fit"
	"atenia/internal/train/paged"
	"atenia/internal/train/planned"
	"atenia/internal/train/recipe"
)

// A budget is the memory of one job.
type budget struct {
	account *ledger.Account
	plan    *fit.Plan // nil: there is none for this kind of model
	asked   bool      // by the recipe
	paging  *train.Paging
	held    []ledger.Reservation
	undo    func()
}

// memoryFile holds the line about what of a run is in memory.
const memoryFile = "memory.txt"

// close gives the memory back.
func (b *budget) close() {
	for i := range b.held {
		b.held[i].Release()
	}
	b.undo()
}

// fitting makes the model of a recipe within its budget, or within what the
// machine has free. open makes it with options.
func fitting(r *recipe.Recipe, o Options, threads int, opt planned.Options, open func(planned.Options) (model, error)) (m model, b *budget, err error) {
	b = &budget{account: ledger.New(ledger.Process, 0), undo: func() {}}
	limit, err := limitOf(r)
	if err != nil {
		return nil, nil, err
	}
	b.asked = r.Train.Budget != ""
	if limit == 0 { // unknown
		m, err = open(opt)
		return m, b, err
	}
	opt.Rows = r.Data.Row * r.Data.Rows
	paged := opt
	paged.Paged, paged.Account = true, b.account
	if m, err = open(paged); err != nil {
		return nil, nil, err
	}
	pages := base(m)
	if b.plan, err = fit.Decide(request(r, o, pages, threads, limit)); err != nil {
		return nil, nil, errors.Join(err, pages.Close())
	}
	if !b.plan.Paged {
		if err := pages.Close(); err != nil {
			return nil, nil, err
		}
		if b.asked {
			b.undo = fit.LimitHeap(b.plan.InMemory)
		}
		m, err = open(opt)
		return m, b, err
	}
	if err := b.reserve(r, o, pages); err != nil {
		b.close()
		return nil, nil, errors.Join(err, pages.Close())
	}
	return m, b, nil
}

// base returns the model of which m trains all, or pairs.
func base(m model) *planned.Model {
	if a, ok := m.(*planned.Adapted); ok {
		return a.Model
	}
	return m.(*planned.Model)
}

// reserve takes the budget of a paged run.
func (b *budget) reserve(r *recipe.Recipe, o Options, pages *planned.Model) error {
	b.account.SetLimit(b.plan.Budget)
	for _, h := range []struct {
		use ledger.Use
		n   int64
	}{{ledger.Program, b.plan.Program()}, {ledger.Moments, b.plan.Buffers}} {
		room, err := b.account.Reserve(h.use, h.n)
		if err != nil {
			return err
		}
		b.held = append(b.held, room)
	}
	if err := pages.Keep(b.plan.Kept); err != nil {
		return err
	}
	b.undo = fit.LimitHeap(b.plan.Heap)
	if r.LoRA.Rank > 0 {
		return nil
	}
	if r.Optimizer.Kind != "adamw" {
		return fmt.Errorf("%w: %v, and only the state of adamw can be in files, not that of %s", train.ErrConfig, b.plan, r.Optimizer.Kind)
	}
	b.paging = &train.Paging{Account: b.account, Gradients: b.plan.Gradients, ChunkBytes: b.plan.Chunk}
	return nil
}

// request returns what a plan is made for.
func request(r *recipe.Recipe, o Options, m *planned.Model, threads int, limit int64) fit.Request {
	all, trained := m.Size()
	slots := map[string]int{"adamw": 2, "muon": 2}[r.Optimizer.Kind]
	q := fit.Request{
		Budget: limit, Program: fit.Program(), Threads: threads, Rows: r.Data.Row * r.Data.Rows, Batches: r.Train.Accumulate,
		Values: int64(all), Trained: int64(trained), Frozen: m.FrozenBytes(), Bytes: m.PagedBytes(),
		BF16: r.Train.Precision == "bf16", Slots: max(1, slots), Offload: r.Optimizer.Offload, Recompute: r.Train.Recompute,
	}
	if r.LoRA.Rank == 0 {
		q.Block, q.Group = train.PageSizes(m)
		q.BF16 = q.BF16 || q.Offload
		_, err := os.Stat(filepath.Join(r.Train.Out, "state", "journal"))
		q.InFiles = o.Resume && err == nil
	}
	return q
}

// limitOf returns the bytes that a job may have; 0 is unknown.
func limitOf(r *recipe.Recipe) (int64, error) {
	if r.Train.Budget == "" {
		return fit.Available(), nil
	}
	n, err := place.ParseSize(r.Train.Budget)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: train.budget is %q, want a size such as 2GiB", recipe.ErrRecipe, r.Train.Budget)
	}
	return n, nil
}

// line returns what is said about the memory of the job; "" if there is nothing to
// say.
func (b *budget) line() string {
	if b.plan == nil || !b.plan.Paged && !b.asked {
		return ""
	}
	return b.plan.String()
}

// log writes the line to a folder.
func (b *budget) log(dir string) error {
	if b.line() == "" {
		return nil
	}
	return durable.WriteFile(filepath.Join(dir, memoryFile), func(w io.Writer) error {
		_, err := fmt.Fprintln(w, b.line())
		return err
	})
}

// record opens the logs of a paged run and returns a function that closes them.
func (b *budget) record(o Options) (done func() error, err error) {
	if b.paging == nil || o.Decisions == "" && o.Timeline == "" {
		return func() error { return nil }, nil
	}
	l, done, err := paged.OpenLog(o.Decisions, o.Timeline)
	b.paging.Log = l
	return done, err
}
