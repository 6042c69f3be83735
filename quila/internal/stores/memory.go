package stores

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/store/durable"
)

// A TierConfig configures a [Memory]. Its zero value has RAM without limit and no
// folder.
type TierConfig struct {
	Account *ledger.Account // that RAM is reserved in; nil: none
	Dir     string          // folder of L5, a folder below for each group; "": none
	FS      durable.FS      // nil: the operating system's
	Device  Device          // nil: none
	// Wrote, if not nil, learns of every cold block that is written and the level it
	// is compressed at.
	Wrote func(group string, block uint64, level int)
	// Moved, if not nil, learns of every step of a page, in order.
	Moved func(Step)
}

// A Step is a page's move from one level to another; To is 0 for one that was
// dropped.
type Step struct {
	Page     string
	From, To Level
	Why      string // asked, promote, demote
	Score    float64
}

// A Memory is what the stores of a model share. It is safe for concurrent use.
type Memory struct {
	cfg     TierConfig
	manager *memory.Manager

	mu     sync.Mutex
	groups []*Group
	made   int // groups since the beginning
}

// NewMemory returns a memory without pages.
func NewMemory(c TierConfig) *Memory {
	if c.Device == nil {
		c.Device = noDevice{}
	}
	return &Memory{cfg: c, manager: memory.New(memory.Config{FS: c.FS})}
}

// Account returns the account that RAM is reserved in.
func (m *Memory) Account() *ledger.Account { return m.cfg.Account }

// Residence returns what the engine's manager knows of a page.
func (m *Memory) Residence(page string) (memory.Residence, bool) { return m.manager.Residence(page) }

// Close frees all pages and writes the indexes of their folders.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, g := range m.groups {
		errs = append(errs, g.close())
	}
	m.groups = nil
	return errors.Join(errs...)
}

// Floats returns memory as numbers. It must be aligned for them, as that of pages
// is.
func Floats[F float32 | float64](b []byte) []F {
	var x F
	size := int(unsafe.Sizeof(x))
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
}

// Vectors is memory for the vectors of an index: they stay in RAM, reserved in the
// account. It is safe for concurrent use.
type Vectors struct {
	m      *Memory
	mu     sync.Mutex
	blocks map[*float32]ledger.Block
}

// Vectors returns memory for the vectors of an index.
func (m *Memory) Vectors() *Vectors {
	return &Vectors{m: m, blocks: map[*float32]ledger.Block{}}
}

// Page returns so many numbers, all zero.
func (v *Vectors) Page(floats int) ([]float32, error) {
	b, err := ledger.NewBlock(v.m.cfg.Account, ledger.Tensors, 4*floats)
	if err != nil {
		return nil, err
	}
	x := Floats[float32](b.Bytes)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.blocks[unsafe.SliceData(x)] = b
	return x, nil
}

// Release gives a page back.
func (v *Vectors) Release(page []float32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	b := v.blocks[unsafe.SliceData(page)]
	b.Release()
	delete(v.blocks, unsafe.SliceData(page))
}

// A Quota is the limit of one level of a group.
type Quota struct {
	Level Level
	Bytes uint64 // memory.NoQuota: none
	Soft  bool   // of the last level: see [memory.Level]
}

// A Group is pages that share quotas and a score.
type Group struct {
	// OnMove, if not nil, learns of every step of a page, in order. It is set before
	// there are pages and runs while the group is locked.
	OnMove func(*Page, Step)

	m       *Memory
	name    string
	tag     Tag
	levels  []Level
	cascade *memory.Cascade
	folder  *Folder // nil without a folder

	mu    sync.Mutex
	pages map[string]*Page
	next  uint64 // number of the next cold block
}

// A Score fills out with a number for each page; the lowest goes down first. The
// group is locked while it runs.
type Score func(at Level, pages []*Page, out []float64)

