package parked

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"atenia/internal/memory"
	"atenia/quila/internal/stores"
)

// A Channel is a peripheral channel.
type Channel uint8

// The channels.
const (
	Text Channel = iota
	Image
	Audio
	Channels
)

var channelNames = [Channels]string{"text", "image", "audio"}

// String returns text, image or audio.
func (c Channel) String() string {
	if c < Channels {
		return channelNames[c]
	}
	return fmt.Sprintf("Channel(%d)", uint8(c))
}

// The errors of a bus, for [errors.Is].
var (
	ErrNotFound = errors.New("no such page")
	errChannel  = errors.New("no such channel")
	errSize     = errors.New("a page has no bytes, or too many")
)

// A pageError says which page of which channel it is about. It matches its Err.
type pageError struct {
	Op      string
	Channel Channel
	Key     uint64
	Err     error
}

func (e *pageError) Error() string {
	return fmt.Sprintf("nmdb %s, %v page %#x: %v", e.Op, e.Channel, e.Key, e.Err)
}

// Unwrap returns what the error is matched by.
func (e *pageError) Unwrap() error { return e.Err }

// A BusConfig configures a [Bus].
type BusConfig struct {
	Memory *stores.Memory // nil: one of its own, in RAM
	// Quotas are the bytes that a channel may hold in RAM, 0 for no limit.
	Quotas [Channels]uint64
	// Cold keeps what is evicted in L5: the memory has a folder. Without it, it is
	// dropped.
	Cold bool
}

// mostPage is the largest page, so that one block of L5 is never more than it
// decodes.
const mostPage = 64 << 20

// A Bus is the peripheral channels of a model. It is safe for concurrent use;
// calls for one channel wait for each other, calls for two do not.
type Bus struct {
	cold     bool
	channels [Channels]channel
}

// A channel is its pages and when each was used.
type channel struct {
	mu    sync.Mutex
	group *stores.Group
	pages map[uint64]*page
	clock uint64
}

type page struct {
	*stores.Page
	key  uint64
	used uint64
}

// OpenBus makes a bus. With a folder, the pages that lie there are in L5.
func OpenBus(c BusConfig) (*Bus, error) {
	if c.Memory == nil {
		c.Memory = stores.NewMemory(stores.TierConfig{})
	}
	b := &Bus{cold: c.Cold}
	for i := range b.channels {
		if err := b.channels[i].open(c, Channel(i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (c *channel) open(cfg BusConfig, id Channel) (err error) {
	limit := cfg.Quotas[id]
	if limit == 0 {
		limit = memory.NoQuota
	}
	c.pages = map[uint64]*page{}
	quotas := []stores.Quota{{Level: stores.L3, Bytes: limit}}
	if cfg.Cold {
		quotas = append(quotas, stores.Quota{Level: stores.L5, Bytes: memory.NoQuota})
	}
	c.group, err = cfg.Memory.Group("nmdb/"+id.String(), stores.NMDB, quotas, func(_ stores.Level, pages []*stores.Page, out []float64) {
		for i, p := range pages {
			out[i] = float64(p.Owner.(*page).used)
		}
	})
	if err != nil {
		return err
	}
	c.group.OnMove = func(p *stores.Page, s stores.Step) {
		if s.To == 0 {
			delete(c.pages, p.Owner.(*page).key)
		}
	}
	if !cfg.Cold {
		return nil
	}
	for block, r := range c.group.Folder().All() {
		p, err := c.group.Adopt(pageName(r.Key), int(r.Length), block)
		if err != nil {
			return err
		}
		c.enter(p, r.Key)
	}
	return nil
}

func pageName(key uint64) string { return fmt.Sprintf("%016x", key) }

// enter makes a page known, as the one that was used last.
func (c *channel) enter(tp *stores.Page, key uint64) *page {
	p := &page{Page: tp, key: key}
	tp.Owner, tp.Key = p, key
	c.pages[key] = p
	c.touch(p)
	return p
}

func (c *channel) touch(p *page) {
	c.clock++
	p.used = c.clock
}

func (b *Bus) channel(op string, id Channel, key uint64) (*channel, error) {
	if id >= Channels {
		return nil, &pageError{op, id, key, errChannel}
	}
	return &b.channels[id], nil
}

// Put keeps a copy of data under a key, in place of what was there, and gives up
// what the channel has no room for.
func (b *Bus) Put(ctx context.Context, id Channel, key uint64, data []byte) error {
	c, err := b.channel("put", id, key)
	if err != nil {
		return err
	}
	if len(data) == 0 || len(data) > mostPage {
		return &pageError{"put", id, key, fmt.Errorf("%w: %d", errSize, len(data))}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.pages[key]; old != nil {
		delete(c.pages, key)
		if err := c.group.Remove(old.Page); err != nil {
			return &pageError{"put", id, key, err}
		}
	}
	tp, err := c.group.Page(pageName(key), len(data), stores.L3)
	if err != nil {
		return &pageError{"put", id, key, err}
	}
	copy(tp.Bytes(), data)
	p := c.enter(tp, key)
	if err := c.group.Settle(ctx, p.Page); err != nil {
		return &pageError{"put", id, key, err}
	}
	return nil
}

// Get returns a copy of a page, which is in L3 then.
func (b *Bus) Get(ctx context.Context, id Channel, key uint64) ([]byte, error) {
	c, err := b.channel("get", id, key)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.need(ctx, key)
	if err != nil {
		return nil, &pageError{"get", id, key, err}
	}
	return append([]byte(nil), p.Bytes()...), nil
}

// need brings a page to L3 as the one that was used last.
func (c *channel) need(ctx context.Context, key uint64) (*page, error) {
	p := c.pages[key]
	if p == nil {
		return nil, ErrNotFound
	}
	c.touch(p)
	if p.Level().InRAM() {
		return p, nil
	}
	if err := c.group.Move(ctx, p.Page, stores.L3); err != nil {
		return nil, err
	}
	return p, c.group.Settle(ctx, p.Page)
}

// Request brings pages to L3 before they are needed. Those that are unknown are
// left out.
func (b *Bus) Request(ctx context.Context, id Channel, keys ...uint64) error {
	c, err := b.channel("request", id, 0)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if _, err := c.need(ctx, key); err != nil && !errors.Is(err, ErrNotFound) {
			return &pageError{"request", id, key, err}
		}
	}
	return nil
}

// Level returns where a page is.
func (b *Bus) Level(id Channel, key uint64) (stores.Level, bool) {
	c, err := b.channel("level", id, key)
	if err != nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pages[key]; p != nil {
		return p.Level(), true
	}
	return 0, false
}

// Archive writes every page to L5, compressed for what stays. When it returns, a
// kill loses nothing.
func (b *Bus) Archive() error {
	if !b.cold {
		return stores.ErrNoFolder
	}
	for i := range b.channels {
		if err := b.channels[i].archive(); err != nil {
			return fmt.Errorf("nmdb archive, %v: %w", Channel(i), err)
		}
	}
	return nil
}

func (c *channel) archive() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pages {
		if err := c.group.Save(p.Page); err != nil {
			return err
		}
	}
	return c.group.Folder().Archive()
}

// Close frees all pages and writes the indexes of the folders.
func (b *Bus) Close() error {
	var errs []error
	for i := range b.channels {
		errs = append(errs, b.channels[i].group.Close())
	}
	return errors.Join(errs...)
}
