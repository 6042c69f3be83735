package conform

// Channels, containers and context trees.

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/parked"
	"atenia/quila/internal/stores"
)

func nmdbIsolation(t *report) {
	const size = 1000
	m := stores.NewMemory(stores.TierConfig{Dir: t.Dir()})
	b, err := parked.OpenBus(parked.BusConfig{Memory: m, Quotas: [parked.Channels]uint64{3 * size, 3 * size, 3 * size}, Cold: true})
	t.Must(err)
	data := make([]byte, size)
	fill(data, source(5))
	put := func(c parked.Channel, key uint64) { t.Must(b.Put(t.Context(), c, key, data)) }
	levels := func(c parked.Channel, keys ...uint64) (out []stores.Level) {
		for _, k := range keys {
			l, _ := b.Level(c, k)
			out = append(out, l)
		}
		return out
	}
	for _, c := range []parked.Channel{parked.Image, parked.Audio, parked.Text} {
		for k := range uint64(3) {
			put(c, k)
		}
	}
	_, err = b.Get(t.Context(), parked.Text, 0) // now 1 is the one used least recently
	t.Must(err)
	for k := uint64(3); k < 5; k++ {
		put(parked.Text, k)
	}
	if got := levels(parked.Text, 0, 1, 2, 3, 4); !slices.Equal(got, []stores.Level{stores.L3, stores.L5, stores.L5, stores.L3, stores.L3}) {
		t.Errorf("text pages are in %v", got)
	}
	for _, c := range []parked.Channel{parked.Image, parked.Audio} {
		if got := levels(c, 0, 1, 2); !slices.Equal(got, []stores.Level{stores.L3, stores.L3, stores.L3}) {
			t.Errorf("%v pages are in %v", c, got)
		}
	}
	got, err := b.Get(t.Context(), parked.Text, 1)
	t.Must(err)
	if !bytes.Equal(got, data) {
		t.Errorf("a page came back from L5 with other bytes")
	}
	if got := levels(parked.Text, 0, 1, 3, 4); !slices.Equal(got, []stores.Level{stores.L5, stores.L3, stores.L3, stores.L3}) {
		t.Errorf("after a page came back text pages are in %v", got)
	}
	if _, err := b.Get(t.Context(), parked.Text, 99); !errors.Is(err, parked.ErrNotFound) {
		t.Errorf("an unknown page: %v", err)
	}
	t.Must(b.Close())
}

func nmdbLevel(t *report) {
	dir := t.Dir()
	var mu sync.Mutex
	var levels []int
	open := func() (*stores.Memory, *parked.Bus) {
		m := stores.NewMemory(stores.TierConfig{Dir: dir, Wrote: func(_ string, _ uint64, level int) {
			mu.Lock()
			defer mu.Unlock()
			levels = append(levels, level)
		}})
		b, err := parked.OpenBus(parked.BusConfig{Memory: m, Quotas: [parked.Channels]uint64{parked.Text: 1}, Cold: true})
		t.Must(err)
		return m, b
	}
	_, b := open()
	data := make([]byte, 20_000)
	fill(data, source(6))
	t.Must(b.Put(t.Context(), parked.Text, 1, data))
	t.Must(b.Put(t.Context(), parked.Text, 2, data)) // 1 has to go
	if !slices.Equal(levels, []int{3}) {
		t.Errorf("levels %v of what the session evicts, want 3", levels)
	}
	got, err := b.Get(t.Context(), parked.Text, 1)
	t.Must(err)
	if !bytes.Equal(got, data) {
		t.Errorf("level 3 is not read back")
	}
	levels = nil
	t.Must(b.Archive())
	if !slices.Contains(levels, 19) || levels[len(levels)-1] != 19 {
		t.Errorf("levels %v of an archive, want 19 at last", levels)
	}
	t.Must(b.Close())
	_, again := open()
	for key := range uint64(2) {
		got, err := again.Get(t.Context(), parked.Text, key+1)
		t.Must(err)
		if !bytes.Equal(got, data) {
			t.Errorf("page %d of the archive is not read back", key+1)
		}
	}
	t.Must(again.Close())
	t.Figure("levels 3 and 19")
}

func containerRoundTrip(t *report) {
	r := source(7)
	c := &parked.Container{}
	for i := range 4 {
		p := parked.Part{ID: uint32(3 * i), Name: fmt.Sprint("channel ", i), Kind: parked.Kind(2 + i), Meta: map[string]string{"rate": "16000", "": "empty", "a": ""}}
		for range 1 + 3*i {
			chunk := make([]byte, 8*r.IntN(20))
			fill(chunk, r)
			p.Chunks = append(p.Chunks, chunk)
		}
		c.Parts = append(c.Parts, p)
	}
	whole, err := c.Append(nil)
	t.Must(err)
	parsed, err := parked.Parse(whole)
	t.Must(err)
	for set := 1; set < 1<<4-1; set++ {
		var in, out []uint32
		for i := range 4 {
			if set>>i&1 != 0 {
				in = append(in, uint32(3*i))
			} else {
				out = append(out, uint32(3*i))
			}
		}
		taken, err := parsed.Extract(in...).Append(nil)
		t.Must(err)
		rest, err := parsed.Extract(out...).Append(nil)
		t.Must(err)
		a, err := parked.Parse(taken)
		t.Must(err)
		if len(a.Parts) != bits.OnesCount(uint(set)) {
			t.Errorf("set %b has %d channels", set, len(a.Parts))
		}
		b, err := parked.Parse(rest)
		t.Must(err)
		merged, err := parked.MergeContainers(b, a)
		t.Must(err)
		again, err := merged.Append(nil)
		t.Must(err)
		if !bytes.Equal(again, whole) {
			t.Errorf("set %b: taken out and put back, the bytes differ", set)
		}
	}
	for _, ids := range [][]uint32{{0, 3, 6, 9}, {9, 0}} { // all, and whatever their order
		b, err := parsed.Extract(ids...).Append(nil)
		t.Must(err)
		if bytes.Equal(b, whole) != (len(ids) == 4) {
			t.Errorf("channels %v: %d bytes of %d", ids, len(b), len(whole))
		}
	}
	cut := 0
	for n := range whole {
		if _, err := parked.Parse(whole[:n]); !errors.Is(err, parked.ErrContainer) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
		cut++
	}
	accepted := 0
	for range 5000 {
		b := flip(whole, r.IntN(len(whole)))
		x, err := parked.Parse(b)
		if err != nil {
			continue
		}
		accepted++
		if again, err := x.Append(nil); err != nil || !bytes.Equal(again, b) {
			t.Errorf("a changed container is accepted and written in another form")
		}
	}
	t.Figure("14 sets, %d cuts refused, %d of 5000 changes are containers too", cut, accepted)
}

