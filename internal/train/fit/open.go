package fit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"atenia/internal/machine/ledger"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/offload"
	"atenia/internal/train/recipe"
)

// A budget is the memory of one job.
type budget struct {
	Paging  *train.Paging // nil: everything is in memory, or nothing of it is stepped in files
	account *ledger.Account
	plan    *plan // nil: there is none for this kind of model
	asked   bool  // by the recipe
	held    []ledger.Reservation
	undo    func()
}

// Close gives the memory back.
func (b *budget) Close() {
	if b.undo == nil {
		return
	}
	for i := range b.held {
		b.held[i].Release()
	}
	b.undo()
}

// open makes the model of a job within the budget of its recipe, or within what
// the machine has free.
func open(j *job) (m model, b *budget, err error) {
	b = &budget{account: ledger.New(ledger.Process, 0), undo: func() {}}
	limit, opt := j.Recipe.Budget(), j.options()
	if b.asked = limit > 0; !b.asked {
		limit = ledger.Process.Room()
	}
	if most := ledger.Process.Most(); b.asked {
		limit = min(limit, most)
	}
	if limit == 0 { // unknown
		m, _, err = j.model(opt)
		return m, b, err
	}
	opt.Rows = cmp.Or(j.Rows, j.Recipe.Data.Row*j.Recipe.Data.Rows)
	inPages := opt
	inPages.Paged, inPages.Room = true, &offload.Room{Account: b.account}
	m, pages, err := j.model(inPages)
	if err != nil {
		return nil, nil, err
	}
	q := j.request(pages, limit)
	if q.Senses, err = j.senses(limit); err == nil {
		b.plan, err = decide(q)
	}
	if err != nil {
		return nil, nil, errors.Join(err, pages.Close())
	}
	if !b.plan.Paged {
		if err := pages.Close(); err != nil {
			return nil, nil, err
		}
		if b.asked {
			b.undo = limitHeap(b.plan.InMemory)
		}
		m, _, err = j.model(opt)
		return m, b, err
	}
	if err := b.reserve(j.Recipe, pages); err != nil {
		b.Close()
		return nil, nil, errors.Join(err, pages.Close())
	}
	return m, b, nil
}

// reserve takes the budget of a paged run.
func (b *budget) reserve(r *recipe.Recipe, pages *Model) error {
	b.account.SetLimit(b.plan.Budget - b.plan.request.Senses) // which have an account of their own
	for _, h := range []struct {
		use ledger.Use
		n   int64
	}{{ledger.Program, b.plan.request.Program}, {ledger.Moments, b.plan.Buffers}} {
		room, err := b.account.Reserve(h.use, h.n)
		if err != nil {
			return err
		}
		b.held = append(b.held, room)
	}
	if err := pages.Keep(b.plan.Kept); err != nil {
		return err
	}
	b.undo = limitHeap(b.plan.Heap)
	if r.LoRA.Rank > 0 {
		return nil
	}
	if r.Optimizer.Kind != "adamw" {
		return fmt.Errorf("%w: %v, and only the state of adamw can be in files, not that of %s", train.ErrConfig, b.plan, r.Optimizer.Kind)
	}
	b.Paging = &train.Paging{Account: b.account, Gradients: b.plan.Gradients, ChunkBytes: b.plan.Chunk}
	return nil
}

// senses bounds the memory of encoders: what they need, and rows that are kept in a
// small share of the limit.
func (j *job) senses(limit int64) (int64, error) {
	const share = 16
	n, err := j.Senses.Need()
	if err != nil || n == 0 {
		return 0, err
	}
	n += min(data.KeptBytes, limit/share)
	j.Senses.Limit(n)
	return n, nil
}

// request returns what a plan is made for.
func (j *job) request(m *Model, limit int64) request {
	r := j.Recipe
	all, trained := m.Size()
	slots := map[string]int{"adamw": 2, "muon": 2}[r.Optimizer.Kind]
	q := request{
		Budget: limit, Program: program(), Threads: j.Workers, Rows: cmp.Or(j.Rows, r.Data.Row*r.Data.Rows), Batches: r.Train.Accumulate,
		Values: int64(all), Trained: int64(trained), Frozen: m.FrozenBytes(), Bytes: m.PagedBytes(),
		BF16: r.Train.Precision == "bf16", Slots: max(1, slots), Offload: r.Optimizer.Offload, Recompute: r.Train.Recompute,
	}
	if r.LoRA.Rank == 0 {
		q.Block, q.Group = train.PageSizes(m)
		q.BF16 = q.BF16 || q.Offload
		_, err := os.Stat(filepath.Join(r.Train.Out, "state", "journal"))
		q.InFiles = j.Resume && err == nil
	}
	return q
}

// Line says what of the run is in memory; "" if all is and no budget was given.
func (b *budget) Line() string {
	if b.plan == nil || !b.plan.Paged && !b.asked {
		return ""
	}
	return b.plan.String()
}

// record opens the logs of a run and returns a function that closes them. "" is no
// log.
func record(decisions, timeline string) (l *offload.Log, done func() error, err error) {
	if decisions == "" && timeline == "" {
		return nil, func() error { return nil }, nil
	}
	return offload.OpenLog(decisions, timeline)
}
