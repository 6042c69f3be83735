package offload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/policy/decide"
	"atenia/internal/store/blob"
)

// interruptedFolder is the checkpoint of an interrupted step. Its cache is in the
// folder cache inside, as "atenia checkpoint" expects it.
const interruptedFolder = "interrupted"

// openCache opens the persistent cache of gradients.
func (p *Pager) openCache() (err error) {
	if p.cache == nil {
		p.cache, err = blob.OpenCache(filepath.Join(p.interrupted(), "cache"), blob.Config{FS: p.cfg.FS})
	}
	return err
}

// interrupted returns the folder of the checkpoint of an interrupted step.
func (p *Pager) interrupted() string { return filepath.Join(p.cfg.Dir, interruptedFolder) }

// cached runs f with the cache attached to the manager, which otherwise would also
// keep a copy there of every gradient that goes to the disk.
func (p *Pager) cached(f func()) {
	p.manager.Attach(p.cache)
	f()
	p.manager.Attach(nil)
}

// Persist keeps the gradients of a step that was interrupted between its batches
// as a checkpoint and returns how many groups have some.
func (p *Pager) Persist(ctx context.Context) (n int, err error) {
	if err := errors.Join(p.wait(), p.openCache()); err != nil {
		return 0, err
	}
	p.drop()
	created := uint64(time.Now().Unix())
	kept := memory.New(memory.Config{Cache: p.cache})
	for g := range p.grads {
		if _, ok := p.manager.Tier(p.id(g)); !ok {
			continue
		}
		if err := p.fetch(ctx, g); err != nil {
			return n, err
		}
		var r decide.PersistReport
		p.cached(func() { r, err = decide.PersistGradients(ctx, p.manager, []string{p.id(g)}, created) })
		n += r.Saved
		if err == nil && r.Saved > 0 {
			err = p.list(kept, g)
		}
		if err != nil {
			return n, err
		}
		p.forget(g)
	}
	saved, err := checkpoint.Save(ctx, p.interrupted(), kept, created, checkpoint.SaveOptions{FS: p.cfg.FS})
	if err == nil && len(saved.NotDurable) > 0 {
		err = fmt.Errorf("the gradient of %s is not kept: %s", saved.NotDurable[0].ID, saved.NotDurable[0].Why)
	}
	return n, err
}

// list registers a gradient that the cache has, for the checkpoint.
func (p *Pager) list(kept *memory.Manager, g int) error {
	id := p.id(g)
	key, _ := p.manager.GradientKey(id)
	kept.IndexGradient(id, key)
	want := memory.RAM
	kept.SetHint(id, memory.Hint{Desired: &want, Summary: "gradient of the batches of a step that are done", HasSummary: true})
	return kept.RegisterLazy(id, uint64(p.size(g)), memory.RAM, blob.Gradient, key)
}

// Warm brings back the gradients of the checkpoint that Persist kept and returns how
// many groups have some: none if there is no checkpoint, or a damaged one.
func (p *Pager) Warm(ctx context.Context) (n int, err error) {
	if err := p.openCache(); err != nil {
		return 0, err
	}
	saved, err := checkpoint.Read(p.interrupted(), p.cfg.FS)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, checkpoint.ErrInvalidFormat) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	has := map[string]bool{}
	for i := range saved.Entries {
		e := &saved.Entries[i]
		if !e.IsGrad || e.Blob == nil {
			continue
		}
		// A kill while a later pause of the step replaced it leaves the sum of more batches.
		if info, err := p.cache.Stat(e.Blob.Kind, e.Blob.Key); err != nil || info.Hash != e.Hash {
			continue
		}
		p.manager.IndexGradient(e.ID, e.Blob.Key)
		has[e.ID] = true
	}
	for g := range p.grads {
		if !has[p.id(g)] {
			continue
		}
		if err := p.makeRoom(g); err != nil {
			return n, err
		}
		found := 0
		p.cached(func() { found = decide.WarmGradients(ctx, p.manager, []string{p.id(g)}) })
		if size, _ := p.manager.Len(p.id(g)); found == 0 || size != uint64(p.size(g)) {
			p.forget(g)
			continue
		}
		n++
		p.coming = nil
		d := &p.grads[g]
		if p.cfg.Groups[g].Keep { // it is on Go's heap, in the room of the block
			d.kept, d.block = d.block, ledger.Block{}
			continue
		}
		if _, err := p.manager.Move(ctx, p.id(g), memory.SSD); err != nil {
			return n, err
		}
		d.block.Release()
	}
	return n, nil
}

// Unpersist removes what Persist kept.
func (p *Pager) Unpersist() error {
	if err := p.openCache(); err != nil {
		return err
	}
	err := checkpoint.Remove(p.interrupted(), p.cfg.FS)
	keys, kerr := p.cache.Keys(blob.Gradient)
	err = errors.Join(err, kerr)
	for _, k := range keys {
		err = errors.Join(err, p.cache.Delete(blob.Gradient, k))
	}
	return err
}