// Group makes a group. Its quotas go from the fastest level to the slowest; L5
// needs a folder, in which the group has a folder of its name. A name that is in
// use gets a number, unless there is a folder to it.
func (m *Memory) Group(name string, tag Tag, quotas []Quota, score Score) (*Group, error) {
	m.mu.Lock()
	m.made++
	if slices.ContainsFunc(m.groups, func(g *Group) bool { return g.name == name }) {
		if slices.ContainsFunc(quotas, func(q Quota) bool { return q.Level == L5 }) {
			m.mu.Unlock()
			return nil, fmt.Errorf("group %s: there is one already", name)
		}
		name = fmt.Sprintf("%s.%d", name, m.made)
	}
	m.mu.Unlock()
	g := &Group{m: m, name: name, tag: tag, pages: map[string]*Page{}}
	levels := make([]memory.Level, len(quotas))
	for i, q := range quotas {
		if i > 0 && !legal(quotas[i-1].Level, q.Level) {
			return nil, &moveError{name, quotas[i-1].Level, q.Level}
		}
		levels[i] = memory.Level{Name: q.Level.String(), Tier: memory.RAM, Quota: q.Bytes, Soft: q.Soft}
		if q.Level == L5 {
			if m.cfg.Dir == "" {
				return nil, fmt.Errorf("group %s: %w", name, ErrNoFolder)
			}
			levels[i].Tier = memory.SSD
			if err := g.open(); err != nil {
				return nil, err
			}
		}
		g.levels = append(g.levels, q.Level)
	}
	var found []*Page
	g.cascade = memory.NewCascade(m.manager, owner{g}, levels, func(level int, ids []string, out []float64) {
		found = found[:0]
		for _, id := range ids {
			found = append(found, g.page(id))
		}
		score(g.levels[level], found, out)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.groups = append(m.groups, g)
	return g, nil
}

// open opens the group's folder.
func (g *Group) open() (err error) {
	c := ColdConfig{Dir: filepath.Join(g.m.cfg.Dir, g.name), FS: g.m.cfg.FS}
	if wrote := g.m.cfg.Wrote; wrote != nil {
		c.Wrote = func(block uint64, level int) { wrote(g.name, block, level) }
	}
	g.folder, err = OpenCold(c)
	if err == nil {
		for _, block := range g.folder.Blocks() {
			g.next = max(g.next, block+1)
		}
	}
	return err
}

// Folder returns the folder of L5; nil if there is none.
func (g *Group) Folder() *Folder { return g.folder }

func (g *Group) page(id string) *Page {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages[id]
}

// Close frees the group's pages and writes the index of its folder.
func (g *Group) Close() error {
	g.m.mu.Lock()
	g.m.groups = slices.DeleteFunc(g.m.groups, func(x *Group) bool { return x == g })
	g.m.mu.Unlock()
	return g.close()
}

func (g *Group) close() error {
	g.mu.Lock()
	pages := g.pages
	g.pages = map[string]*Page{}
	g.mu.Unlock()
	for _, p := range pages {
		_ = g.cascade.Remove(p.id) // it is there
		p.drop()
	}
	if g.folder == nil {
		return nil
	}
	return g.folder.Close()
}

// index returns the place of a level in the group's list.
func (g *Group) index(l Level) (int, bool) {
	for i, x := range g.levels {
		if x == l {
			return i, true
		}
	}
	return 0, false
}

// SetQuota changes the quota of a level; [Group.Settle] keeps it.
func (g *Group) SetQuota(l Level, bytes uint64) {
	if i, ok := g.index(l); ok {
		g.cascade.SetQuota(i, bytes)
	}
}

// Over returns by how many bytes a level exceeds its quota.
func (g *Group) Over(l Level) uint64 {
	i, ok := g.index(l)
	if !ok {
		return 0
	}
	return g.cascade.Over(i)
}

// owner moves pages for the cascade.
type owner struct{ g *Group }

// MoveOwned writes a page to L5 or reads it from there.
func (o owner) MoveOwned(_ context.Context, id string, _, to memory.Tier) error {
	p := o.g.page(id)
	if p == nil {
		return errNoPage
	}
	if to == memory.SSD {
		return p.store()
	}
	return p.load()
}

// Lends is for weights that are streamed; pages are not.
func (o owner) Lends(string) bool { return false }

// alloc takes RAM for a page.
func (m *Memory) alloc(p *Page) (err error) {
	m.cfg.Device.Alloc(p.tag, p.id, p.size, p.tag.Managed())
	if p.block, err = ledger.NewBlock(m.cfg.Account, ledger.Tensors, p.size); err != nil {
		m.cfg.Device.Free(p.id)
	}
	return err
}

// Used returns the bytes in a level.
func (g *Group) Used(l Level) uint64 {
	i, ok := g.index(l)
	if !ok {
		return 0
	}
	return g.cascade.Used(i)
}
