package stores

import (
	"context"
	"fmt"

	"atenia/grad"
)

// An Offer is a state that may be worth an entry (Step 10).
type Offer struct {
	Session             int
	Activation          float32 // mean of S1's history
	Utility, Confidence float32
	Phase               int
	Mid, Smooth         []float32 // h_mid, the direction; h_smooth, the snapshot
}

// Offer offers a state; the gates decide at once, the entry is made by the next
// [KFE.Commit]. It reports whether the gates were open. The vectors are copied.
func (s *KFE) Offer(neuron int, o Offer) (bool, error) {
	l := s.Library(neuron)
	if l == nil {
		return false, &kfeValueError{"offer", neuron, fmt.Sprintf("a neuron below %d", len(s.libs)), fmt.Sprint(neuron), errNoNeuron}
	}
	g := Gates{float32(s.c.KFEAlpha), float32(s.c.KFEBeta), float32(s.c.KFEGamma)}
	if !g.Open(o.Activation, o.Utility, o.Confidence, o.Phase) {
		return false, nil
	}
	if err := l.checkEntry("offer", o.Mid, o.Smooth, o.Utility, o.Confidence); err != nil {
		return false, err
	}
	o.Mid, o.Smooth = append([]float32(nil), o.Mid...), append([]float32(nil), o.Smooth...)
	l.noted.Lock()
	defer l.noted.Unlock()
	l.offers = append(l.offers, o)
	return true, nil
}

// Commit applies what was noted since the last one, neuron by neuron and in the
// order of sessions: counts and shadows of what was recalled, new entries; then it
// brings pages that were missed from L5, raises those that are hit often and keeps
// the quotas. It returns the first error of the recalls, or its own; entries that
// cannot be made for want of memory match [ledger.ErrFull].
func (s *KFE) Commit(ctx context.Context, turn int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = turn
	first := s.takeFault()
	s.policy.missed, s.policy.busy = s.policy.missed[:0], s.policy.busy[:0]
	for _, l := range s.libs {
		recalls, offers := l.taken()
		for i := range recalls {
			l.apply(&recalls[i])
		}
		for i := range offers {
			if err := l.create(ctx, &offers[i]); err != nil && first == nil {
				first = err
			}
		}
	}
	if err := s.move(ctx); err != nil && first == nil {
		first = err
	}
	return first
}

// apply counts what a recall found. A shadow of little weight stays idle.
func (l *Library) apply(r *recall) {
	s := l.s
	for i, id := range r.ids {
		at, ok := l.by[id]
		if !ok {
			continue // merged or deleted since
		}
		e := &l.entries[at]
		active := positive(r.weights[i], s.c.KFETopK)
		if e.soft && !active {
			continue
		}
		if e.soft {
			e.soft, e.evidence = false, 0
			s.counts.Cleared++
		}
		if e.count++; e.count == 0 {
			e.count--
		}
		e.last = s.turn
		if active {
			e.active = s.turn
		}
		s.policy.hit(s, e, r.missed[i])
	}
}

// create makes an entry of an offer, or merges it with the nearest.
func (l *Library) create(ctx context.Context, o *Offer) error {
	s := l.s
	e := KFEEntry[float32]{ID: uint64(l.neuron)<<32 | uint64(l.serial), Embedding: o.Mid, Snapshot: o.Smooth, Utility: o.Utility, Confidence: o.Confidence, Last: s.turn}
	n := norm(e.Embedding)
	for i := range e.Embedding {
		e.Embedding[i] /= n
	}
	if l.serial == 1<<32-1 {
		return &kfeValueError{"create", l.neuron, "a serial number", "none is left", ErrFull}
	}
	near, err := l.index.Search(nil, e.Embedding, 1, 0)
	if err != nil {
		return err
	}
	if len(near) == 1 {
		old := &l.entries[l.by[near[0].Label]]
		if err := s.warm(ctx, old.page); err != nil {
			return err
		}
		was, err := l.entry(old)
		if err != nil {
			return err
		}
		if dotKFE(e.Embedding, was.Embedding)/norm(was.Embedding) > float32(s.c.KFEMerge) {
			return l.merge(e, was)
		}
	}
	if err := l.insert(entry{id: e.ID, last: e.Last, utility: e.Utility, conf: e.Confidence}, e.Embedding, e.Snapshot); err != nil {
		return err
	}
	s.counts.Created++
	return nil
}

