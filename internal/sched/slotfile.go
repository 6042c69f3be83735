package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"atenia/internal/store/sequence"
)

// A slotError says why a slot cannot be saved, restored or erased.
type slotError struct {
	Slot int // as asked for: 0 = the scheduler chooses
	Why  string
}

func (e *slotError) Error() string { return fmt.Sprintf("slot %d: %s", e.Slot, e.Why) }

// Is makes every *slotError match [ErrSlot].
func (e *slotError) Is(target error) bool { return target == ErrSlot }

// ErrSlot is matched by errors that say why a slot cannot be saved, restored or erased.
var ErrSlot = errors.New("a slot cannot be used")

// A SlotFile is what was written to a file, or read from one.
type SlotFile struct {
	Slot   int // 1 and up
	Tokens int
	Bytes  int64
}

// SaveSlot writes the sequence of a slot to a file, durably: its tokens, and the pages of
// all states. Slot 0 is the one that was used last. A slot that computes a request is saved as
// it is between two steps, which go on meanwhile. Errors match [ErrSlot] or [ErrClosed], or those
// of writing.
func (s *Scheduler) SaveSlot(ctx context.Context, slot int, path string) (f SlotFile, err error) {
	if err := context.Cause(ctx); err != nil {
		return f, err
	}
	var h *sequence.Header
	if err := s.inMemory(ctx, slot); err != nil {
		return f, err
	}
	var t *transfer
	err = s.atPause(func() error {
		sl, err := s.admission.pick(slot, false)
		if err != nil {
			return err
		}
		if sl.done == 0 {
			return &slotError{slot, "it has no keys and values"}
		}
		for i, x := range sl.states {
			if s.storage.pools[i].Persistent() && !sl.idle() && x.Len() != sl.done {
				return &slotError{slot, "its request waits for memory: come again when it has gone on"} // pages are open for writing
			}
		}
		one := &prefix{slot: sl}
		p := one.forked()
		if p == nil {
			return &slotError{slot, "its states follow from images, an adapter, or the request alone, and cannot be saved"}
		}
		p.tokens = slices.Clone(sl.tokens[:sl.done])
		var pages [][]byte
		if h, pages, err = s.whole(p); err != nil {
			p.clear()
			return err
		}
		f = SlotFile{sl.id + 1, p.done, h.Bytes()}
		t = s.transfer(p, func(*transfer) error { return s.kept.disk.write(path, h, pages) })
		s.kept.disk.moves = append(s.kept.disk.moves, t)
		return nil
	})
	if err != nil {
		return SlotFile{}, err
	}
	<-t.done
	s.call(func() { s.moved(t) })
	if t.err != nil {
		return SlotFile{}, t.err
	}
	return f, nil
}

