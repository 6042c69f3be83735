package stores

// Which pages go down, which come up, and what is learned from a miss,
// [R-20.1c].

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// A policy is the memory of decisions and their scratch.
type policy struct {
	missed, busy []*page // since the last commit: to load, to promote
	util, wkv    []float64
	trace        []float64
	idle         []int64
	features     []float64 // [entries, 4] of the level that was scored last
	scored       []span
}

// A span is the entries of a page among those that were scored.
type span struct {
	page     *page
	from, to int
}

// A gone says when a page was evicted to L5 and what was known then.
type gone struct {
	turn     int64
	features map[uint64][Terms]float64
	kept     [Terms]float64 // mean of the entries that stayed
	stayed   bool
}

// scorePages gives each page the best score of its entries, normalized among all
// entries of the level.
func (s *KFE) scorePages(_ Level, pages []*Page, out []float64) {
	p := &s.policy
	s.gather(pages)
	for i, sp := range p.scored {
		out[i] = math.Inf(-1)
		for j := sp.from; j < sp.to; j++ {
			out[i] = max(out[i], s.weights.Score(p.features[Terms*j:]))
		}
	}
}

// gather computes the features of the entries of pages.
func (s *KFE) gather(pages []*Page) {
	p := &s.policy
	p.util, p.wkv, p.trace, p.idle, p.scored = p.util[:0], p.wkv[:0], p.trace[:0], p.idle[:0], p.scored[:0]
	for _, tp := range pages {
		pg := tp.Owner.(*page)
		sp := span{page: pg, from: len(p.idle)}
		for _, at := range pg.slots {
			if !at.taken {
				continue
			}
			n := pg.lib.neuron
			p.util = append(p.util, float64(s.signals[0][n]))
			p.wkv = append(p.wkv, float64(s.signals[1][n]))
			p.trace = append(p.trace, float64(s.signals[2][n]))
			p.idle = append(p.idle, max(0, s.turn-pg.lib.entries[pg.lib.by[at.id]].last))
		}
		sp.to = len(p.idle)
		p.scored = append(p.scored, sp)
	}
	p.features = fit(p.features, Terms*len(p.idle))
	Features(p.features, p.util, p.wkv, p.idle, p.trace, s.c.LambdaRecency)
}

// moved remembers the features of a page that was evicted to L5. It runs right
// after its level was scored.
func (s *KFE) moved(tp *Page, step Step) {
	if step.Why != "demote" || step.To != L5 {
		return
	}
	s.counts.Evicted++
	pg := tp.Owner.(*page)
	if !s.learns {
		pg.gone = nil
		return
	}
	g := &gone{turn: s.turn, features: map[uint64][Terms]float64{}}
	n := 0
	for _, sp := range s.policy.scored {
		j := sp.from
		for _, at := range sp.page.slots {
			if !at.taken {
				continue
			}
			f := [Terms]float64(s.policy.features[Terms*j:])
			j++
			if sp.page == pg {
				g.features[at.id] = f
				continue
			}
			n++
			for t, x := range f {
				g.kept[t] += x
			}
		}
	}
	for t := range g.kept {
		g.kept[t] /= float64(max(n, 1))
	}
	g.stayed = n > 0
	pg.gone = g
}

// hit notes that an entry was recalled, and whether from L5.
func (p *policy) hit(s *KFE, e *entry, missed bool) {
	pg := e.page
	if pg.hit(s.turn) > s.c.PromotionThreshold {
		p.busy = append(p.busy, pg)
	}
	if !missed {
		return
	}
	s.counts.Misses++
	p.missed = append(p.missed, pg)
	g := pg.gone
	if !s.learns || g == nil || !g.stayed || s.turn-g.turn > int64(s.c.EvictMemory) {
		return
	}
	if f, ok := g.features[e.id]; ok {
		s.weights.Learn(f, g.kept, s.c.EvictLR)
		delete(g.features, e.id) // once an eviction
		s.counts.Learned++
	}
}

// move loads what was missed, promotes what is hit often and keeps the quotas.
func (s *KFE) move(ctx context.Context) error {
	p := &s.policy
	for _, pages := range [][]*page{p.missed, p.busy} {
		slices.SortFunc(pages, func(a, b *page) int { return cmp.Compare(a.Block(), b.Block()) })
	}
	for _, pg := range slices.Compact(p.missed) {
		if pg.taken == 0 || pg.Level().InRAM() {
			continue
		}
		if err := s.warm(ctx, pg); err != nil {
			return err
		}
		if err := s.settle(ctx, pg); err != nil {
			return err
		}
	}
	for _, pg := range slices.Compact(p.busy) {
		if pg.Level() != L3 || pg.taken == 0 {
			continue
		}
		if err := s.group.Move(ctx, pg.Page, L2); err != nil {
			return err
		}
		s.counts.Promoted++
		if err := s.settle(ctx, pg); err != nil {
			return err
		}
	}
	return s.settle(ctx, nil)
}

// settle keeps the quotas. A full L5 makes shadows of its entries of a low score
//
func (s *KFE) settle(ctx context.Context, keep *page) error {
	var stays *Page
	if keep != nil {
		stays = keep.Page
	}
	if err := s.group.Settle(ctx, stays); err != nil {
		return err
	}
	if !s.cold || s.group.Over(L5) == 0 {
		return nil
	}
	var pages []*Page
	for _, l := range s.libs {
		for _, pg := range l.pages {
			if pg.Level() == L5 {
				pages = append(pages, pg.Page)
			}
		}
	}
	s.gather(pages)
	for _, sp := range s.policy.scored {
		j := sp.from
		for _, at := range sp.page.slots {
			if !at.taken {
				continue
			}
			if s.weights.Score(s.policy.features[Terms*j:]) < s.c.SoftDeleteBelow {
				s.flag(&sp.page.lib.entries[sp.page.lib.by[at.id]])
			}
			j++
		}
	}
	return nil
}
