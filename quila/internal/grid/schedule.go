package grid

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
)

// A Schedule decides which neurons of a session fire. A neuron is
// eligible if it rests no more and has mail; mail that is not read stays.
type Schedule struct {
	Waited   []int32  // ticks since a neuron became eligible without firing
	Since    []uint64 // arrival of the oldest unread message, from 1; 0 is no mail
	Eligible []bool   // at the last Choose

	cap     float64
	waitMax int32
	score   []float32
	allowed []bool
	chosen  []int32
}

// leastUtility is added to utilities, so that waiting counts for neurons that
// have none.
const leastUtility = 1e-3

// NewSchedule makes the schedule of a session that has not begun.
func NewSchedule(c *config.Config) *Schedule {
	n := c.N
	return &Schedule{
		Waited: make([]int32, n), Since: make([]uint64, n), Eligible: make([]bool, n), cap: c.ActiveCap, waitMax: int32(c.WaitMax),
		score: make([]float32, n), allowed: make([]bool, n), chosen: make([]int32, 0, n),
	}
}

// Reset forgets mail and waiting.
func (s *Schedule) Reset() {
	clear(s.Waited)
	clear(s.Since)
}

// Most is how many neurons may fire at a tick.
func (s *Schedule) Most() int { return int(math.Ceil(s.cap * float64(len(s.Waited)))) }

// Arrive notes that a neuron has a message that it can read from a tick on.
func (s *Schedule) Arrive(n int, tick uint64) {
	if s.Since[n] == 0 {
		s.Since[n] = tick
	}
}

// Read notes that a neuron has read its messages.
func (s *Schedule) Read(n int) { s.Since[n] = 0 }

// Choose returns who fires, ascending; the slice is valid until the next call.
// If more are eligible than may fire, those that have waited wait_max ticks come
// first, the longest waiting before others; then those with the largest
// (ε+utility)·(1+waited). Who has to wait waits one tick more, who fires begins
// anew.
func (s *Schedule) Choose(refractory []int32, utility []float32) []int32 {
	count, late := 0, 0
	for i, r := range refractory {
		e := r == 0 && s.Since[i] != 0
		s.Eligible[i] = e
		if !e {
			continue
		}
		count++
		if s.Waited[i] >= s.waitMax {
			late++
		}
	}
	s.chosen = s.chosen[:0]
	if most := s.Most(); count > most {
		s.rank(s.Eligible, utility, most, late)
	} else {
		for i, e := range s.Eligible {
			if e {
				s.chosen = append(s.chosen, int32(i))
			}
		}
	}
	for i, e := range s.Eligible {
		if e {
			s.Waited[i]++
		}
	}
	for _, i := range s.chosen {
		s.Waited[i] = 0
	}
	return s.chosen
}

func (s *Schedule) rank(eligible []bool, utility []float32, most, late int) {
	if late > 0 {
		for i, e := range eligible {
			s.score[i], s.allowed[i] = float32(s.Waited[i]), e && s.Waited[i] >= s.waitMax
		}
		s.chosen = neuron.Top(s.chosen, s.score, most, s.allowed)
	}
	for i, e := range eligible {
		s.score[i] = float32((leastUtility + utility[i]) * float32(1+s.Waited[i]))
		s.allowed[i] = e && s.Waited[i] < s.waitMax
	}
	s.chosen = neuron.Top(s.chosen, s.score, most-min(late, most), s.allowed)
	slices.Sort(s.chosen)
}
