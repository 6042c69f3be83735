package sched

import "slices"

// keepBytes is the default of [Config.KeepBytes].
const keepBytes = 256 << 20

// blockTokens is how many tokens a hash of a prefix covers more than the one before.
const blockTokens = 16

// mostCandidates is how many sequences a prompt is compared with.
const mostCandidates = 64

// A prefixCache is the sequences of ended requests whose slots were given to others, the
// prefix cache beyond the slots. They share pages with each other and with slots, so
// that a system prompt lies there once, as long as one sequence has it. The one
// that was not used for longest is dropped when all take more than the limit, or
// when a request needs the memory.
type prefixCache struct {
	limit  int64
	bytes  int64         // of all pages, each once
	pages  []int         // [states] the same in pages
	owners map[*byte]int // how many sequences hold a page, by its first byte
	list   []*prefix
	// index has the sequences that begin with some whole blocks of tokens, by a
	// hash of them: each block's follows from the one before, so that a prompt finds
	// the longest prefix in as many steps as it has blocks. Tokens are compared.
	index map[uint64][]*prefix
}

// A prefix is a kept sequence.
type prefix struct {
	*slot
	chain []uint64 // of its whole blocks
	gone  bool     // dropped
}

func newPrefixCache(limit, cacheBytes int64, pools int) prefixCache {
	if limit == 0 {
		if limit = keepBytes; cacheBytes > 0 {
			limit = min(limit, cacheBytes/2)
		}
	}
	return prefixCache{limit: max(0, limit), pages: make([]int, pools), owners: map[*byte]int{}, index: map[uint64][]*prefix{}}
}

// chain appends the hash of every whole block of tokens with all before it, and with
// the adapter.
func chain(to []uint64, a adapter, tokens []int32) []uint64 {
	h := a.seed()
	for i, t := range tokens {
		h = mix(h, t)
		if (i+1)%blockTokens == 0 {
			to = append(to, h)
		}
	}
	return to
}

// chainSeed is the hash of no tokens.
const chainSeed = uint64(0x9E3779B97F4A7C15)

// mix returns the hash of some tokens and one more: the mixing step of MurmurHash3.
func mix(h uint64, token int32) uint64 {
	h = (h ^ uint64(uint32(token))) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

// find returns the kept sequence that shares the longest prefix with a request.
func (c *prefixCache) find(r *Request) (best *prefix, most int) {
	if len(c.list) == 0 {
		return nil, 0
	}
	blocks := chain(nil, r.adapter(), r.Prompt)
	deep := 0
	for deep < len(blocks) && len(c.index[blocks[deep]]) > 0 {
		deep++
	}
	tried := 0
	for deep--; deep >= 0 && most == 0; deep-- {
		for _, p := range slices.Backward(c.index[blocks[deep]]) {
			if n := p.shares(r); n > most {
				best, most = p, n
			}
			if tried++; tried == mostCandidates {
				return best, most
			}
		}
	}
	return best, most
}

// detach takes the sequence out of an idle slot, which is then empty. nil = it is
// not worth to be kept.
func (s *Scheduler) detach(sl *slot) *prefix {
	if s.storage.scoped || sl.spill != nil || sl.done < blockTokens || s.kept.disk.folder == nil && sl.pageBytes() > s.kept.memory.limit {
		return nil
	}
	old := *sl
	old.tokens, old.spans, old.pages, old.shadow = slices.Clone(sl.tokens[:sl.done]), nil, nil, nil // the shadow stays in the slot
	sl.states, sl.snapshots, sl.done = make([]*State, len(s.storage.pools)), nil, 0
	for i, p := range s.storage.pools {
		sl.states[i] = p.Unbound()
	}
	return &prefix{slot: &old}
}

// keep keeps what detach returned.
func (s *Scheduler) keep(p *prefix) {
	c := &s.kept.memory
	if p.pageBytes() > c.limit {
		s.saveOrDrop(p)
		return
	}
	p.chain = chain(nil, p.adapter, p.tokens)
	last := p.chain[len(p.chain)-1]
	if s.storage.plain {
		for _, o := range c.index[last] {
			if p.within(o) { // a longer one is there
				o.began = max(o.began, p.began)
				p.clear()
				return
			}
		}
		for _, h := range p.chain {
			for _, o := range slices.Clone(c.index[h]) {
				if o.within(p) {
					s.kept.memory.drop(o)
				}
			}
		}
	}
	s.queueSave(p)
	c.list = append(c.list, p)
	for _, h := range p.chain {
		c.index[h] = append(c.index[h], p)
	}
	c.count(p, 1)
	for c.bytes > c.limit {
		o := c.oldest()
		s.record(Decision{Request: o.by, Action: actionEvict, Rule: byRoom, Observed: c.bytes, Limit: c.limit})
		s.kept.memory.drop(o)
	}
}

// within reports whether a sequence is the beginning of another, which then serves
// every prompt that it would.
func (p *prefix) within(o *prefix) bool {
	n := min(p.done, o.done)
	return p.done <= o.done && p.adapter == o.adapter && slices.Equal(p.tokens, o.tokens[:n]) && p.s.x.RopeClass(p.span) == o.s.x.RopeClass(o.span) &&
		sameImages(p.images, o.images, n, p.s.x.Whole()) == n
}

// drop frees a kept sequence.
func (c *prefixCache) drop(p *prefix) {
	c.count(p, -1)
	is := func(o *prefix) bool { return o == p }
	c.list = slices.DeleteFunc(c.list, is)
	for _, h := range p.chain {
		if c.index[h] = slices.DeleteFunc(c.index[h], is); len(c.index[h]) == 0 {
			delete(c.index, h)
		}
	}
	p.gone = true
	p.clear()
}

// oldest returns the sequence that was not used for longest, nil if none is kept.
func (c *prefixCache) oldest() (least *prefix) {
	for _, p := range c.list {
		if least == nil || p.began < least.began {
			least = p
		}
	}
	return least
}

// count adds the pages of a sequence and of its snapshots, or takes them away.
func (c *prefixCache) count(p *prefix, by int) {
	each := func(state int, x *State) {
		for _, page := range x.Pages() {
			if len(page) == 0 { // behind a window
				continue
			}
			at := &page[0]
			before := c.owners[at]
			c.owners[at] = before + by
			switch {
			case before == 0:
				c.bytes, c.pages[state] = c.bytes+int64(len(page)), c.pages[state]+1
			case before+by == 0:
				c.bytes, c.pages[state] = c.bytes-int64(len(page)), c.pages[state]-1
				delete(c.owners, at)
			}
		}
	}
	for i, x := range p.states {
		each(i, x)
	}
	for _, m := range p.snapshots {
		for i, x := range m.states {
			if x != nil {
				each(i, x)
			}
		}
	}
}

// clear frees all kept sequences.
func (c *prefixCache) clear() {
	for _, p := range slices.Clone(c.list) {
		c.drop(p)
	}
}
