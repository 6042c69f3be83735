package sched

import (
	"atenia/internal/memory/kv"
	"atenia/internal/plan"
)

// A State is one state of one sequence: what layers of a plan keep of the tokens they
// have seen. [StatePool.Unbound] makes one; it has storage, pages of package kv, from
// [State.Alloc] until [State.Evict] or [State.Deinit]. Every action goes through the
// plan's matrix of lifecycles:
//
//	                   slot_persistent   request_scoped
//	alloc              bind              bind, zero
//	reset, reuse       continue at p     error
//	evict              unbind            unbind
//	clone_for_fork     share pages       share pages
//
// A state that is addressed by position continues at any position whose pages it
// has. One that is not (recurrent, conv) continues at its end, at 0, where it is
// zero, or from a snapshot: a fork that nobody extends.
//
// An action that the matrix forbids is an error that matches
// [plan.ErrStateLifecycle], in every build. The scheduler does not know kinds of
// states: a new one is a descriptor.
type State struct {
	p   *StatePool
	seq *kv.Seq // nil = unbound
}

// Unbound returns a state without storage.
func (p *StatePool) Unbound() *State { return &State{p: p} }

// Bound reports whether the state has storage.
func (s *State) Bound() bool { return s.seq != nil }

// act returns an error if the matrix forbids the action, or if the action needs
// storage and there is none, or the other way round.
func (s *State) act(a plan.Action, bound bool) error {
	if _, err := s.p.d.ZeroOn(a); err != nil {
		return err
	}
	if s.Bound() != bound {
		return plan.Errorf(plan.ErrStateLifecycle, plan.Whole, "%s of a %s state whose storage is bound: %t", a, s.p.d.Kind, s.Bound())
	}
	return nil
}

// Alloc binds the state to storage of its own, at position 0.
func (s *State) Alloc() error {
	if err := s.act(plan.ActAlloc, false); err != nil {
		return err
	}
	s.seq = s.p.cache.NewSeq()
	return nil
}

// Reset continues the same request at a position; at 0 the state is as after
// Alloc.
func (s *State) Reset(at int) error { return s.move(plan.ActReset, at) }

// Reuse gives the storage to the next request, which continues at a position.
func (s *State) Reuse(at int) error { return s.move(plan.ActReuse, at) }

// move truncates. Pages that must read as zero are dropped, and zeroed when they
// are taken again: [kv.Config.Zero].
func (s *State) move(a plan.Action, at int) error {
	if err := s.act(a, true); err != nil {
		return err
	}
	if zero, _ := s.p.d.ZeroOn(a); zero && !s.p.ByPosition() && at != 0 && at != s.seq.Len() {
		return plan.Errorf(plan.ErrStateLifecycle, plan.Whole, "%s of a %s state to position %d of %d: it keeps no positions apart", a, s.p.d.Kind, at, s.seq.Len())
	}
	return s.seq.Truncate(at)
}

// Evict gives the storage back and unbinds the state.
func (s *State) Evict() error {
	if err := s.act(plan.ActEvict, true); err != nil {
		return err
	}
	s.drop()
	return nil
}

// Deinit ends the state, bound or not.
func (s *State) Deinit() error {
	if _, err := s.p.d.ZeroOn(plan.ActDeinit); err != nil {
		return err
	}
	s.drop()
	return nil
}

func (s *State) drop() {
	if s.seq != nil {
		s.seq.Release()
		s.seq = nil
	}
}

// Fork returns a state with the same content, which shares the storage until one
// of both is extended. A fork that is never extended is a snapshot.
func (s *State) Fork() (*State, error) {
	if err := s.act(plan.ActCloneForFork, true); err != nil {
		return nil, err
	}
	return &State{p: s.p, seq: s.seq.Fork()}, nil
}

// Len returns the positions that the state has seen, 0 if it is unbound.
func (s *State) Len() int {
	if s.seq == nil {
		return 0
	}
	return s.seq.Len()
}

// Extend binds the state if it is not, and makes room for the positions before
// end.
func (s *State) Extend(end int) error {
	if s.seq == nil {
		if err := s.Alloc(); err != nil {
			return err
		}
	}
	if n := end - s.seq.Len(); n > 0 {
		return s.seq.Extend(n)
	}
	return nil
}

// Seq returns the pages, nil if the state is unbound.
func (s *State) Seq() *kv.Seq { return s.seq }

// Pages returns the bytes of every page, as [kv.Seq.Pages].
func (s *State) Pages() [][]byte {
	if s.seq == nil {
		return nil
	}
	return s.seq.Pages()
}

// Resumable reports whether the state can be continued at a position.
func (s *State) Resumable(at int) bool {
	if s.seq == nil {
		return at == 0
	}
	return s.seq.Resumable(at)
}
