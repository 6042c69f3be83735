package engine

import (
	"context"
	"fmt"
	"os"
	"time"

	"atenia/internal/memory"
	"atenia/internal/sched"
)

// idle owns the pages of sequences that no request uses: they leave memory for
// files, and come back. It moves between two steps.
type idle struct {
	p     *pressure
	pause *sched.Pause // valid during a pause
	list  []sched.Idle
	ids   []string // of slots, made once
	known []bool   // by slot: the manager knows it
	away  int      // sequences whose pages are in files
}

// id names the sequence of a slot.
func (s *idle) id(slot int) string {
	for len(s.ids) <= slot {
		s.ids, s.known = append(s.ids, fmt.Sprintf("sequence %d", len(s.ids))), append(s.known, false)
	}
	return s.ids[slot]
}

// update tells the manager which sequences are idle and where their pages are,
// and returns the ids of those in a tier.
func (s *idle) update(pause *sched.Pause, in memory.Tier, ids []string) []string {
	s.pause, s.list = pause, pause.Idle(s.list[:0])
	m := s.p.loop.Memory
	s.away = 0
	for slot := range s.known {
		s.known[slot] = false
	}
	for _, q := range s.list {
		id, at := s.id(q.Slot), memory.RAM
		if q.Spilled {
			at = memory.SSD
			s.away++
		}
		if r, ok := m.Residence(id); !ok || r.Tier != at || r.Bytes != uint64(q.Bytes) {
			_ = m.RegisterOwned(id, uint64(q.Bytes), at, s) // both tiers may be owned
		}
		s.known[q.Slot] = true
		if at == in {
			ids = append(ids, id)
		}
	}
	for slot, known := range s.known {
		if _, ok := m.Tier(s.ids[slot]); ok && !known {
			_ = m.Remove(s.ids[slot]) // it is registered
		}
	}
	return ids
}

// MoveOwned implements [memory.Owner].
func (s *idle) MoveOwned(_ context.Context, id string, _, to memory.Tier) error {
	o, began := s.p.e.Plan.Config.Observer, time.Now()
	for _, q := range s.list {
		switch {
		case s.id(q.Slot) != id:
		case to == memory.SSD:
			s.away++
			err := s.pause.Spill(q.Slot, s.folder())
			if err == nil {
				o.Spilled(q.Bytes, time.Since(began))
			}
			return err
		default:
			return s.pause.Restore(q.Slot, func(took time.Duration, err error) {
				if err == nil {
					o.Restored(q.Bytes, took)
				} else {
					o.Damaged()
				}
			})
		}
	}
	return fmt.Errorf("%s is in use", id)
}

// folder is where files are made: with other files that may be deleted, which
// are on a disk, or else where the system wants them.
func (s *idle) folder() string {
	dir := s.p.e.Plan.Config.PackDir
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return dir
	}
	return os.TempDir()
}

// Lends implements [memory.Owner]: a request finds pages that are in a file by
// itself, and no kernel needs those of an idle sequence.
func (s *idle) Lends(string) bool { return false }
