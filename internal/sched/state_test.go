package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/plan"
)

// descriptors returns a descriptor of every kind of state, with the lifecycle that plans
// give it.
func descriptors() []plan.StateDescriptor {
	ds := []plan.StateDescriptor{
		{Kind: plan.StateKV, Lifecycle: plan.SlotPersistent, PageTokens: 4},
		{Kind: plan.StateRecurrent, Lifecycle: plan.SlotPersistent, ZeroInit: true},
		{Kind: plan.StateConv, Lifecycle: plan.SlotPersistent, ZeroInit: true},
		{Kind: plan.StateCrossKV, Lifecycle: plan.RequestScoped},
	}
	for i := range ds {
		ds[i].SizeBytes, ds[i].AlignBytes, ds[i].Layers, ds[i].LayerStride = 192, 64, 1, 192
	}
	return ds
}

func newPool(t *testing.T, d plan.StateDescriptor) *StatePool {
	t.Helper()
	p, err := NewStatePool(d, StateStorage(&d, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// newState returns a state of a pool without storage. What it or the states made of it
// hold in the end is given back before the pool closes.
func newState(t *testing.T, p *StatePool) *State {
	t.Helper()
	return released(t, p.Unbound())
}

func released(t *testing.T, s *State) *State {
	t.Cleanup(func() {
		if s.Bound() {
			_ = s.Deinit()
		}
	})
	return s
}

// act does an action to a state that holds n positions.
func act(s *State, a plan.Action) error {
	switch a {
	case plan.ActAlloc:
		if s.Bound() {
			if err := s.Evict(); err != nil {
				return err
			}
		}
		return s.Alloc()
	case plan.ActReset:
		return s.Reset(0)
	case plan.ActReuse:
		return s.Reuse(0)
	case plan.ActEvict:
		return s.Evict()
	case plan.ActCloneForFork:
		f, err := s.Fork()
		if err == nil {
			err = f.Deinit()
		}
		return err
	}
	return s.Deinit()
}

// TestCells does every action to a state of every kind whose bytes are all set,
// and compares what happens with the matrix: refused with nothing changed, or
// done, with bytes that read as zero where it says so.
func TestCells(t *testing.T) {
	for _, d := range descriptors() {
		for a := range plan.NumActions {
			t.Run(fmt.Sprintf("%s/%s", d.Kind, a), func(t *testing.T) {
				p := newPool(t, d)
				s := newState(t, p)
				if err := s.Extend(3); err != nil {
					t.Fatal(err)
				}
				fill(s, 0xA5)
				effect := plan.Matrix[d.Lifecycle][a]
				zero, refused := d.ZeroOn(a)
				err := act(s, a)
				if !effect.Allowed {
					if !errors.Is(err, plan.ErrStateLifecycle) || !errors.Is(refused, plan.ErrStateLifecycle) {
						t.Fatalf("the matrix forbids it; got %v and %v", err, refused)
					}
					if s.Len() != 3 || !all(s, 0xA5) {
						t.Error("a refused action changed the state")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if effect.Release {
					if s.Bound() || p.Cache().Stats().Used != 0 {
						t.Errorf("bound %t, %d pages in use", s.Bound(), p.Cache().Stats().Used)
					}
					return
				}
				if a == plan.ActCloneForFork {
					if !all(s, 0xA5) {
						t.Error("a fork changed what it was made of")
					}
					return
				}
				if err := s.Extend(3); err != nil {
					t.Fatal(err)
				}
				if zero && !all(s, 0) {
					t.Error("bytes of the last use are left")
				}
			})
		}
	}
}

func fill(s *State, v byte) {
	for _, page := range s.Pages() {
		for i := range page {
			page[i] = v
		}
	}
}

func all(s *State, v byte) bool {
	for _, page := range s.Pages() {
		if slices.ContainsFunc(page, func(b byte) bool { return b != v }) {
			return false
		}
	}
	return len(s.Pages()) > 0
}

// TestUnbound: a state without storage takes no action but alloc and deinit.
func TestUnbound(t *testing.T) {
	for _, d := range descriptors() {
		s := newState(t, newPool(t, d))
		for _, a := range []plan.Action{plan.ActReset, plan.ActReuse, plan.ActEvict, plan.ActCloneForFork} {
			if err := act(s, a); !errors.Is(err, plan.ErrStateLifecycle) {
				t.Errorf("%s: %s: %v", d.Kind, a, err)
			}
		}
		if err := s.Deinit(); err != nil {
			t.Error(err)
		}
	}
}

// TestOnlySnapshots: a state that keeps no positions apart goes back to its
// snapshots, and to nothing else.
func TestOnlySnapshots(t *testing.T) {
	d := descriptors()[1]
	p := newPool(t, d)
	s := newState(t, p)
	if err := s.Extend(5); err != nil {
		t.Fatal(err)
	}
	fill(s, 5)
	snapshot, err := s.Fork()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Extend(9); err != nil {
		t.Fatal(err)
	}
	fill(s, 9)
	if err := s.Reuse(7); !errors.Is(err, plan.ErrStateLifecycle) {
		t.Errorf("continued at 7: %v", err)
	}
	released(t, snapshot)
	if !all(snapshot, 5) || snapshot.Len() != 5 || !snapshot.Resumable(5) || snapshot.Resumable(4) {
		t.Error("the snapshot is not what it was made of")
	}
	next, err := snapshot.Fork()
	if err != nil {
		t.Fatal(err)
	}
	released(t, next)
	if err := next.Reuse(5); err != nil {
		t.Fatal(err)
	}
	if err := next.Extend(6); err != nil {
		t.Fatal(err)
	}
	fill(next, 6)
	if !all(snapshot, 5) || !all(s, 9) {
		t.Error("a sequence that continued at a snapshot wrote into it")
	}
}

// TestNothingLeaks does random actions to a few states of every kind and compares
// what they hold with a model of it; in the end no page is in use.
func TestNothingLeaks(t *testing.T) {
	for _, d := range descriptors() {
		t.Run(d.Kind.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, uint64(d.Kind)))
			p := newPool(t, d)
			type held struct {
				s    *State
				want byte
			}
			live := []held{{p.Unbound(), 0}}
			for step := range 10000 {
				h := &live[r.IntN(len(live))]
				switch r.IntN(5) {
				case 0: // another step of it
					if err := h.s.Extend(h.s.Len() + 1 + r.IntN(3)); err != nil {
						t.Fatal(err)
					}
					h.want = byte(1 + r.IntN(255))
					if p.ByPosition() { // only what was opened may be written: the tail of the last page
						last := h.s.Pages()[len(h.s.Pages())-1]
						last[len(last)-1] = h.want
					} else {
						fill(h.s, h.want)
					}
				case 1:
					if f, err := h.s.Fork(); err == nil {
						live = append(live, held{f, h.want})
					} else if h.s.Bound() && plan.Matrix[d.Lifecycle][plan.ActCloneForFork].Allowed {
						t.Fatal(err)
					}
				case 2:
					if h.s.Reuse(0) == nil {
						h.want = 0
					}
				case 3:
					if h.s.Evict() == nil {
						h.want = 0
					}
				default:
					if len(live) > 6 {
						if err := live[0].s.Deinit(); err != nil {
							t.Fatal(err)
						}
						live = live[1:]
					}
				}
				if p.ByPosition() {
					continue
				}
				for i, h := range live {
					if h.s.Len() > 0 && !all(h.s, h.want) {
						t.Fatalf("step %d: state %d of %d holds %v, want %d", step, i, len(live), h.s.Pages()[0][:4], h.want)
					}
				}
			}
			for _, h := range live {
				if err := h.s.Deinit(); err != nil {
					t.Fatal(err)
				}
			}
			if st := p.Cache().Stats(); st.Used != 0 || st.Seqs != 0 {
				t.Errorf("%d pages and %d sequences are left", st.Used, st.Seqs)
			}
		})
	}
}