// merge puts the merger of two entries in the place of the old one.
func (l *Library) merge(fresh, old KFEEntry[float32]) error {
	m := Merge(fresh, old)
	at := l.by[old.ID]
	e := &l.entries[at]
	if err := l.index.Delete(old.ID); err != nil {
		return err
	}
	if err := l.index.Add(m.ID, rounded(m.Embedding)); err != nil {
		return err
	}
	delete(l.by, old.ID)
	delete(l.grads, old.ID)
	l.by[m.ID] = at
	l.serial = max(l.serial, uint32(m.ID)+1)
	*e = entry{id: m.ID, last: m.Last, active: e.active, utility: m.Utility, conf: m.Confidence, count: m.Count, page: e.page, slot: e.slot}
	e.page.slots[e.slot].id = m.ID
	write(e.page.record(e.slot), m.Embedding, m.Snapshot)
	e.page.Changed()
	l.s.counts.Merged++
	return nil
}

// EndTurn decides what becomes of the shadows.
func (s *KFE) EndTurn(ctx context.Context, turn int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = turn
	for _, l := range s.libs {
		for i := 0; i < len(l.entries); {
			e := &l.entries[i]
			switch Decide(e.soft, e.idle(turn), e.evidence, int64(s.c.KFEIdle)) {
			case Deleted:
				if err := s.warm(ctx, e.page); err != nil {
					return err
				}
				if err := l.remove(e.id); err != nil {
					return err
				}
				s.counts.Deleted++
				continue // the next entry is in this place now
			case Cleared:
				e.soft = false
				s.counts.Cleared++
			}
			i++
		}
	}
	return s.settle(ctx, nil)
}

// Replay moves the snapshot of the entry nearest to h_mid towards h_smooth, the
// micro-update of Phase 1. An empty library stays so.
func (s *KFE) Replay(ctx context.Context, neuron int, hMid, hSmooth []float32) error {
	l := s.Library(neuron)
	if l == nil {
		return &kfeValueError{"replay", neuron, fmt.Sprintf("a neuron below %d", len(s.libs)), fmt.Sprint(neuron), errNoNeuron}
	}
	if err := l.checkEntry("replay", hMid, hSmooth); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	near, err := l.index.Search(nil, hMid, 1, 0)
	if err != nil || len(near) == 0 {
		return err
	}
	lr := float32(s.c.LRKFEReplay)
	return l.update(ctx, near[0].Label, func(i int, x float32) float32 { return (1-lr)*x + lr*hSmooth[i] })
}

// update changes a snapshot.
func (l *Library) update(ctx context.Context, id uint64, f func(i int, x float32) float32) error {
	e := &l.entries[l.by[id]]
	if err := l.s.warm(ctx, e.page); err != nil {
		return err
	}
	v := e.page.record(e.slot)[recordHeader+2*l.s.dim:]
	for i := range l.s.dim {
		putHalf(v[2*i:], f(i, half(v[2*i:])))
	}
	e.page.Changed()
	return nil
}

// kfeGradient adds the gradients of snapshots that [Recalled.Backward] made to those
// that the next [KFE.Descend] applies. Calls for one neuron come in the order in
// which they are to be added up.
func kfeGradient[F grad.Float](s *KFE, neuron int, r *Recalled[F]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.libs[neuron]
	for i, id := range r.IDs {
		if _, ok := l.by[id]; !ok || r.Soft[i] {
			continue
		}
		g := l.grads[id]
		if g == nil {
			g = make([]float32, s.dim)
			l.grads[id] = g
		}
		for j, x := range r.DSnap[i*r.dim : (i+1)*r.dim] {
			g[j] += float32(x)
		}
	}
}

// Descend takes a step of plain gradient descent on the snapshots that were
// recalled, after the optimizer's, and forgets the gradients. One that is
// not finite is left out.
func (s *KFE) Descend(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lr := float32(s.c.LRKFE)
	for _, l := range s.libs {
		if len(l.grads) == 0 {
			continue
		}
		for i := range l.entries {
			g := l.grads[l.entries[i].id]
			if g == nil || !finite(g) {
				continue
			}
			if err := l.update(ctx, l.entries[i].id, func(j int, x float32) float32 { return x - lr*g[j] }); err != nil {
				return err
			}
		}
		clear(l.grads)
	}
	return s.settle(ctx, nil)
}

// warm brings a page to RAM.
func (s *KFE) warm(ctx context.Context, p *page) error {
	if p.Level().InRAM() {
		return nil
	}
	s.counts.Loaded++
	return s.group.Move(ctx, p.Page, L3)
}