// A codebook is random rows.
type codebook struct {
	rows [][]float32
	mean []float32
	sum  [32]byte
}

func newCodebook(seed uint64, n, dim int) *codebook {
	c := &codebook{mean: make([]float32, dim), sum: sha256.Sum256([]byte{byte(seed)})}
	r := source(seed)
	for range n {
		row := normals(r, dim)
		for i, x := range row {
			c.mean[i] += x / float32(n)
		}
		c.rows = append(c.rows, row)
	}
	return c
}

func (c *codebook) Len() int                  { return len(c.rows) }
func (c *codebook) Dim() int                  { return len(c.mean) }
func (c *codebook) Row(code uint32) []float32 { return c.rows[code] }
func (c *codebook) Mean() []float32           { return c.mean }
func (c *codebook) Sum256() [32]byte          { return c.sum }

func sctLife(t *report) {
	const block = 64
	account := ledger.New(nil, 0)
	m := stores.NewMemory(stores.TierConfig{Account: account})
	cache := parked.NewCache[float32](100)
	build := func(book *codebook, codes []uint32) *parked.Tree[float32] {
		b, err := parked.NewBuilder(book, block, m, cache)
		t.Must(err)
		x, err := b.Build(codes)
		t.Must(err)
		return x
	}
	r := source(8)
	codes := make([]uint32, 300)
	for i := range codes {
		codes[i] = uint32(r.IntN(32))
	}
	threads, held := runtime.NumGoroutine(), account.Held()
	one := newCodebook(1, 32, 8)
	x := build(one, codes)
	if len(x.Nodes) != 5 || x.Nodes[4].To != 300 || x.Nodes[2].Prev != 1 || x.Nodes[2].Next != 3 || x.Nodes[4].Next != parked.None {
		t.Errorf("Phase 1 made %d nodes", len(x.Nodes))
	}
	t.Must(x.Refine([]int{3, 1}))
	if n := x.Nodes[1].Children; len(x.Nodes) != 21 || len(n) != 8 || n[0] != 5 || x.Nodes[5].From != 64 || x.Nodes[5].To != 72 || x.Nodes[12].Next != 13 || x.Nodes[13].From != 192 {
		t.Errorf("Phase 3 made %d nodes, children %v", len(x.Nodes), n)
	}
	hits, err := x.Query(nil, x.Nodes[14].Embedding, 3)
	t.Must(err)
	if hits[0].ID != 14 || !slices.Contains(x.Pages(hits), 3) {
		t.Errorf("the query for node 14 finds %v", hits)
	}
	if account.Held() == held {
		t.Errorf("the tree holds no memory of the account")
	}
	t.Must(x.Close())
	if n, h := runtime.NumGoroutine(), account.Held(); n > threads || h != held {
		t.Errorf("after the call: %d goroutines and %d bytes more", n-threads, h-held)
	}
	for _, s := range []struct {
		what   string
		book   *codebook
		codes  []uint32
		reused int
	}{
		{"the same context", one, codes, 5},
		{"a prefix of two blocks", one, append(slices.Clone(codes[:130]), 31-codes[130]), 2},
		{"another codebook", newCodebook(2, 32, 8), codes, 0},
		{"another beginning", one, append([]uint32{(codes[0] + 1) % 32}, codes[1:]...), 0},
	} {
		before := cache.Counts()
		x := build(s.book, s.codes)
		after := cache.Counts()
		if x.Reused != s.reused || (after.Rebuilds > before.Rebuilds) != (s.reused == 0) {
			t.Errorf("%s: %d nodes reused, want %d; rebuilds %d", s.what, x.Reused, s.reused, after.Rebuilds-before.Rebuilds)
		}
		t.Must(x.Close())
	}
	// The same nodes, with the cache and without.
	with, plain := build(one, codes), func() *parked.Tree[float32] {
		b, err := parked.NewBuilder(one, block, m, nil)
		t.Must(err)
		x, err := b.Build(codes)
		t.Must(err)
		return x
	}()
	for i := range with.Nodes {
		if !slices.Equal(with.Nodes[i].Embedding, plain.Nodes[i].Embedding) {
			t.Errorf("node %d from the cache differs", i)
		}
	}
	t.Must(with.Close())
	t.Must(plain.Close())
	c := cache.Counts()
	t.Figure("%d hits, %d full rebuilds", c.Hits, c.Rebuilds)
}
