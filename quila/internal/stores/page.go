package stores

import (
	"context"
	"fmt"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
)

// A Page is a piece of memory that moves as one.
type Page struct {
	g    *Group
	id   string
	tag  Tag
	size int
	// Records, if not nil, lists the records of the page when it is written to L5, so
	// that each is found by its key there. It may first bring the bytes up to date.
	Records func() []ColdRecord
	Key     uint64 // of a page without records, which is one record itself
	Owner   any    // for whoever made the page

	block ledger.Block
	cold  uint64 // number of its block
	kept  bool   // the block on disk has what the page has
	level Level
}

// Page makes a page of zeros in a level in RAM. The group may be over quota
// afterwards, until [Group.Settle].
func (g *Group) Page(id string, size int, at Level) (*Page, error) {
	level, ok := g.index(at)
	if !ok || !at.InRAM() {
		return nil, &moveError{Page: id, To: at}
	}
	p := &Page{g: g, id: g.name + "/" + id, tag: g.tag, size: size, level: at}
	g.mu.Lock()
	if g.pages[p.id] != nil {
		g.mu.Unlock()
		return nil, fmt.Errorf("page %s: there is one already", p.id)
	}
	p.cold = g.next
	p.Key = p.cold
	g.next++
	g.pages[p.id] = p
	g.mu.Unlock()
	err := g.m.alloc(p)
	if err == nil {
		if err = g.cascade.Add(p.id, uint64(size), level); err != nil {
			p.drop()
		}
	}
	if err != nil {
		g.mu.Lock()
		delete(g.pages, p.id)
		g.mu.Unlock()
		return nil, err
	}
	if at <= L2 {
		p.toDevice()
	}
	return p, nil
}

// Adopt makes a page of a block that lies in the group's folder, in L5.
func (g *Group) Adopt(id string, size int, block uint64) (*Page, error) {
	level, ok := g.index(L5)
	if !ok {
		return nil, fmt.Errorf("page %s: %w", id, ErrNoFolder)
	}
	p := &Page{g: g, id: g.name + "/" + id, tag: g.tag, size: size, level: L5, cold: block, kept: true}
	if err := g.cascade.Add(p.id, uint64(size), level); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages[p.id] = p
	return p, nil
}

// ID returns the name of the page: the group's, a slash and its own.
func (p *Page) ID() string { return p.id }

// Level returns where the page is.
func (p *Page) Level() Level { return p.level }

// Block returns the number of the page's block in the folder.
func (p *Page) Block() uint64 { return p.cold }

// Bytes returns the bytes of a page in RAM, nil for one in L5. Whoever writes them
// calls [Page.Changed].
func (p *Page) Bytes() []byte { return p.block.Bytes }

// Changed says that the bytes are no longer those of the block on disk.
func (p *Page) Changed() { p.kept = false }

// store writes a page to its block and frees the RAM.
func (p *Page) store() error {
	if p.g.folder == nil {
		return ErrNoFolder
	}
	if err := p.save(); err != nil {
		return err
	}
	p.free()
	return nil
}

// save writes a page to its block unless that has the same bytes.
func (p *Page) save() error {
	if p.kept {
		return nil
	}
	recs := []ColdRecord{{Key: p.Key, Length: uint32(p.size)}}
	if p.Records != nil {
		recs = p.Records()
	}
	if err := p.g.folder.Put(p.cold, recs, p.block.Bytes); err != nil {
		return err
	}
	p.kept = true
	return nil
}

// load reads a page from its block.
func (p *Page) load() error {
	_, raw, err := p.g.folder.Read(p.cold)
	if err != nil {
		return err
	}
	if len(raw) != p.size {
		return &blockError{File: p.id, Why: fmt.Sprintf("it has %d bytes, the page %d", len(raw), p.size)}
	}
	if err := p.g.m.alloc(p); err != nil {
		return err
	}
	copy(p.block.Bytes, raw)
	return nil
}

func (p *Page) free() {
	if p.block.Bytes != nil {
		p.block.Release()
		p.g.m.cfg.Device.Free(p.id)
	}
}

// drop frees a page for good, but for its block on disk.
func (p *Page) drop() { p.free(); p.level = 0 }

// Save writes a page to its block and keeps it where it is, so that a kill does
// not lose it.
func (g *Group) Save(p *Page) error {
	if g.folder == nil {
		return fmt.Errorf("page %s: %w", p.id, ErrNoFolder)
	}
	if !p.level.InRAM() {
		return nil
	}
	return p.save()
}

// Remove frees a page and deletes its block.
func (g *Group) Remove(p *Page) error {
	g.mu.Lock()
	_, ok := g.pages[p.id]
	delete(g.pages, p.id)
	g.mu.Unlock()
	if !ok {
		return fmt.Errorf("page %s: %w", p.id, errNoPage)
	}
	err := g.cascade.Remove(p.id)
	p.drop()
	if err == nil && g.folder != nil {
		err = g.folder.Remove(p.cold)
	}
	return err
}

// Move brings a page to a level by one legal step, whatever the quota there.
func (g *Group) Move(ctx context.Context, p *Page, to Level) error {
	from := p.level
	if from == to {
		return nil
	}
	level, ok := g.index(to)
	if !ok || !legal(from, to) {
		return &moveError{p.id, from, to}
	}
	g.before(p, to)
	if err := g.cascade.Move(ctx, p.id, level); err != nil {
		return err
	}
	why := "asked"
	if to < from {
		why = "promote"
	}
	g.moved(p, Step{Page: p.id, From: from, To: to, Why: why})
	return nil
}

// Settle keeps the quotas: pages of the lowest score go down. The page keep, which
// may be nil, stays where it is.
func (g *Group) Settle(ctx context.Context, keep *Page) error {
	var stays string
	if keep != nil {
		stays = keep.id
	}
	var removed error
	err := g.cascade.Settle(ctx, stays, func(d memory.Descent) {
		p := g.page(d.ID)
		s := Step{Page: d.ID, From: g.levels[d.From], Why: "demote", Score: d.Score}
		if d.To >= 0 {
			s.To = g.levels[d.To]
			g.moved(p, s)
			return
		}
		g.mu.Lock()
		delete(g.pages, d.ID)
		g.mu.Unlock()
		p.drop()
		if g.folder != nil && removed == nil {
			removed = g.folder.Remove(p.cold)
		}
		g.tell(p, s)
	})
	if err == nil {
		err = removed
	}
	return err
}

// before tells the device of a move to come.
func (g *Group) before(p *Page, to Level) {
	if to < p.level && to <= L3 {
		g.m.cfg.Device.Prefetch(p.id, to)
	}
}

// toDevice tells the device that a page is its own.
func (p *Page) toDevice() {
	p.g.m.cfg.Device.Advise(p.id, PreferDevice)
	p.g.m.cfg.Device.Advise(p.id, AccessedBy)
}

// moved notes a page's new level, with the advice that goes with it.
func (g *Group) moved(p *Page, s Step) {
	if p.tag.Managed() {
		switch {
		case s.To == L2 && s.From == L3:
			p.toDevice()
		case s.To == L3 && s.From == L2:
			g.m.cfg.Device.Advise(p.id, PreferCPU)
		}
	}
	p.level = s.To
	g.tell(p, s)
}

func (g *Group) tell(p *Page, s Step) {
	if g.OnMove != nil {
		g.OnMove(p, s)
	}
	if g.m.cfg.Moved != nil {
		g.m.cfg.Moved(s)
	}
}