// inMemory waits until a slot's sequence is not in the file of a spilled one any more.
func (s *Scheduler) inMemory(ctx context.Context, slot int) error {
	for {
		var t *transfer
		err := s.atPause(func() error {
			s.finishRestores()
			sl, err := s.admission.pick(slot, false)
			if err != nil || sl.spill == nil {
				return err
			}
			if err := sl.startRestore(); err != nil {
				return err
			}
			t = sl.spill.load
			return nil
		})
		if err != nil || t == nil {
			return err
		}
		select {
		case <-t.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// moved frees what a transfer of a caller holds, unless that was done.
func (s *Scheduler) moved(t *transfer) {
	s.kept.disk.moves = slices.DeleteFunc(s.kept.disk.moves, func(o *transfer) bool { return o == t })
	t.free()
}

// atPause runs f on the loop and returns its error, or why there is no loop.
func (s *Scheduler) atPause(f func() error) error {
	ran := false
	var err error
	s.call(func() { ran, err = true, f() })
	if !ran {
		return s.admission.ending()
	}
	return err
}

// whole returns the one file of a sequence: every state at its end, and the snapshots of
// those without positions.
func (s *Scheduler) whole(p *prefix) (*sequence.Header, [][]byte, error) {
	h := &sequence.Header{Key: s.kept.disk.key(), Span: p.span, Tokens: p.tokens}
	var all [][]byte
	add := func(state, first, at int, pages [][]byte) {
		h.Runs = append(h.Runs, sequence.Run{State: state, First: first, Pages: len(pages), At: at, Bytes: s.storage.pools[state].Cache().Config().PageBytes})
		all = append(all, pages...)
	}
	for i, x := range p.states {
		if !s.storage.pools[i].Persistent() {
			continue
		}
		if x.Len() < p.done {
			return nil, nil, &slotError{p.id + 1, "it has not all keys and values of its tokens"}
		}
		c := s.storage.pools[i].Cache().Config()
		if c.Fixed {
			for _, m := range p.snapshots {
				if m.at < p.done {
					add(i, 0, m.at, m.states[i].Pages()[:1])
				}
			}
			add(i, 0, p.done, x.Pages()[:1])
			continue
		}
		pages := x.Pages()[:(p.done+c.PageTokens-1)/c.PageTokens]
		first := 0
		for first < len(pages) && pages[first] == nil {
			first++
		}
		add(i, first, p.done, pages[first:])
	}
	return h, all, nil
}

// RestoreSlot makes the sequence of a file that of an idle slot, 0 = any. A prompt that
// begins with its tokens goes on from there, with the same bits as if they were computed
// again. A file that is damaged or of another model is a [*sequence.Error] and changes
// nothing; other errors match [ErrSlot] or [ErrClosed], or are a [*kv.MemoryError] or those of
// reading.
func (s *Scheduler) RestoreSlot(ctx context.Context, slot int, path string) (f SlotFile, err error) {
	if err := context.Cause(ctx); err != nil {
		return f, err
	}
	r, size, end, err := sequence.Open(path)
	if err != nil {
		return f, err
	}
	defer end()
	if err := r.Of(s.kept.disk.key()); err != nil {
		return f, err
	}
	want, err := s.layout(r)
	if err != nil {
		return f, err
	}
	var t *transfer
	err = s.atPause(func() error {
		if _, err := s.admission.pick(slot, true); err != nil {
			return err
		}
		p, err := s.blankFor(r, want)
		if err != nil {
			return err
		}
		to := want.pages(p)
		t = s.transfer(p, func(t *transfer) error {
			for i, page := range to {
				if t.stop.Load() || ctx.Err() != nil {
					return errStopped
				}
				if page == nil { // behind the window
					continue
				}
				if err := r.ReadPage(i, page); err != nil {
					return err
				}
			}
			return nil
		})
		s.kept.disk.moves = append(s.kept.disk.moves, t)
		return nil
	})
	if err != nil {
		return f, err
	}
	<-t.done
	err = s.atPause(func() error {
		p := t.p
		defer s.moved(t)
		if t.err != nil || p == nil {
			if t.err == nil {
				return errStopped
			}
			return cmp.Or(context.Cause(ctx), t.err)
		}
		sl, err := s.admission.pick(slot, true)
		if err != nil {
			return err
		}
		t.p = nil
		old := s.detach(sl)
		sl.adoptWhole(p)
		s.admission.markUsed(sl)
		if old != nil {
			s.keep(old)
		}
		f = SlotFile{sl.id + 1, p.done, size}
		s.publish()
		return nil
	})
	return f, err
}

// EraseSlot frees the keys and values of an idle slot and returns of how many tokens they
// were.
func (s *Scheduler) EraseSlot(slot int) (tokens int, err error) {
	err = s.atPause(func() error {
		sl, err := s.admission.pick(slot, false)
		if err == nil {
			sl, err = s.admission.pick(sl.id+1, true)
		}
		if err != nil {
			return err
		}
		if tokens = sl.done; sl.spill != nil {
			tokens = sl.spill.done
		}
		sl.clear()
		s.publish()
		return nil
	})
	return tokens, err
}

// A layout says where the runs of a file belong.
type layout struct {
	s    *Scheduler
	r    *sequence.Reader
	last []int // [states] the run at the end of the sequence, -1 for those that do not outlive a request
}

// layout checks that a file's runs are all that its tokens need, and nothing else.
func (s *Scheduler) layout(r *sequence.Reader) (l layout, err error) {
	bad := func(at int64, format string, args ...any) (layout, error) {
		return l, &sequence.Error{Kind: sequence.ErrDamaged, Path: r.Path, Offset: at, Why: fmt.Sprintf(format, args...)}
	}
	n := len(r.Tokens)
	if n > s.context {
		return l, s.tooLong(n)
	}
	for i, t := range r.Tokens {
		if t < 0 || int(t) >= s.vocab {
			return bad(r.TokenOffset(i), "token %d is outside the vocabulary of %d", t, s.vocab)
		}
	}
	l = layout{s: s, r: r, last: make([]int, len(s.storage.pools))}
	for i := range l.last {
		l.last[i] = -1
	}
	before := 0
	for k, x := range r.Runs {
		at := r.RunOffset(k)
		if x.State < before || x.State >= len(s.storage.pools) || !s.storage.pools[x.State].Persistent() || l.last[x.State] >= 0 {
			return bad(at, "run %d is of state %d, which has none here", k, x.State)
		}
		if before = x.State; k > 0 && r.Runs[k-1].State == x.State && r.Runs[k-1].At >= x.At {
			return bad(at, "run %d is of %d tokens after one of %d", k, x.At, r.Runs[k-1].At)
		}
		c := s.storage.pools[x.State].Cache().Config()
		first, end := 0, 1
		if !c.Fixed {
			first, end = x.First, (n+c.PageTokens-1)/c.PageTokens
			if x.At != n || first > oldestPage(&c, n) {
				return bad(at, "run %d begins with page %d of %d tokens, which cannot be continued", k, x.First, x.At)
			}
		}
		if x.First != first || x.First+x.Pages != end || x.Bytes != c.PageBytes {
			return bad(at, "run %d has pages %d to %d of %d bytes, want %d to %d of %d", k, x.First, x.First+x.Pages-1, x.Bytes, first, end-1, c.PageBytes)
		}
		if x.At == n {
			l.last[x.State] = k
		}
	}
	for i, k := range l.last {
		if k < 0 && s.storage.pools[i].Persistent() {
			return bad(r.RunOffset(0), "there are no pages of state %d", i)
		}
	}
	return l, nil
}

// blankFor returns a sequence with pages for all that a file has, its snapshots included
// as far as every state has one.
func (s *Scheduler) blankFor(r *sequence.Reader, l layout) (*prefix, error) {
	p, err := s.blank(r.Tokens, r.Span)
	for err != nil && (s.evictSnapshots() || s.evictIdle("a file")) {
		p, err = s.blank(r.Tokens, r.Span)
	}
	if err != nil {
		return nil, err
	}
	p.by = "a file"
	for k, x := range r.Runs {
		if !s.storage.pools[x.State].Cache().Config().Fixed || k == l.last[x.State] {
			continue
		}
		i := slices.IndexFunc(p.snapshots, func(m snapshot) bool { return m.at == x.At })
		if i < 0 {
			p.snapshots, i = append(p.snapshots, snapshot{at: x.At, states: make([]*State, len(s.storage.pools))}), len(p.snapshots)
		}
		st := s.storage.pools[x.State].Unbound()
		if err := s.grow(x.State, st, x.At); err != nil {
			_ = st.Deinit()
			p.clear()
			return nil, err
		}
		p.snapshots[i].states[x.State] = st
	}
	return p, p.checkSnapshots(r)
}

// checkSnapshots refuses snapshots that are not of all states without positions.
func (p *prefix) checkSnapshots(r *sequence.Reader) error {
	for i := range p.snapshots {
		for k, pool := range p.s.storage.pools {
			if pool.Persistent() && !pool.ByPosition() && p.snapshots[i].states[k] == nil {
				at := p.snapshots[i].at
				p.clear()
				return &sequence.Error{Kind: sequence.ErrDamaged, Path: r.Path, Offset: r.RunOffset(0), Why: fmt.Sprintf("state %d has no snapshot after %d tokens, others have", k, at)}
			}
		}
	}
	slices.SortFunc(p.snapshots, func(a, b snapshot) int { return a.at - b.at })
	return nil
}

// pages returns where each page of the file belongs, nil for those that are not needed.
func (l layout) pages(p *prefix) (to [][]byte) {
	for k, x := range l.r.Runs {
		from := p.states[x.State]
		if k != l.last[x.State] {
			i := slices.IndexFunc(p.snapshots, func(m snapshot) bool { return m.at == x.At })
			from = p.snapshots[i].states[x.State]
		}
		to = append(to, from.Pages()[x.First:x.First+x.Pages]...)
	}
	return to
}

// adoptWhole makes the slot's sequence that of p, which is of no use afterwards.
func (sl *slot) adoptWhole(p *prefix) {
	sl.clear()
	for _, x := range sl.states {
		_ = x.Deinit() // allowed in every lifecycle
	}
	sl.states, sl.snapshots, sl.tokens, sl.done, sl.span, sl.by, sl.images, sl.adapter = p.states, p.snapshots, p.tokens, p.done, p.span, p.by, nil, p.adapter
}
